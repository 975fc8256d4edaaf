"""Paths in a spec start from the folder of its file, those of overrides and of Python from the current folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ehfl
import made_weather
from ehfl.experiment import SpecError, read_spec

SPEC = "rounds = 2\nschedulers = ['greedy']\n"


@pytest.fixture(autouse=True)
def two_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files of the same names beside the spec and in the current folder, and one that lies in each alone."""
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    for folder, rate in ((Path(), "0.25"), (Path("sub"), "0.75")):
        (folder / "rates.csv").write_text(f"{rate}, {rate}\n")
        (folder / "sun.csv").write_text(f"{round(4 * float(rate))}, 1\n1, 1\n")
    Path("here.csv").write_text("1, 1\n1, 1\n")


def spec(text: str, *overrides: str) -> Any:
    Path("sub/mine.toml").write_text(SPEC + text)
    return read_spec("sub/mine.toml", overrides).base


def test_a_path_in_a_file_starts_from_its_folder() -> None:
    assert spec("fleet.rate = 'rates.csv'").fleet.rate == (0.75, 0.75)
    harvest = spec("fleet.harvest = 'replay:sun.csv'").fleet.harvest
    assert harvest["arrivals"] == str(Path("sub/sun.csv").resolve())
    data = spec("[learning]\ntask = 'cifar10'\ndata = 'cifar'").learning.data
    assert data == str(Path("sub/cifar").absolute())


@pytest.mark.parametrize(
    "override",
    [
        "fleet.harvest=replay:sun.csv",
        "fleet.harvest={name='replay', arrivals='sun.csv'}",
        "fleet.harvest.arrivals=sun.csv",
        "fleet={harvest='replay:sun.csv'}",
    ],
)
def test_a_path_in_an_override_starts_from_the_current_folder(override: str) -> None:
    harvest = spec("fleet.harvest = 'replay:sun.csv'", override).fleet.harvest

    assert harvest["arrivals"] == str(Path("sun.csv").resolve())


def test_so_does_each_of_several_in_a_list() -> None:
    """Names that are no files stay as they are."""
    for folder in (Path(), Path("sub")):
        made_weather.epw(folder / "a.epw")
    physical = "[fleet]\nround_length = 3600\ncapacity = 9\ncost = 1\nclients = 2\n"
    text = physical + "harvest = { name = 'sun', watts = 1, site = ['a.epw', 'alaska'] }"

    assert spec(text).fleet.harvest["site"] == [str(Path("sub/a.epw").resolve()), "alaska"]
    here = spec(text, "fleet.harvest.site=['alaska', 'a.epw']", "fleet.harvest.start='07-01'").fleet.harvest
    assert here["site"] == ["alaska", str(Path("a.epw").resolve())]


def test_so_does_one_per_client_in_an_arm_and_from_python() -> None:
    assert spec("fleet.rate = 'rates.csv'", "fleet.rate=rates.csv").fleet.rate == (0.25, 0.25)
    assert spec("learning.task = 'cifar10'", "learning.data=cifar").learning.data == "cifar"
    Path("sub/mine.toml").write_text("rounds = 2\nfleet.rate = 'rates.csv'\n")
    arms = read_spec("sub/mine.toml", ["arms=[{scheduler='greedy', fleet={rate='rates.csv'}}]"]).arms
    assert arms[0].setting.fleet.rate == (0.25, 0.25)
    assert read_spec("sub/mine.toml", {"fleet.rate": "rates.csv"}).base.fleet.rate == (0.25, 0.25)
    assert read_spec({"fleet": {"rate": "rates.csv"}, "target": 1}).base.fleet.rate == (0.25, 0.25)


def test_a_file_that_lies_only_in_the_other_folder_is_refused() -> None:
    message = (
        r"fleet\.harvest\.arrivals must be in the spec's folder, .*sub, got here\.csv, which is in the current one"
    )
    with pytest.raises(SpecError, match=message):
        spec("fleet.harvest = 'replay:here.csv'")


def test_what_is_written_is_read_again_from_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("run").mkdir()
    facts = read_spec(None, ["learning.task=cifar10", "learning.data=cifar", "schedulers=['greedy']"]).facts()
    Path("run/spec.toml").write_text(ehfl.experiment.write_spec(facts))
    monkeypatch.chdir(tmp_path / "sub")

    assert read_spec(tmp_path / "run/spec.toml").base.learning.data == str(tmp_path / "cifar")
