"""A cost by devices and radios in a spec: worked out from what is learned, per client, and refused by its key."""

from __future__ import annotations

import math
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ehfl.energy import device_of, radio_of, round_cost
from ehfl.experiment import read_spec
from ehfl.experiment.spec.build import build_fleet, chances_of, fleet_of, fleet_table
from ehfl.experiment.spec.models import Spec
from ehfl.planning import Want, free_of
from ehfl.validation import UserError

M4 = {"device": "cortex-m4", "radio": "esp32-wifi-mqtt"}
OWN = Path(__file__).with_name("own_things.py")
FIVE_STEPS = 0.6069541609264676  # [J], digits on M4: 0.543 + 0.00322 + 0.00579 + 0.05495


def spec(cost: Any, *overrides: str, **learning: Any) -> Spec:
    fleet = {"clients": 3, "round_length": 3600, "arrival": 1, "capacity": 100, "quantum": 1e-6, "cost": cost}
    return read_spec({"fleet": fleet, "learning": learning, "schedulers": ["greedy"], "rounds": 5}, overrides)


def joules(cost: Any, *overrides: str, **learning: Any) -> Any:
    return spec(cost, *overrides, **learning).base.facts()["fleet"]["cost"]


def test_task_steps_batch_and_aggregation_decide_it() -> None:
    plain = round_cost(
        device_of("cortex-m4"), radio_of("esp32-wifi-mqtt"), model_bytes=24_360, samples=250, flop_per_sample=127_488
    )

    assert joules(M4) == pytest.approx(FIVE_STEPS) == plain.total
    assert joules(M4, local_steps=10) == pytest.approx(plain.base + 2 * plain.computing)
    assert joules(M4, batch_size=25) == pytest.approx(plain.base + plain.computing / 2)
    assert joules(M4, aggregation="scaffold") == pytest.approx(plain.total + plain.upload + plain.download)
    assert joules(M4, task={"name": "cifar10", "network": "small"}) == pytest.approx(
        0.543 + 77_864 * 8 * 46.2e-9 + 250 * 3_127_296 / 580.010757e6
    )


def test_every_figure_can_be_replaced() -> None:
    own = {
        "session": "500 mJ",
        "joules_per_bit_up": 1e-6,
        "joules_per_bit_down": 2e-6,
        "flop_per_joule": 1e6,
        "model_bytes": 1000,
        "flop_per_sample": 50_000,
        "samples": 10,
    }

    assert joules(own) == pytest.approx(0.5 + 8000 * 3e-6 + 0.5)
    assert joules(M4 | own) == joules(own)
    assert joules({"joules_per_sample": 0.25, "radio": "ble", "samples": 4, "model_bytes": 0}) == 1.0


def test_clients_take_turns_over_lists_of_names_and_of_tables() -> None:
    a, b = joules(M4), joules(M4 | {"device": "raspberry-pi"})

    assert joules(M4 | {"device": ["cortex-m4", "raspberry-pi"]}) == [a, b, a]
    assert joules([M4, M4 | {"device": "raspberry-pi"}]) == [a, b, a]
    assert joules(M4 | {"device": ["cortex-m4", "cortex-m4"]}) == a
    two = joules({"device": ["cortex-m4", "raspberry-pi"], "radio": ["ble", "esp32-wifi-mqtt"]})
    assert two == [joules({"device": "cortex-m4", "radio": "ble"}), b, two[0]]


def test_a_list_of_tables_does_not_say_how_many_clients_there_are() -> None:
    given = {"round_length": 3600, "arrival": 1, "capacity": 100, "cost": [M4, M4]}

    assert read_spec({"fleet": given}).base.fleet.clients == 10


def test_the_fleet_and_the_written_spec_have_numbers() -> None:
    read = spec(M4 | {"device": ["cortex-m4", "raspberry-pi"]})

    assert fleet_of(read.base).costs.tolist() == [606_954, 2_207_212, 606_954]
    again = read_spec(read.facts())
    assert again.facts() == read.facts()
    assert again.runs()[0].identity() == read.runs()[0].identity()


