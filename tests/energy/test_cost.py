"""What a round costs: sums worked by hand, profiles with sources, figures of one's own, refusals."""

from __future__ import annotations

import ast
import math
import operator
import re
from pathlib import Path
from typing import Any

import pytest

from ehfl.energy import Device, Radio, RoundCost, device_of, devices, radio_of, radios, round_cost, round_time
from ehfl.energy.cost import Figure, Profile
from ehfl.quantities import in_prefixes
from ehfl.validation import InvalidValue

PAGE = Path(__file__).parents[2] / "docs" / "energy.md"
PROFILES = [*devices().values(), *radios().values()]
FIGURES = [pytest.param(figure, id=f"{one.name} {name}") for one in PROFILES for name, figure in one.figures.items()]
OPERATORS = {ast.Mult: operator.mul, ast.Div: operator.truediv}


def worked_out(node: ast.AST) -> float:
    """Return the value of products and quotients of numbers, and of nothing else."""
    if isinstance(node, ast.Expression):
        return worked_out(node.body)
    if isinstance(node, ast.BinOp):
        value: float = OPERATORS[type(node.op)](worked_out(node.left), worked_out(node.right))
        return value
    assert isinstance(node, ast.Constant)
    assert isinstance(node.value, int | float)
    return node.value


# the sum


def test_a_round_is_a_session_bits_both_ways_and_samples() -> None:
    radio = Radio(session=2.0, joules_per_bit_up=0.5, joules_per_bit_down=0.25)

    cost = round_cost(Device(flop_per_joule=100.0), radio, model_bytes=3, samples=7, flop_per_sample=50)

    assert dict(cost.parts()) == {"session": 2.0, "download": 24 * 0.25, "upload": 24 * 0.5, "computing": 7 * 50 / 100}
    assert cost.total == 2 + 6 + 12 + 3.5


def test_digits_on_a_cortex_m4_over_wifi() -> None:
    # 6,090 weights of 4 bytes are 194,880 bits; 250 samples of 127,488 FLOP at 580.01 MFLOP/J
    cost = round_cost(
        device_of("cortex-m4"),
        radio_of("esp32-wifi-mqtt"),
        model_bytes=24_360,
        samples=250,
        flop_per_sample=127_488,
    )

    assert cost.upload == pytest.approx(194_880 * 29.7e-9)
    assert cost.download == pytest.approx(194_880 * 16.5e-9)
    assert cost.computing == pytest.approx(31.872e6 / 580.010757e6)
    assert cost.total == pytest.approx(0.543 + 0.005788 + 0.003216 + 0.054951, abs=1e-6)


def test_two_models_each_way_cost_twice_the_bits() -> None:
    radio = Radio(0.0, joules_per_bit_up=1.0, joules_per_bit_down=1.0)

    cost = round_cost(Device(1.0), radio, model_bytes=1, samples=0, flop_per_sample=1, models_down=2, models_up=3)

    assert (cost.download, cost.upload, cost.computing) == (16.0, 24.0, 0.0)


@pytest.mark.parametrize("local_steps", [1, 5, 40])
def test_base_and_steps_add_up_to_the_whole(local_steps: int) -> None:
    cost = round_cost(
        device_of("raspberry-pi"), radio_of("ble"), model_bytes=80, samples=50 * local_steps, flop_per_sample=1e6
    )

    assert cost.base + local_steps * cost.step(local_steps) == pytest.approx(cost.total, rel=1e-15)
    assert cost.step(local_steps) == pytest.approx(device_of("raspberry-pi").joules(50, 1e6), rel=1e-15)


def test_a_measured_device_needs_no_flop() -> None:
    assert Device(joules_per_sample=0.5).joules(samples=3) == 1.5
    assert RoundCost(0, 0, 0, 0).total == 0


# time


def test_a_turn_takes_its_parts_and_the_silence_of_the_duty_cycle() -> None:
    radio = Radio(0, 0, 0, session_seconds=3, bits_per_second_up=4, bits_per_second_down=8, duty_cycle=0.1)

    time = round_time(
        Device(1.0, flop_per_second=50), radio, model_bytes=2, samples=7, flop_per_sample=100, models_up=2
    )

    assert dict(time.parts()) == {
        "session": 3, "download": 2, "upload": 8, "silence": pytest.approx(72), "computing": 14}  # fmt: skip
    assert time.total == pytest.approx(99)


def test_what_is_unknown_takes_no_time() -> None:
    time = round_time(Device(joules_per_sample=1), Radio(0, 0, 0), model_bytes=2, samples=7)

    assert all(math.isnan(seconds) for name, seconds in time.parts() if name != "silence")
    assert time.total == 0


def test_cifar10_over_lora_takes_half_a_day_of_air_and_48_days_at_one_percent() -> None:
    work = {"model_bytes": 7_025_704, "samples": 250, "flop_per_sample": 101_903_616}
    time = round_time(device_of("cortex-m4"), radio_of("lora-sf9"), **work)

    assert time.upload == pytest.approx(11.5 * 3600, rel=0.002)
    assert time.upload + time.silence == pytest.approx(47.9 * 86_400, rel=0.001)
    assert time.computing == pytest.approx(67 * 60, rel=0.01)


