"""Wherever a spec takes a name, Python may give an instance: it becomes the table that names it."""

from __future__ import annotations

import importlib
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ehfl
from ehfl.experiment import read_spec
from ehfl.learning.aggregation.around import FedProx
from ehfl.partition import Dirichlet
from ehfl.registry import Registry
from ehfl.runs import read_facts
from ehfl.theory.step_sizes import Nominal
from ehfl.validation import UserError

sys.path.append(str(Path(__file__).parent))  # as for a script that lies there
own_things: Any = importlib.import_module("own_things")

SMALL: dict[str, Any] = {
    "name": "small",
    "rounds": 4,
    "seeds": 2,
    "learning": {"task": "quadratic", "step_size": 0.1},
}


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_instances_give_the_same_spec_as_names() -> None:
    named = read_spec(
        {
            "schedulers": ["myopic:3", "own_things:FirstFew:2"],
            "fleet": {"harvest": "poisson:0.7", "clients": 5},
            "learning": {
                "task": "own_things:Line:3.0",
                "partition": "dirichlet:0.3",
                "step_size": {"name": "nominal", "initial": 0.1},
                "aggregation": "fedprox:0.5",
            },
        }
    )
    instances = read_spec(
        {
            "schedulers": [ehfl.Myopic(3), own_things.FirstFew(2)],
            "fleet": {"harvest": ehfl.Poisson(0.7), "clients": 5},
            "learning": {
                "task": own_things.Line(3.0),
                "partition": Dirichlet(0.3),
                "step_size": Nominal(initial=0.1),
                "aggregation": FedProx(0.5),
            },
        }
    )

    assert instances.facts() == named.facts() | {
        "arms": [arm | {"label": label} for arm, label in zip(named.facts()["arms"], LABELS, strict=True)]
    }
    assert [run.identity() for run in instances.runs()] == [run.identity() for run in named.runs()]


LABELS = ["myopic:3", "own_things:FirstFew:count=2"]


def test_they_are_taken_by_compare_in_overrides_and_arms(tmp_path: Path) -> None:
    """`ehfl.compare(schedulers=[Reserve()])` was refused without a hint."""
    arms = [
        {"label": "few", "scheduler": own_things.FirstFew(2)},
        {"label": "damped", "aggregation": own_things.Damped()},
    ]

    found = ehfl.compare(SMALL, arms=arms, fleet={"harvest": own_things.EveryOther(2)}, jobs=2)

    assert [arm.name for arm in found.arms] == ["few", "damped"] and not found.missing
    written = read_facts(tmp_path / "runs/small/spec.toml")
    assert written["arms"][0]["scheduler"] == {"name": "own_things:FirstFew", "count": 2}
    assert written["arms"][1]["learning.aggregation"] == {"name": "own_things:Damped", "part": 0.5}
    assert written["fleet"]["harvest"] == {"name": "own_things:EveryOther", "peak": 2}


def test_compare_takes_a_fleet_a_task_and_schedulers_as_objects() -> None:
    fleet = ehfl.Fleet(clients=5, harvest=own_things.EveryOther(2), capacity=4, cost=2)

    found = ehfl.compare(
        SMALL,
        name="objects",
        fleet=fleet,
        task=own_things.Line(3.0),
        schedulers=[own_things.FirstFew(2), ehfl.Greedy()],
    )

    assert [arm.name for arm in found.arms] == ["own_things:FirstFew:count=2", "greedy"] and not found.missing
    for trial in found.arms[1].trials:
        assert trial.participation.counts.tolist() == ehfl.simulate(fleet, "greedy", 4, trial.seed).counts.tolist()


def test_an_arm_may_have_a_fleet_and_a_task_of_its_own() -> None:
    arms = [
        {"label": "few", "fleet": ehfl.Fleet(3, ehfl.Bernoulli(0.5))},
        {"label": "line", "task": own_things.Line(2.0)},
    ]

    few, line = read_spec(SMALL | {"arms": arms}).arms

    assert (few.setting.fleet.clients, line.setting.fleet.clients) == (3, 10)
    assert line.setting.learning.task["name"] == "own_things:Line"


KINDS: list[Registry[Any]] = [ehfl.SCHEDULERS, ehfl.AGGREGATIONS, ehfl.STEP_SIZES, ehfl.PARTITIONS]
MEMBERS = [pytest.param(registry, name, id=name) for registry in KINDS for name in registry]


@pytest.mark.parametrize(("registry", "name"), MEMBERS)
def test_every_registered_class_can_be_given_as_an_instance(registry: Registry[Any], name: str) -> None:
    given = {"name": name} | ({"value": 0.1} if name == "constant" else {"alpha": 0.3} if name == "dirichlet" else {})

    assert registry.table(registry.make(given)) == given


@pytest.mark.parametrize(
    ("harvest", "table"),
    [
        (ehfl.Bernoulli(rate=[0.1, 0.9]), {"name": "bernoulli", "rate": [0.1, 0.9]}),
        (ehfl.Replay(np.array([[1, 0], [0, 2]])), {"name": "replay", "arrivals": [[1, 0], [0, 2]]}),
        (ehfl.Markov(stay_on=0.9, stay_off=0.8), {"name": "markov", "stay_on": 0.9, "stay_off": 0.8}),
        (ehfl.Sun(2.0, tilt=10.0), {"name": "sun", "watts": 2.0, "tilt": 10.0}),
    ],
)
def test_a_harvest_is_written_with_its_parameters(harvest: Any, table: dict[str, Any]) -> None:
    assert ehfl.HARVESTS.table(harvest) == table