def test_arms_that_take_more_steps_pay_more() -> None:
    arms = [{"label": "five"}, {"label": "ten", "learning.local_steps": 10}]
    facts = spec(M4).facts() | {
        "fleet": {"clients": 3, "round_length": 3600, "arrival": 1, "capacity": 100, "cost": M4}
    }
    five, ten = (arm.setting.facts()["fleet"]["cost"] for arm in read_spec(facts | {"arms": arms}).arms)

    assert ten - five == pytest.approx(250 * 127_488 / 580.010757e6)


def test_an_epoch_costs_a_mean_share_of_the_examples() -> None:
    facts = spec(M4).facts() | {
        "fleet": {"clients": 3, "round_length": 3600, "arrival": 1, "capacity": 100, "cost": M4}
    }
    arms = [{"label": label, "learning.local_epochs": n} for label, n in (("one", 1), ("three", 3))]
    one, three = (arm.setting.facts()["fleet"] for arm in read_spec(facts | {"arms": arms}).arms)

    assert three["cost"] - one["cost"] == pytest.approx(2 * 1437 / 3 * 127_488 / 580.010757e6)
    assert "step_cost" not in one


def test_chances_of_arms_with_other_costs_are_not_shared() -> None:
    own = {"session": 0, "radio": "ble", "joules_per_sample": 0.004, "model_bytes": 0}  # 1 J in five steps of 50
    # A battery of 2 J, one joule with chance 1/2: of use in about half of the rounds, then in about a quarter.
    one, two = (
        chances_of(spec(own, "fleet.capacity=2", "rounds=200", local_steps=steps).arms[0].setting).probabilities.mean()
        for steps in (5, 10)
    )

    assert one == pytest.approx(0.5, abs=0.05)
    assert two == pytest.approx(0.25, abs=0.05)


def test_options_can_set_a_part_of_it() -> None:
    assert joules(M4, "fleet.cost.session=0") == pytest.approx(FIVE_STEPS - 0.543)
    assert joules(M4, "fleet.cost={device='cortex-m4',radio='ble',session=0.5}") > 0.5


def test_a_task_of_ones_own_is_counted_when_its_spec_is_read(tmp_path: Path) -> None:
    shutil.copy(OWN, tmp_path / "mine.py")
    file = tmp_path / "own.toml"
    cost = "cost = { flop_per_joule = 1, session = 0, joules_per_bit_up = 0, joules_per_bit_down = 0 }"
    file.write_text(
        f"[fleet]\nclients = 2\nround_length = 60\narrival = 1\n{cost}\n"
        '[learning]\ntask = "mine:Line"\nlocal_steps = 1\nbatch_size = 1\n'
    )
    read = read_spec(file)

    assert read.base.facts()["fleet"]["cost"] == 4  # a product and a sum forward, and for its one weight's gradient