@pytest.mark.parametrize(("spreading", "payload"), [(7, 222), (8, 222), (9, 115), (10, 51), (11, 51), (12, 51)])
def test_lora_packets_take_the_time_of_semtechs_formula(spreading: int, payload: int) -> None:
    """AN1200.13 at 125 kHz: coding rate 4/5, preamble of 8, a header, a checksum, slow symbols from SF11 on."""
    symbol, slow = 2**spreading / 125e3, spreading >= 11
    coded = math.ceil((8 * (payload + 13) - 4 * spreading + 28 + 16) / (4 * (spreading - 2 * slow))) * 5
    airtime = (8 + 4.25 + 8 + coded) * symbol

    assert radio_of(f"lora-sf{spreading}").bits_per_second_up == pytest.approx(8 * payload / airtime)
    assert radio_of(f"lora-sf{spreading}").joules_per_bit_up == pytest.approx(0.132 * airtime / (8 * payload))


def test_the_raspberry_pi_pays_for_its_idle_draw() -> None:
    cost = device_of("raspberry-pi").joules(samples=250, flop_per_sample=101_903_616)

    assert cost == pytest.approx(1320, rel=0.01)


# profiles


@pytest.mark.parametrize("profile", PROFILES, ids=lambda one: one.name)
def test_a_profile_says_what_it_is_and_where_it_is_wrong(profile: Profile) -> None:
    assert len(profile.what) > 10
    assert profile.wrong.endswith(".")
    made: Any = Device if profile.name in devices() else Radio
    made(**profile.values())


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_has_a_source_and_its_arithmetic_is_right(figure: Figure) -> None:
    assert len(figure.source) > 20 or figure.source.startswith(("same", "as for sending"))
    assert figure.source.startswith("not counted: ") or re.search(
        r"^(chip|board|stated|computed).*; 20\d\d$", figure.how
    )
    if figure.arithmetic:
        assert worked_out(ast.parse(figure.arithmetic, mode="eval")) == pytest.approx(figure.value, rel=1e-6)
    else:
        assert figure.value or figure.source.startswith("not counted: ")


def test_sources_that_refer_back_have_something_to_refer_to() -> None:
    for radio in radios().values():
        first = next(iter(radio.figures.values()))
        assert not first.source.startswith(("same", "as for sending"))


def test_the_page_has_the_energy_of_every_profile() -> None:
    page = PAGE.read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `([\w-]+)` \| (.*) \|$", page, re.MULTILINE))
    energies = ("flop_per_joule", "joules_per_sample", "session", "joules_per_bit_up", "joules_per_bit_down")

    for profile in PROFILES:
        cells = [cell.strip() for cell in rows[profile.name].split("|")]
        figures = [in_prefixes(one.value, "").strip() for name, one in profile.figures.items() if name in energies]
        assert [re.sub(r"(FLOP/J|J/sample|J/bit|J)$", "", cell).strip() for cell in cells] == figures


# figures of one's own


def test_figures_of_ones_own_replace_a_profiles() -> None:
    own = device_of("cortex-m4", joules_per_sample=0.1)
    assert (own.flop_per_joule, own.joules_per_sample) == (None, 0.1)
    assert device_of("stm32f722", flop_per_joule=1e6) == Device(flop_per_joule=1e6, memory=256_000)
    assert radio_of("ble", session=1).session == 1


def test_no_profile_is_needed_where_all_figures_are_given() -> None:
    assert device_of(None, flop_per_joule=2.0) == Device(2.0)
    assert radio_of(None, session=1, joules_per_bit_up=2, joules_per_bit_down=3) == Radio(1, 2, 3)


# refusals


@pytest.mark.parametrize(
    ("make", "line"),
    [
        (lambda: device_of("cortex-m5"), r"^device must be one of .*, got cortex-m5 \(did you mean cortex-m4\?\)$"),
        (lambda: device_of(None), "^device must be one of .*, got nothing$"),
        (lambda: radio_of("blue"), r"^radio must be one of .*, got blue \(did you mean ble\?\)$"),
        (lambda: radio_of(None, session=1), "or joules_per_bit_up, joules_per_bit_down given, got nothing$"),
        (
            lambda: device_of("cortex-m4", flop_per_joule=1, joules_per_sample=2),
            "^joules_per_sample must be left out where flop_per_joule is given: either says it all, got 2$",
        ),
        (Device, "^flop_per_joule must be given, or joules_per_sample in its place, got neither$"),
        (lambda: Device(flop_per_joule=0), r"^flop_per_joule must be a number in \(0, 1e30\], got 0$"),
        (lambda: Device(joules_per_sample=-1), r"^joules_per_sample must be a number in \[0, 1e30\], got -1$"),
        (lambda: Device(1.0).joules(3), "^flop_per_sample must be given where a device is described by its FLOP/J"),
        (lambda: Device(1.0).joules(-3, 1), "^samples must be a whole number in .*, got -3$"),
        (lambda: Radio(-0.5, 0, 0), r"^session must be a number in \[0, 1e30\], got -0.5$"),
        (lambda: Radio(0, float("nan"), 0), "^joules_per_bit_up must be a number in .*, got nan$"),
        (
            lambda: round_cost(Device(1.0), Radio(0, 0, 0), model_bytes=-4, samples=1, flop_per_sample=1),
            "^model_bytes must be a whole number in .*, got -4$",
        ),
        (lambda: RoundCost(0, 0, 0, 1).step(0), "^local_steps must be a whole number >= 1, got 0$"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_by_name(make: Any, line: str) -> None:
    with pytest.raises(InvalidValue, match=line):
        make()
