"""Before a comparison starts, what is the user's own is tried, and what cannot be learned is refused under its key."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest

from ehfl.cli import main
from ehfl.experiment import check as checking
from ehfl.experiment import make_spec, run_all
from ehfl.validation import SpecError, UserError

NUMBERS = itertools.count()

# One class of each kind that breaks a rule; the test puts it where its kind is named.
BROKEN = """
import os
import numpy as np
import torch
from ehfl.learning.tasks.digits import Digits


class Harvest:
    rng = np.random.default_rng(0)

    def units(self, seed, rounds, clients):
        return self.rng.integers(0, 2, (len(rounds), len(clients)))

    def mean_rates(self, n_clients):
        return np.full(n_clients, 0.5)


class Everyone:
    def __init__(self, extra: int = 0):
        pass

    def select(self, view):
        return np.arange(view.energy.size) if view.round else []


class OnlyHere:
    def __init__(self):
        if "EHFL_TEST_ELSEWHERE" in os.environ:
            raise RuntimeError("not here")

    def select(self, view):
        return []


class Whole:
    def partition(self, targets, n_clients, seed):
        return [np.arange(len(targets))] * n_clients


class Moody:
    def partition(self, targets, n_clients, seed):
        return np.array_split(np.random.default_rng().permutation(len(targets)), n_clients)


class OnlySeedZero:
    def partition(self, targets, n_clients, seed):
        return np.array_split(np.arange(len(targets) - (seed == 2)), n_clients)


class Uphill:
    causal = True

    def __call__(self, counts, rounds=None):
        return np.full(len(counts), -0.1)


class Drawn(Uphill):
    def __call__(self, counts, rounds=None):
        return np.random.default_rng().random(len(counts))


class Listed(Uphill):  # as many steps as there are rounds, and no more
    def __call__(self, counts, rounds=None):
        return [0.1, 0.2, 0.3, 0.2, 0.1]


class Adds:
    def init(self, n_clients, n_params):
        return {}

    def apply(self, x, updates, state):
        for update in updates:
            x += update.delta
        return x, state


class Mixes(Digits):
    def model(self, rng):
        return torch.nn.Sequential(super().model(rng), torch.nn.BatchNorm1d(10, track_running_stats=False))
"""


@pytest.fixture
def broken(tmp_path: Path) -> str:
    name = f"broken_{next(NUMBERS)}"
    (tmp_path / f"{name}.py").write_text(BROKEN)
    return name


def facts(**changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = {
        "rounds": 5,
        "seeds": 3,
        "scheduler": "greedy",
        "fleet": {"clients": 4},
        "learning": {"task": "quadratic", "step_size": 0.1},
    }
    for key, value in changes.items():
        section, _, last = key.rpartition(".")
        (found[section] if section else found)[last] = value
    return found


NAMES = "names {}, which breaks the rules: "
CASES = {
    "fleet.harvest": ("Harvest", NAMES + "is not a pure function of (seed, client, round): round "),
    "scheduler": ("Everyone", NAMES + "spends energy that is not there: round 1, client 1 was picked with 0 units"),
    "learning.task": ("Mixes", NAMES + "model must be one whose output for an example does not depend on"),
    "learning.partition": ("Moody", NAMES + "is not reproducible: seed 0, asked twice, client "),
    "learning.aggregation": ("Adds", NAMES + "must leave what it is given as it is: round 0, x was changed"),
    "learning.step_size": ("Uphill", "must be a number in [0, 1e30] for each round (5), got -0.1 in round 0"),
}


@pytest.mark.parametrize("key", CASES)
def test_a_thing_of_ones_own_that_breaks_a_rule_is_refused_under_its_key(key: str, broken: str, tmp_path: Path) -> None:
    name, message = CASES[key]
    spec = make_spec(facts(**{key: f"{broken}:{name}"}), tmp_path)

    with pytest.raises(UserError) as caught:
        run_all(spec, tmp_path / "runs", jobs=1)

    assert str(caught.value).startswith(f"{key} {message.format(f'{broken}:{name}')}")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "runs").exists()


def test_a_rule_is_tried_on_as_many_rounds_as_there_will_be(broken: str, tmp_path: Path) -> None:
    listed = facts(seeds=1, **{"learning.step_size": f"{broken}:Listed"})
    run_all(make_spec(listed, tmp_path), tmp_path / "runs", jobs=1)

    with pytest.raises(UserError, match=r"^learning.step_size must be the same when it is asked again, got other step"):
        run_all(make_spec(facts(**{"learning.step_size": f"{broken}:Drawn"}), tmp_path), tmp_path / "drawn", jobs=1)


@pytest.mark.parametrize("form", ["arms", "schedulers"])
def test_it_bears_the_place_of_the_arm_that_brings_it(form: str, broken: str, tmp_path: Path) -> None:
    given = facts()
    del given["scheduler"]
    names = ["greedy", f"{broken}:Everyone:extra=1"]
    given[form] = names if form == "schedulers" else [{"scheduler": name} for name in names]

    with pytest.raises(SpecError) as caught:
        run_all(make_spec(given, tmp_path), tmp_path / "runs", jobs=1)

    assert caught.value.key == ("schedulers[2]" if form == "schedulers" else "arms[2].scheduler")


def test_so_does_a_scheduler_that_cannot_be_made_where_it_is_tried(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a worker, say, that lacks what this process has."""
    given = facts(schedulers=["greedy", f"{broken}:OnlyHere"])
    del given["scheduler"]
    spec = make_spec(given, tmp_path)
    monkeypatch.setenv("EHFL_TEST_ELSEWHERE", "1")

    with pytest.raises(SpecError, match=r"^schedulers\[2\] cannot be constructed: .*: not here"):
        checking.check_schedulers(spec.runs())


