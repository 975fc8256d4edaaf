"""Meters: joules as the device says them, whole quanta of the fleet's unit, and one line for what is no reading."""

from __future__ import annotations

import errno
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ehfl.energy import HARVESTS
from ehfl.flower.node.meters import JOULES, METERS, Battery, Command, File, MeterError, check_unit, read_quanta
from ehfl.validation import InvalidValue, UserError


def python(code: str) -> str:
    """Return the command line that runs this code."""
    return f'{sys.executable} -c "{code}"'


# readings


def test_a_file_of_the_kernel_counts_microwatt_hours(tmp_path: Path) -> None:
    energy_now = tmp_path / "energy_now"
    energy_now.write_text("41230000\n")  # 41.23 Wh

    assert METERS.make(f"file:path={energy_now},scale=3.6e-3").joules() == pytest.approx(41.23 * 3600)
    assert METERS.make({"name": "file", "path": str(energy_now), "scale": 3.6e-3}) == File(energy_now, scale=3.6e-3)
    energy_now.write_text("10")
    assert METERS.make(f"file:{energy_now}").joules() == 10


def test_a_command_prints_joules() -> None:
    assert METERS.make("command:echo 12.5").joules() == 12.5
    assert METERS.make("command:line=echo 12.5,scale=2").joules() == 25
    assert Command("echo '  1e3  '").joules() == 1000


def test_no_shell_reads_a_command() -> None:
    with pytest.raises(MeterError, match="prints '1; echo 2'"):
        Command("echo 1; echo 2").joules()
    with pytest.raises(MeterError, match=r"prints '\$HOME'"):
        Command("echo $HOME").joules()


def test_the_systems_battery_says_how_full_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "sensors_battery", lambda: SimpleNamespace(percent=25.0), raising=False)

    assert METERS.make("battery:50").joules() == 0.25 * 50 * 3600
    assert read_quanta(Battery(capacity=50), "Wh") == 12


def test_a_class_of_the_users_own_is_a_meter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = "class Supercapacitor:\n    def __init__(self, farad: float): self.farad = farad\n"
    (tmp_path / "own_gauge.py").write_text(source + "    def joules(self): return self.farad * 5.0**2 / 2\n")
    monkeypatch.syspath_prepend(tmp_path)

    assert METERS.make("own_gauge:Supercapacitor:2.0").joules() == 25


@pytest.mark.parametrize(
    ("joules", "unit", "quanta"),
    [
        (12.9, "J", 12), (0.57, "mJ", 570), (0.0005, "mJ", 0), (3e-6, "uJ", 3), (3e-6, "µJ", 3), (3e-6, "μJ", 3),
        (2999.0, "kJ", 2), (7200.0, "Wh", 2), (7199.9, "Wh", 1), (36.0, "mWh", 10), (0.0, "mJ", 0),
    ],
)  # fmt: skip
def test_joules_become_whole_quanta_of_the_fleets_unit(joules: float, unit: str, quanta: int) -> None:
    assert read_quanta(Fixed(joules), unit) == quanta


def test_the_size_of_a_quantum_goes_before_its_name() -> None:
    check_unit("20 mJ", 0.02)

    assert read_quanta(Fixed(0.57), "20 mJ", 0.02) == 28


@given(quanta=st.integers(0, 2**30), unit=st.sampled_from(sorted(JOULES)))
def test_no_quantum_is_lost_to_rounding(quanta: int, unit: str) -> None:
    assert read_quanta(Fixed(quanta * JOULES[unit]), unit) == quanta


def test_every_meter_by_name_can_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "sensors_battery", lambda: SimpleNamespace(percent=100), raising=False)
    (tmp_path / "five").write_text("5")
    examples = {"battery": "battery:1", "file": f"file:{tmp_path / 'five'}", "command": "command:echo 5"}

    assert examples.keys() == METERS.members.keys()
    assert all(METERS.make(text).joules() >= 5 for text in examples.values())


# what is no reading


class Fixed:
    """A meter that always reads the same, or fails."""

    def __init__(self, reading: Any) -> None:
        self.reading = reading

    def joules(self) -> float:
        if isinstance(self.reading, BaseException):
            raise self.reading
        reading: float = self.reading
        return reading

    def __str__(self) -> str:
        return "the gauge"


@pytest.mark.parametrize("reading", [-0.1, float("nan"), float("inf"), "5", None, True])
def test_a_reading_that_no_battery_has_is_refused(reading: Any) -> None:
    with pytest.raises(MeterError) as caught:
        read_quanta(Fixed(reading), "J")
    assert str(caught.value) == f"the gauge must read a finite number of joules >= 0, got {reading}"


@pytest.mark.parametrize("error", [ZeroDivisionError("no current"), SystemExit(3), OSError("unplugged")])
def test_a_meter_that_fails_is_blamed_in_one_line(error: BaseException) -> None:
    with pytest.raises(MeterError, match=r"Fixed fails: .* \(test_meters.py:\d+\)"):
        read_quanta(Fixed(error), "J")


@pytest.mark.parametrize("content", ["", "full", "12 J", "1\n2", "\x00\x01"])
def test_a_file_without_a_number_is_refused(tmp_path: Path, content: str) -> None:
    path = tmp_path / "charge"
    path.write_text(content)

    with pytest.raises(MeterError, match=f"the meter must give a number, and {path} says ") as caught:
        read_quanta(File(path), "J")
    assert str(caught.value).isprintable()


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(MeterError, match=f"the meter {tmp_path / 'none'}: No such file or directory"):
        File(tmp_path / "none").joules()
    with pytest.raises(MeterError, match=f"the meter {tmp_path}: Is a directory"):
        File(tmp_path).joules()


