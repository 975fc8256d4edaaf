"""Changes to a spec by key: what they reach, what they take away, and what cannot stand together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ehfl.experiment import SpecError, make_spec, read_spec, run_all
from ehfl.runs import OtherRun


def refused(facts: dict[str, Any], *overrides: str) -> str:
    with pytest.raises(SpecError) as caught:
        read_spec(facts, overrides)
    return str(caught.value)


@pytest.mark.parametrize(
    ("override", "table"),
    [
        ("learning.step_size.initial=0.3", {"name": "nominal", "initial": 0.3}),
        ("learning.step_size.name=theorem", {"name": "theorem", "eta": 1.0}),
    ],
)
def test_a_parameter_can_be_set_of_what_the_spec_leaves_at_its_default(override: str, table: dict[str, Any]) -> None:
    step_size = read_spec(overrides=[override]).base.learning.step_size

    assert {key: step_size[key] for key in table} == table


def test_a_rate_and_a_harvest_replace_each_other_but_cannot_both_be_given() -> None:
    sunny = {"fleet": {"harvest": "bernoulli:0.9"}}

    assert read_spec(sunny, ["fleet.rate=0.2"]).base.fleet.harvest_table() == {"name": "bernoulli", "rate": 0.2}
    assert read_spec(sunny, ["fleet.harvest.rate=0.3"]).base.fleet.harvest_table()["rate"] == 0.3
    assert refused({}, "fleet.rate=0.2", "fleet.harvest=bernoulli:0.9").startswith("fleet.rate must be left out")


def test_a_scheduler_beside_a_list_of_them_would_do_nothing_and_is_refused() -> None:
    assert refused({"schedulers": ["greedy"]}, "scheduler=myopic").startswith("scheduler must be left out where")


def test_an_arm_can_do_without_what_the_others_have() -> None:
    arms = [{"label": "clipped"}, {"label": "free", "learning.clip": "none"}]
    spec = make_spec({"learning": {"clip": 0.5, "task": "quadratic"}, "arms": arms})

    assert [arm.setting.learning.clip for arm in spec.arms] == [0.5, None]
    again = make_spec(spec.facts())
    assert [arm.setting.learning.clip for arm in again.arms] == [0.5, None]


def test_a_list_says_how_many_clients_there_are_in_the_base_alone() -> None:
    assert make_spec({"fleet": {"capacity": [1, 2, 3]}}).base.fleet.clients == 3
    message = refused({"arms": [{"label": "a"}, {"label": "b", "fleet.capacity": [1, 2]}]})
    assert message == "arms[2].fleet.capacity must be one number or one per client (10), got a list of 2"


OWN_HARVEST = """
from dataclasses import dataclass
from pathlib import Path
import numpy as np

@dataclass(frozen=True)
class Logged:
    log: Path

    def units(self, seed, rounds, clients):
        return np.full((len(rounds), len(clients)), int(Path(self.log).read_text()))

    def mean_rates(self, n_clients):
        return np.full(n_clients, float(Path(self.log).read_text()))
"""


def test_a_file_that_a_class_of_ones_own_reads_is_watched(tmp_path: Path) -> None:
    (tmp_path / "logged_harvest.py").write_text(OWN_HARVEST)
    (tmp_path / "units.txt").write_text("1")
    (tmp_path / "mine.toml").write_text(
        'rounds = 3\nseeds = 1\nschedulers = ["greedy"]\nlearning.task = "quadratic"\n'
        'fleet.harvest = { name = "logged_harvest:Logged", log = "units.txt" }\n'
    )
    run_all(read_spec(tmp_path / "mine.toml"), tmp_path / "runs", jobs=1)

    (tmp_path / "units.txt").write_text("0")

    with pytest.raises(OtherRun, match=r"was run with another version of fleet\.harvest\.log"):
        run_all(read_spec(tmp_path / "mine.toml"), tmp_path / "runs", jobs=1)
