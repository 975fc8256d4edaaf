"""Defaults of a user class's parameters stand in the resolved spec, whatever their type, or are refused in one line."""

from __future__ import annotations

import datetime as dt
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ehfl
from ehfl.cli import main
from ehfl.experiment import read_spec, run_all
from ehfl.runs import OtherRun, read_facts
from ehfl.validation import UserError

MODULE = '''
from dataclasses import dataclass, field
from datetime import date
from enum import Enum
from pathlib import Path

import numpy as np


class Mode(Enum):
    FAST = "fast"
    SLOW = "slow"


@dataclass(frozen=True)
class Gains:
    """Spends what its file allows."""

    gains: Path = Path("g.csv")

    def select(self, view):
        most = int(self.gains.read_text().split(",")[0])
        return np.flatnonzero(view.energy >= view.cost)[:most]


@dataclass(frozen=True)
class Many:
    nothing: int | None = None
    pair: tuple[int, int] = (1, 2)
    number: float = np.float64(0.5)
    counts: np.ndarray = field(default_factory=lambda: np.array([1, 2]))
    names: list[str] = field(default_factory=lambda: ["a", "b"])
    table: dict[str, int] = field(default_factory=lambda: {"a": 1})
    mode: Mode = Mode.FAST
    since: date = date(2024, 2, 29)
    files: tuple[Path, ...] = (Path("g.csv"), Path("absent.csv"))

    def select(self, view):
        assert isinstance(self.mode, Mode) and isinstance(self.since, date) and isinstance(self.pair, tuple)
        assert self.counts.sum() == 3 and all(isinstance(file, Path) for file in self.files)
        return np.flatnonzero(view.energy >= view.cost)


@dataclass(frozen=True)
class Wrapped:
    rule: object = np.sqrt

    def select(self, view):
        return []


class Unannotated:
    def __init__(self, gains=Path("g.csv")):
        self.gains = gains

    def select(self, view):
        return np.flatnonzero(view.energy >= view.cost)[: int(self.gains.read_text().split(",")[0])]
'''
SMALL: dict[str, Any] = {
    "rounds": 3,
    "seeds": 1,
    "learning": {"task": "quadratic", "step_size": 0.1},
    "fleet": {"rate": 1.0, "clients": 4},
    "target": 2,
}
COUNT = iter(range(1000))


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """A module in the current folder, beside a file that a default names."""
    name = f"with_defaults_{next(COUNT)}"
    (tmp_path / f"{name}.py").write_text(MODULE)
    (tmp_path / "g.csv").write_text("2, 3\n")
    monkeypatch.chdir(tmp_path)
    return name


def run(module: str, kind: str) -> ehfl.Comparison:
    return ehfl.compare(SMALL, name="x", schedulers=[f"{module}:{kind}"], jobs=1)


@pytest.mark.parametrize("kind", ["Gains", "Unannotated"])
def test_a_path_as_default_is_written_and_watched_like_a_given_one(module: str, kind: str, tmp_path: Path) -> None:
    """`compare` ended in "PosixPath is not TOML serializable"."""
    found = run(module, kind)

    assert found.arms[0].counts[0].tolist() == [0, 2, 2]
    assert read_facts(tmp_path / "runs/x/spec.toml")["arms"][0]["scheduler"]["gains"] == str(tmp_path / "g.csv")
    again = read_spec(tmp_path / "runs/x/spec.toml")
    assert not any(outcome.error for outcome in run_all(again, "runs/again", jobs=1))
    (tmp_path / "g.csv").write_text("1, 3\n")
    with pytest.raises(OtherRun, match=r"another version of scheduler\.gains"):
        run(module, kind)


def test_a_path_as_default_starts_from_the_spec_as_a_given_one_does(module: str, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    for name in (f"{module}.py", "g.csv"):
        (tmp_path / name).rename(tmp_path / "sub" / name)
    (tmp_path / "sub" / "mine.toml").write_text(f"schedulers = ['{module}:Gains']\n")

    (arm,) = read_spec("sub/mine.toml").arms

    assert arm.setting.scheduler["gains"] == str(tmp_path / "sub" / "g.csv")
    assert arm.label == f"{module}:Gains"  # a default is no part of a label


def test_train_takes_a_path_as_default(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["train", "--task", "quadratic", "-s", f"{module}:Gains", "--rounds", "3", "--run", "runs/one"])

    assert stop.value.code == 0, capsys.readouterr().err


def test_other_types_come_back_as_the_class_declares_them(module: str, tmp_path: Path) -> None:
    run(module, "Many")

    written = read_facts(tmp_path / "runs/x/spec.toml")["arms"][0]["scheduler"]
    assert written == {
        "name": f"{module}:Many",
        "pair": [1, 2],
        "number": 0.5,
        "counts": [1, 2],
        "names": ["a", "b"],
        "table": {"a": 1},
        "mode": "fast",
        "since": dt.date(2024, 2, 29),
        "files": [str(tmp_path / "g.csv"), "absent.csv"],
    }
    run_all(read_spec(tmp_path / "runs/x/spec.toml"), "runs/again", jobs=1)  # its own asserts look at the types
    assert len(run(module, "Many").arms) == 1  # the same run: finished already


@pytest.mark.parametrize("kind", ["Wrapped"])
def test_a_default_that_no_spec_can_hold_is_one_line(module: str, kind: str, tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        run(module, kind)

    message = str(caught.value)
    assert message.startswith("schedulers[1].rule must be a number, a string, a date, a path, or a list or table")
    assert message.endswith(f"got <ufunc 'sqrt'>, the default in {module}:Wrapped") and "\n" not in message
    assert not (tmp_path / "runs").exists()


def test_paths_and_arrays_are_taken_from_python(module: str, tmp_path: Path) -> None:
    scheduler = {"name": f"{module}:Gains", "gains": Path("g.csv")}
    found = ehfl.compare(SMALL, name="given", schedulers=[scheduler], fleet={"rate": np.full(4, 1.0)}, jobs=1)

    assert found.arms[0].counts[0].tolist() == [0, 2, 2]