def test_the_command_line_names_the_option(
    broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for option, name in {"--scheduler": "Everyone", "--harvest": "Harvest", "--partition": "Whole"}.items():
        with pytest.raises(SystemExit) as caught:
            main(["train", "--task", "quadratic", "--rounds", "5", option, f"{broken}:{name}"])

        assert caught.value.code == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert line.startswith(f"ehfl: error: {option} ")


def test_each_distinct_thing_is_tried_once(broken: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    monkeypatch.setattr(checking, "check_harvest", lambda table, **_: asked.append(table))
    monkeypatch.setattr(checking, "check_scheduler", lambda table, **_: asked.append(table))
    given = facts(**{"fleet.harvest": f"{broken}:Harvest"})
    del given["scheduler"]
    arms = {"one": "Everyone", "the same": "Everyone", "another": "Everyone:extra=1"}
    given["arms"] = [{"label": label, "scheduler": f"{broken}:{text}"} for label, text in arms.items()]
    spec = make_spec(given, tmp_path)

    checking.check_comparison(spec)
    checking.check_schedulers(spec.runs())

    harvest, everyone = f"{broken}:Harvest", f"{broken}:Everyone"
    assert asked == [{"name": harvest}, {"name": everyone, "extra": 0}, {"name": everyone, "extra": 1}]


# the deal of data


@pytest.mark.parametrize(
    ("partition", "message"),
    [
        ("Whole", "got example 0 dealt to clients 0 and 1 (Whole, seed 0)"),
        ("OnlySeedZero", "got 1 of 1000 examples not dealt, such as 999 (OnlySeedZero, seed 2)"),
    ],
)  # fmt: skip
def test_data_are_dealt_under_every_seed_before_anything_starts(
    partition: str, message: str, broken: str, tmp_path: Path
) -> None:
    spec = make_spec(facts(**{"learning.partition": f"{broken}:{partition}"}), tmp_path)

    with pytest.raises(UserError) as caught:
        run_all(spec, tmp_path / "runs", jobs=1)

    assert str(caught.value) == f"learning.partition must be one that deals every example to one client, {message}"
    assert not (tmp_path / "runs").exists()


def test_a_deal_that_fails_under_some_seeds_only_names_the_seed(tmp_path: Path) -> None:
    """With alpha = 0.001 seeds 0 and 1 find a deal of the digits within a thousand draws, and seed 2 does not."""
    learning = {"task": "digits", "partition": "dirichlet:0.001"}
    spec = make_spec({"rounds": 2, "seeds": 3, "scheduler": "greedy", "learning": learning})

    with pytest.raises(UserError) as caught:
        run_all(spec, tmp_path / "runs", jobs=1)

    assert str(caught.value) == (
        "learning.partition.alpha must be so large that at least 10 of the 1437 examples for each of 10 clients is "
        "reachable, got 0.001: 1000 draws of seed 2 failed (take a larger alpha, a smaller min_partition_size or fewer "
        "clients)"
    )
    assert not (tmp_path / "runs").exists()
