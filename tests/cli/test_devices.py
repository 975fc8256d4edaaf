"""`ehfl devices`, as a user meets it."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from ehfl.cli import main
from ehfl.energy import devices, radios


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stop:
        main(["devices", *arguments])
    assert stop.value.code == 0
    return capsys.readouterr().out


def test_the_list_is_a_line_for_each_profile_in_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(capsys).splitlines()

    assert [line.split()[0] for line in lines if line] == ["devices", *devices(), "radios", *radios(), "next:", "the"]
    assert max(map(len, lines)) <= 80
    assert "cortex-m4             580 MFLOP/J      6.37 MFLOP/s   256 kB" in lines
    assert "lora-sf9         0 J      97.1 µJ  32.4 µJ   0 s      1.36 kbit/s  1.36 kbit/s" in lines


def test_a_device_or_a_radio_alone_is_shown_with_its_sources(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "--radio", "lora-sf9")

    assert out.startswith("  lora-sf9: LoRaWAN") and "cortex" not in out
    assert "    1 % of the time (stated; 2018): ETSI EN 300 220-2" in out


def test_a_wrong_name_alone_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["devices", "--radio", "lora-sf99"])

    assert stop.value.code == 2
    assert "--radio must be one of esp32-wifi-mqtt" in capsys.readouterr().err


def test_every_profile_is_listed_with_its_sources_in_80_columns(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "--full")
    words = " ".join(out.split())

    for profile in [*devices().values(), *radios().values()]:
        assert f"{profile.name}: {profile.what}" in words
        assert f"but: {profile.wrong}" in words
        assert all(figure.source in words for figure in profile.figures.values())
    assert max(map(len, out.splitlines())) <= 80


def test_the_list_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    listed = json.loads(printed(capsys, "--json"))

    assert listed["radios"]["esp32-wifi-mqtt"]["figures"]["session"]["value"] == 0.543
    assert {kind: [*names] for kind, names in listed.items()} == {"devices": [*devices()], "radios": [*radios()]}


def test_the_cost_of_a_round_with_its_parts(capsys: pytest.CaptureFixture[str]) -> None:
    out = printed(capsys, "--device", "cortex-m4", "--radio", "esp32-wifi-mqtt")

    assert out.splitlines()[0] == "digits on cortex-m4 over esp32-wifi-mqtt: 607 mJ and 5.797 s a round"
    assert [line.split() for line in out.splitlines()[2:6]] == [
        ["session", "543", "mJ", "89.5%", "0.774", "s"],
        ["download", "3.22", "mJ", "0.5%", "0.009744", "s"],
        ["upload", "5.79", "mJ", "1.0%", "0.009744", "s"],
        ["computing", "55", "mJ", "9.1%", "5.004", "s"],
    ]
    assert "warning: weak figures" in out


def test_silence_and_lack_of_memory_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ("--device", "cortex-m4", "--radio", "lora-sf9", "--task", "cifar10")
    out, facts = printed(capsys, *chosen), json.loads(printed(capsys, *chosen, "--json"))

    assert "  silence          0 J    0.0%     47.38 d" in out
    assert "warning: weights of 7.03 MB exceed the device's memory" in out
    assert not facts["fits_memory"]
    assert facts["seconds"]["upload"] == pytest.approx(41_352, rel=1e-3)


def test_a_time_that_is_unknown_is_said_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    assert "unknown" in printed(capsys, "--device", "stm32f722", "--radio", "ble")


def test_scaffold_sends_twice_as_much(capsys: pytest.CaptureFixture[str]) -> None:
    chosen = ("--device", "cortex-m4", "--radio", "ble", "--json")
    mean, scaffold = (
        json.loads(printed(capsys, *chosen, "--aggregation", name))["joules"] for name in ("mean", "scaffold")
    )

    assert scaffold["upload"] == 2 * mean["upload"]
    assert scaffold["download"] == 2 * mean["download"]
    assert scaffold["computing"] == mean["computing"]


def test_steps_batches_and_figures_of_ones_own(capsys: pytest.CaptureFixture[str]) -> None:
    own = ("-o", "session=1", "-o", "joules_per_bit_up=0", "-o", "joules_per_bit_down=0", "-o", "joules_per_sample=0.5")
    joules = json.loads(printed(capsys, *own, "-k", "3", "--batch-size", "4", "--json"))["joules"]

    assert joules == {"session": 1, "download": 0, "upload": 0, "computing": 6.0, "total": 7.0, "base": 1, "step": 2.0}


def test_the_cost_of_a_task_that_comes_with_ehfl_needs_no_torch() -> None:
    code = (
        "import sys\nfrom ehfl.cli import main\n"
        "try: main(['devices', '--device', 'cortex-m4', '--radio', 'ble', '--aggregation', 'scaffold'])\n"
        "except SystemExit: print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "False"