@pytest.mark.parametrize("said", ["nan", "-3", "inf"])
def test_numbers_that_no_battery_has_are_refused_wherever_they_come_from(tmp_path: Path, said: str) -> None:
    (tmp_path / "charge").write_text(said)
    for meter in (File(tmp_path / "charge"), Command(f"echo {said}")):
        with pytest.raises(MeterError, match=f"must read a finite number of joules >= 0, got {float(said)}"):
            read_quanta(meter, "J")


def test_a_command_that_fails_says_why() -> None:
    with pytest.raises(MeterError, match=r"failed with exit code 3: no sensor$"):
        Command(python("import sys; print('no sensor', file=sys.stderr); sys.exit(3)")).joules()
    with pytest.raises(MeterError, match="the meter false failed with exit code 1: it says nothing of why"):
        Command("false").joules()
    with pytest.raises(MeterError, match="no-such-command -v cannot be started: no-such-command: No such file"):
        Command("no-such-command -v").joules()
    with pytest.raises(MeterError, match="the meter must give a number, and echo about 5 prints 'about 5'"):
        Command("echo about 5").joules()


def test_a_command_that_hangs_is_ended_with_all_it_has_started(tmp_path: Path) -> None:
    note = tmp_path / "child"
    began = time.monotonic()

    with pytest.raises(MeterError, match=r"' did not end within 1 s"):
        Command(f"sh -c 'sleep 60 & echo $! > {note}; wait'", timeout=1).joules()

    assert time.monotonic() - began < 30  # the child would have kept the pipe open for a minute
    child = int(note.read_text())
    while psutil.pid_exists(child) and psutil.Process(child).status() != psutil.STATUS_ZOMBIE:
        assert time.monotonic() - began < 30
        time.sleep(0.01)


def test_a_command_that_cannot_be_ended_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[subprocess.Popen[bytes]] = []
    popen = subprocess.Popen

    def noted(*given: Any, **options: Any) -> subprocess.Popen[bytes]:
        started.append(popen(*given, **options))
        return started[-1]

    def forbidden(group: int, kind: int) -> None:
        raise PermissionError(errno.EPERM, "Operation not permitted")  # as for a process of root's

    monkeypatch.setattr(subprocess, "Popen", noted)
    monkeypatch.setattr(os, "killpg", forbidden)
    with pytest.raises(MeterError, match="the meter sleep 60 did not end within"):
        Command("sleep 60", timeout=0.1).joules()

    (process,) = started
    assert process.poll() is None
    process.kill()
    process.wait()


def test_a_system_without_a_battery_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(psutil, "sensors_battery", lambda: None, raising=False)
    with pytest.raises(MeterError, match="the system reports no battery: give a meter of another kind"):
        Battery(50).joules()
    monkeypatch.delattr(psutil, "sensors_battery")
    with pytest.raises(MeterError, match="the system reports no battery"):
        Battery(50).joules()


# parameters


def test_the_lines_of_the_docs_are_what_flower_and_the_registries_take() -> None:
    from flwr.common.config import parse_config_args

    page = (Path(__file__).parents[2] / "docs" / "flower.md").read_text(encoding="utf-8")
    lines = re.findall(r"--node-config '([^']*)'", page)
    nodes = [parse_config_args([line]) for line in lines]

    meters = [METERS.make(node["meter"]) for node in nodes if "meter" in node]
    assert meters == [
        Battery(50),
        File(Path("/sys/class/power_supply/BAT0/energy_now"), 3.6e-3),
        Command("/usr/local/bin/stored --joules", timeout=3),
    ]
    assert [HARVESTS.table(node["harvest"]) for node in nodes if "harvest" in node] == [
        {"name": "replay", "arrivals": "/etc/ehfl/sun.csv"}
    ]


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ("battery", "meter.capacity must be given: battery needs it, got nothing"),
        ("battery:0", "meter.capacity must be a number in [1e-30, 1e30], got 0"),
        ("battery:full", "meter.capacity must be a number, got 'full'"),
        ("file", "meter.path must be given: file needs it, got nothing"),
        ("file:path=/sys/x,scale=-1", "meter.scale must be a number in [1e-30, 1e30], got -1"),
        ({"name": "command", "line": " "}, "meter.line must be a command with its arguments, got ' '"),
        ({"name": "command", "line": "echo '5"}, "meter.line must be a command with its arguments, got echo '5 (No "),
        (
            {"name": "command", "line": "echo 5", "timeout": float("nan")},
            "meter.timeout must be a number in [1e-30, 1e30]",
        ),
        ("comand:echo 5", "meter must be importable as package.module:Class, got comand:echo 5"),
        (5, "meter must be a meter, with joules, got 5 without joules"),
    ],
)
def test_a_meter_that_cannot_be_is_refused_by_its_key(given: Any, fault: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        METERS.make(given)
    assert str(caught.value).startswith(fault)


def test_a_unit_that_is_no_energy_is_refused() -> None:
    with pytest.raises(InvalidValue) as caught:
        check_unit("units")
    known = "J, mJ, uJ, µJ, μJ, kJ, Wh, mWh"
    assert str(caught.value) == f"fleet.unit must be one of {known} where a meter is read, got units"
    assert issubclass(MeterError, UserError)