def test_simulate_needs_no_torch_for_it() -> None:
    options = ["--round-length", "1 h", "--rounds", "3", "--json", "--capacity", "5 J", "-o", "fleet.arrival='1 J'",
               "-o", "fleet.quantum=1e-5", "--cost", "{device='cortex-m4',radio='ble'}"]  # fmt: skip
    code = (
        f"import sys\nfrom ehfl.cli import main\ntry: main(['simulate', *{options}])\n"
        "except SystemExit as stop: print(stop.code, 'torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)

    assert done.stdout.splitlines()[-1] == "0 False", done.stderr


@pytest.mark.parametrize(
    ("cost", "line"),
    [
        (M4 | {"device": "cortex-m5"}, r"fleet.cost.device must be one of .* \(did you mean cortex-m4\?\)"),
        (M4 | {"radio": "blue"}, r"fleet.cost.radio must be one of .* got blue \(did you mean ble\?\)"),
        ([M4, M4 | {"radio": "x"}], r"fleet.cost\[2\].radio must be one of .* got x"),
        ([M4, 3], r"fleet.cost\[2\] must be a table like .* got 3"),
        ([M4, M4 | {"device": ["cortex-m4"]}], r"fleet.cost\[2\].device must be a name, got \['cortex-m4'\]"),
        ({"device": "cortex-m4"}, "fleet.cost.radio must be one of .* got nothing"),
        ({}, "fleet.cost.device must be one of .* got nothing"),
        (M4 | {"device": []}, r"fleet.cost.device must be a name or a list of names, got \[\]"),
        (M4 | {"device": 4}, "fleet.cost.device must be a name or a list of names, got 4"),
        (M4 | {"sesion": 4}, r"fleet.cost.sesion must be one of .* got sesion \(did you mean session\?\)"),
        (M4 | {"session": -4}, r"fleet.cost.session must be a number in \[0, 1e30\], got -4"),
        (M4 | {"session": "4 W"}, "fleet.cost.session must be a number .J., or a string with a unit .* got 4 W"),
        (M4 | {"samples": 1.5}, "fleet.cost.samples must be a whole number .* got 1.5"),
        (M4 | {"samples": "many"}, "fleet.cost.samples must be a number, got 'many'"),
        (M4 | {"flop_per_sample": math.nan}, "fleet.cost.flop_per_sample must be a number in .* got nan"),
        (M4 | {"flop_per_joule": 1, "joules_per_sample": 2}, "fleet.cost.joules_per_sample must be left out where"),
    ],
)
def test_what_cannot_be_is_refused_by_its_key(cost: Any, line: str) -> None:
    with pytest.raises(UserError, match=f"^{line}"):
        spec(cost)


def test_without_a_length_of_rounds_it_is_refused() -> None:
    with pytest.raises(
        UserError, match=r"^fleet.cost must be a number of units, unless fleet.round_length is given, got"
    ):
        read_spec({"fleet": {"cost": M4}})


def test_a_task_without_a_network_must_be_told() -> None:
    with pytest.raises(UserError, match=r"^fleet.cost.flop_per_sample must be given, above 0: quadratic is no network"):
        spec(M4, task="quadratic")
    assert joules(M4 | {"flop_per_sample": 100}, task="quadratic") == pytest.approx(0.543, rel=1e-3)
    with pytest.raises(UserError, match=r"^learning.task must be one of digits"):
        spec(M4, task="nosuch")


def test_a_turn_that_does_not_fit_into_a_round_is_refused_with_what_would() -> None:
    line = (
        r"^fleet.cost must be a turn that fits \(on raspberry-pi-4, raspberry-pi-zero-2, jetson-nano; over .*ble, "
        r"lte-m, nb-iot\), got one that needs 48.39 d in a round of 1 h \(download 11.49 h, upload 11.49 h, silence "
        r"by a duty cycle of 1 % 47.38 d, computing 1.111 h\) and 7.03 MB of memory for weights on a device that has "
        r"256 kB$"
    )
    with pytest.raises(UserError, match=line):
        spec({"device": "cortex-m4", "radio": "lora-sf9"}, task="cifar10")


def test_each_limit_is_one_of_its_own() -> None:
    with pytest.raises(
        UserError, match=r"^fleet.cost must be a turn that fits \(over .*ble.*\), got one that needs 4.\d* h"
    ):
        spec({"device": "cortex-m4", "radio": "lora-sf9"})  # digits: the duty cycle alone
    with pytest.raises(
        UserError, match=r"^fleet.cost must be a turn that fits \(on raspberry-pi-4, .* got one that needs 7"
    ):
        spec(M4 | {"flop_per_second": 1e9}, task="cifar10")  # fast enough, but its memory
    assert joules(M4 | {"flop_per_second": 1e9, "memory": 8e6}, task="cifar10") > 0


def test_only_the_clients_that_cannot_are_named() -> None:
    with pytest.raises(UserError, match=r"^fleet.cost\[2\] must be a turn that fits"):
        spec([M4, {"device": "cortex-m4", "radio": "lora-sf12"}])


def test_a_plan_tries_no_round_that_is_shorter_than_a_turn() -> None:
    setting = spec({"device": "cortex-m4", "radio": "lora-sf9"}, "fleet.round_length=36000").base
    table = fleet_table(setting)

    assert 4 * 3600 < table["turn_time"] < 5 * 3600
    assert read_spec(spec(M4).facts()).base.fleet.cost == pytest.approx(FIVE_STEPS)
    free = free_of(table, build_fleet, "round", Want(2, 0.5), rounds=1000)
    assert free.low >= table["turn_time"]