def test_a_trace_is_written_with_its_file(tmp_path: Path) -> None:
    (tmp_path / "roof.csv").write_text("time,watts\n0,1\n3600,2\n7200,1\n")

    table = ehfl.HARVESTS.table(ehfl.Trace(Path("roof.csv"), watts=3), folder=Path("/"))  # no spec's folder counts

    assert table == {"name": "trace", "file": str(tmp_path / "roof.csv"), "watts": 3}


# what cannot be written


class Odd:
    """Keeps twice what it is given."""

    def __init__(self, units: int = 2) -> None:
        self.units = 2 * units

    def select(self, view: Any) -> Any:
        return []


class Hidden:
    def __init__(self, units: int = 2) -> None:
        self._units = units

    def select(self, view: Any) -> Any:
        return []


class Open:
    def __init__(self, **options: int) -> None:
        self.units = options.get("units", 0)

    def select(self, view: Any) -> Any:
        return []


class Ruled:
    def __init__(self, rule: Callable[[float], float] | None = None) -> None:
        self.rule = rule

    def select(self, view: Any) -> Any:
        return []


def local() -> Any:
    class Inside:
        def select(self, view: Any) -> Any:
            return []

    return Inside()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            Odd(),
            r"^schedulers\[1\] must be an instance that keeps its parameters as given, or a table of .*:Odd, got",
        ),
        (Hidden(), r"^schedulers\[1\]\.units must be an attribute of the instance, or given in a table of .*:Hidden"),
        (Open(units=1), r"^schedulers\[1\]\.options must be an attribute of the instance"),
        (Ruled(lambda x: x), r"^schedulers\[1\]\.rule must be a number, .* to be written to a spec, got <function"),
        (local(), r"^schedulers\[1\] must be importable as package\.module:Class, got .*:local\.<locals>"),
        (
            Odd,
            r"^schedulers\[1\] must be .* got .*Odd'> \(an instance is taken: Odd\(\.\.\.\)\)$",
        ),
        (lambda view: [], r"^schedulers\[1\] must be one of myopic"),
    ],
)
def test_what_a_spec_cannot_hold_is_one_line(given: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message) as caught:
        ehfl.compare(SMALL, schedulers=[given], jobs=1)

    assert "\n" not in str(caught.value) and not (tmp_path / "runs").exists()


def test_a_function_as_step_size_is_one_line() -> None:
    with pytest.raises(UserError, match=r"^learning\.step_size must be an instance of a class, a name or a table"):
        ehfl.compare(SMALL, learning={"step_size": lambda counts: np.full(len(counts), 0.1)}, jobs=1)


# classes of the script that runs

SCRIPT = """
from dataclasses import dataclass

import numpy as np

import ehfl


@dataclass(frozen=True)
class Reserve:
    units: int = 2

    def select(self, view):
        return np.flatnonzero(view.energy >= view.cost + self.units)


def work():
    fleet = ehfl.Fleet(clients=4, harvest=ehfl.Bernoulli(1.0))
    assert ehfl.simulate(fleet, Reserve(), rounds=6).counts.tolist() == [0, 0, 0, 4, 4, 4]
    for name, scheduler in (("named", "__main__:Reserve"), ("instance", Reserve(units=1))):
        found = ehfl.compare(
            name=name, schedulers=[scheduler], rounds=4, seeds=2, learning={"task": "quadratic"}, jobs=2
        )
        print(found.arms[0].name, found.missing)

"""


def script(text: str, *flags: str, name: str = "exp.py") -> subprocess.CompletedProcess[str]:
    Path(name).write_text(text)
    return subprocess.run([sys.executable, *(flags or (name,))], capture_output=True, text=True, check=False)


def test_a_class_of_the_running_script_is_imported_by_its_file(tmp_path: Path) -> None:
    """`"__main__:Reserve"` was not found by workers."""
    done = script(SCRIPT + 'if __name__ == "__main__":\n    work()\n')

    assert done.stdout == "__main__:Reserve ()\nexp:Reserve:units=1 ()\n", done.stderr
    written = read_facts(tmp_path / "runs/named/spec.toml")
    assert written["arms"][0]["scheduler"] == {"name": "exp:Reserve", "units": 2}


def test_a_script_that_would_run_again_when_imported_is_refused_in_one_line() -> None:
    done = script(SCRIPT + "work()\n")

    last = done.stderr.splitlines()[-1]
    assert "schedulers[1] must be a class in a script that does its work below if __name__" in last
    assert not Path("runs").exists()


def test_a_class_without_a_file_is_refused_in_one_line() -> None:
    """A notebook's `__main__` has no file either."""
    done = script("", "-c", SCRIPT + "work()\n")

    last = done.stderr.splitlines()[-1]
    assert "schedulers[1] must be a class in a file, which other processes can import: put Reserve into" in last
    assert last.endswith("got Reserve of a notebook or an interactive session")
