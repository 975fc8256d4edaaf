"""What makes two runs the same: every key decides the numbers, but for those that are listed here."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

import made_weather
from ehfl.experiment import Run, make_spec
from ehfl.experiment.run.inputs import inputs_of
from ehfl.experiment.spec.models import EvaluationSpec, FleetSpec, FlowerSpec, LearningSpec, Setting, Spec
from ehfl.experiment.spec.values import PHYSICAL

FACTS: dict[str, Any] = {
    "name": "one",
    "seeds": [3],
    "code": "/",
    "scheduler": "ehfl.scheduling.schedulers.paper:Myopic",  # named as the user's own is, so that `code` matters
}
# Another value of every key. A key that is missing here is a new one: say what another value of it is, and below, in
# NO_MATTER, if it does not decide the numbers.
ANOTHER: dict[type[BaseModel], dict[str, Any]] = {
    Setting: {
        "rounds": 3,
        "target": 4,
        "scheduler": "greedy",
        "fleet": {"cost": 2},
        "learning": {"local_steps": 1},
        "evaluation": {"every": 1},
        "flower": {"pace": 1.0},
        "checkpoint_every": 3,
    },
    FleetSpec: {
        "clients": 9,
        "harvest": {"name": "bernoulli", "rate": 0.4},
        "rate": 0.4,
        "capacity": 3.0,
        "initial": 1,
        "cost": 2,
        "unit": "mJ",
        "round_length": 60.0,
        "quantum": 0.5,
        "efficiency": 0.9,
        "self_discharge": 0.1,
        "reserve": 0.2,
        "health": 0.8,
        "standby": 0.3,
        "arrival": 2.0,
        "step_cost": 0,
    },
    LearningSpec: {
        "task": "quadratic",
        "data": "elsewhere",
        "local_steps": 1,
        "local_epochs": 2,
        "local": "adamw",
        "local_decay": 0.5,
        "buffers": "local",
        "batch_size": 7,
        "step_size": {"name": "theorem", "eta": 1.0},
        "partition": "shards:2",
        "order": "by-label",
        "aggregation": "weighted",
        "clip": 1.0,
        "weight_decay": 0.1,
        "precision": "bf16",
        "device": "cpu",
    },
    EvaluationSpec: {"every": 1, "goal": 0.5},
    FlowerSpec: {"deadline": 5.0, "pace": 2.0, "least_nodes": 3, "spare": 1, "norm_limit": 10.0},
}
SECTIONS: dict[type[BaseModel], str] = {
    FleetSpec: "fleet.",
    LearningSpec: "learning.",
    EvaluationSpec: "evaluation.",
    FlowerSpec: "flower.",
    Setting: "",
}
IN_JOULES = {"fleet.round_length": 1.0, "fleet.capacity": 5.0, "fleet.arrival": 1.0}
HEADING = {"name": "other", "seeds": [7], "code": "/tmp", "arms": [{"label": "another"}]}
NO_MATTER = {
    "name",
    "code",  # what lies there does; see inputs
    "arms",  # how the arm is called
    "learning.data",  # where they lie; what they are is in inputs
    "evaluation.goal",
    "checkpoint_every",
    "flower",  # how long a server waits for devices; whoever starts it again may change that
    *(f"flower.{name}" for name in FlowerSpec.model_fields),
}


def put(facts: dict[str, Any], key: str, value: Any) -> None:
    *sections, last = key.split(".")
    for section in sections:
        facts = facts.setdefault(section, {})
    facts[last] = value


def run_with(changes: dict[str, Any]) -> Run:
    facts = copy.deepcopy(FACTS)
    for key, value in changes.items():
        put(facts, key, value)
    (run,) = make_spec(facts).runs()
    return run


@pytest.mark.parametrize(
    "key", [f"{section}{name}" for model, section in SECTIONS.items() for name in model.model_fields]
)
def test_identity_is_all_that_decides_the_numbers_and_nothing_else(key: str) -> None:
    model = next(model for model, section in SECTIONS.items() if key.startswith(section))
    value = ANOTHER[model][key.rpartition(".")[2]]
    # What only a fleet in joules has is looked at in one.
    world = IN_JOULES if key.startswith("fleet.") and key.split(".")[1] in PHYSICAL else {}
    run, other = run_with(world), run_with(world | {key: value} | ({"fleet.arrival": 1.0} if "length" in key else {}))

    assert run.setting != other.setting  # it is another value
    assert (other.identity() == run.identity()) == (key in NO_MATTER)


@pytest.mark.parametrize("key", HEADING)
def test_of_the_heading_only_the_seed_decides_the_numbers(key: str) -> None:
    run, other = run_with({}), run_with({key: HEADING[key]})

    assert run.facts() != other.facts()
    assert (other.identity() == run.identity()) == (key in NO_MATTER)


def test_every_key_that_a_run_has_is_looked_at() -> None:
    facts = run_with({}).facts()

    assert set(facts) == set(HEADING) | set(Setting.model_fields) - {"checkpoint_every"}  # left out unless given
    assert set(Spec.__dataclass_fields__) == set(HEADING) | {"base"}
    nested = {name for name, one in Setting.model_fields.items() if isinstance(one.default, BaseModel)}
    assert {section.rstrip(".") for section in SECTIONS.values() if section} == nested


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("scheduler", {"name": "round-robin", "per_round": 2}),
        ("fleet.harvest", {"name": "bernoulli", "rate": 0.4}),
        ("learning.step_size", {"name": "nominal", "window": 3}),
        ("learning.partition", {"name": "dirichlet", "alpha": 0.5, "min_partition_size": 3}),
        ("learning.task", {"name": "cifar10", "records": 3}),
        ("learning.task", {"name": "cifar10", "network": "small"}),
    ],
)
def test_so_do_the_parameters_of_what_is_named(key: str, value: dict[str, Any]) -> None:
    """Each is set beside the same with another value of its last parameter."""
    last = list(value)[-1]
    one, other = run_with({key: value}), run_with({key: value | {last: value[last] + 0.5 if last == "rate" else 4}})

    assert one.identity() != other.identity()


def test_where_a_recorded_harvest_lies_is_no_part_of_it(tmp_path: Path) -> None:
    for name in ("here.csv", "there.csv"):
        (tmp_path / name).write_text("1,0\n")
    here, there = (
        run_with({"rounds": 1, "fleet.harvest": {"name": "replay", "arrivals": str(tmp_path / name)}})
        for name in ("here.csv", "there.csv")
    )

    assert here.facts() != there.facts()
    assert here.identity() == there.identity()
    assert here.identity() != run_with({"rounds": 1, "fleet.clients": 2}).identity()


def test_where_several_files_lie_is_no_part_of_a_harvest_and_each_is_watched(tmp_path: Path) -> None:
    runs = []
    for folder in ("here", "there"):
        (tmp_path / folder).mkdir()
        path = made_weather.epw(tmp_path / folder / "a.epw")
        fleet: dict[str, Any] = {"clients": 2, "round_length": 3600, "capacity": 9, "cost": 1}
        fleet["harvest"] = {"name": "sun", "watts": 1, "start": "07-01", "site": ["alaska", str(path)]}
        runs.append(run_with({"rounds": 1, **{f"fleet.{name}": value for name, value in fleet.items()}}))
    here, there = runs

    assert here.identity()["fleet"]["harvest"]["site"] == ["alaska", "a file"]
    assert here.identity() == there.identity()
    before = inputs_of(here, "data")
    assert "fleet.harvest.site.1" in before
    assert before == inputs_of(there, "data")
    path.write_text(path.read_text().replace("20.0,10.0", "21.0,10.0"))
    assert before != inputs_of(there, "data")


def test_a_default_that_is_written_out_changes_nothing() -> None:
    spelled_out = {"rounds": 100, "fleet.rate": 0.5, "fleet.capacity": "inf", "learning.step_size": "nominal:0.15"}

    assert run_with(spelled_out).identity() == run_with({}).identity()


def test_what_an_arm_changes_is_as_if_the_spec_had_it() -> None:
    arms = make_spec({"arms": [{"label": "deep", "scheduler": "greedy", "step_size": 0.1, "fleet.capacity": 9}]})
    plain = make_spec({"scheduler": "greedy", "fleet": {"capacity": 9}, "learning": {"step_size": 0.1}})

    assert arms.runs()[0].identity() == plain.runs()[0].identity()


def test_runs_are_every_arm_under_every_seed_seed_by_seed() -> None:
    spec = make_spec({"seeds": [5, 2], "schedulers": ["greedy", "myopic", "round-robin:1"], "rounds": 9})

    assert [(run.seed, run.arm.label, run.folder_name) for run in spec.runs()] == [
        (5, "greedy", "greedy-s5"),
        (5, "myopic", "myopic-s5"),
        (5, "round-robin:1", "round-robin-1-s5"),
        (2, "greedy", "greedy-s2"),
        (2, "myopic", "myopic-s2"),
        (2, "round-robin:1", "round-robin-1-s2"),
    ]
    assert all(run.spec is spec and run.setting is run.arm.setting for run in spec.runs())
    assert len({str(run.identity()) for run in spec.runs()}) == 6
