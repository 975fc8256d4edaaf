"""Specs and runs as TOML: what is written can be read, means the same, and depends on no other file."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from ehfl import STEP_SIZES
from ehfl.experiment import make_spec, read_spec, write_spec
from ehfl.experiment.spec.models import EvaluationSpec, FleetSpec, LearningSpec, Setting

shares = st.floats(0, 1)
steps = st.one_of(
    st.floats(1e-6, 10),
    st.sampled_from(sorted(STEP_SIZES.members)),
    st.fixed_dictionaries(
        {"name": st.just("nominal")}, optional={"initial": st.floats(1e-3, 1), "every": st.integers(1, 9)}
    ),
)
printable = st.characters(exclude_characters="$[]\\", exclude_categories=["C", "Z"])
labels = st.text(printable, min_size=1, max_size=8).map(lambda text: f"{text}x")
schedulers = st.sampled_from(["myopic", "greedy", "round-robin:1", {"name": "always-on", "target": 1}])
partitions = st.sampled_from(["iid", "shards:3", {"name": "dirichlet", "alpha": 0.5}])


def per_client(draw: st.DrawFn, values: st.SearchStrategy[Any], clients: int) -> Any:
    """Return one value, one per client or a spread."""
    spread = st.fixed_dictionaries({"low": values, "high": values})
    return draw(st.one_of(values, st.lists(values, min_size=clients, max_size=clients), spread))


def drawn_fleet(draw: st.DrawFn, clients: int) -> dict[str, Any]:
    rate = per_client(draw, shares, clients)
    replay = {"name": "replay", "arrivals": [[t % 2] * clients for t in range(9)]}
    harvest: dict[str, Any] = draw(
        st.sampled_from([{"rate": rate}, {"harvest": {"name": "bernoulli", "rate": rate}}, {"harvest": replay}, {}])
    )
    levels = {
        "capacity": per_client(draw, st.integers(4, 7), clients) if draw(st.booleans()) else math.inf,
        "initial": per_client(draw, st.integers(0, 3), clients),
        "cost": per_client(draw, st.integers(1, 3), clients),
    }
    named = draw(st.sets(st.sampled_from(sorted(levels))))
    return {"clients": clients, **harvest, **{name: levels[name] for name in named}, "unit": draw(labels)}


@st.composite
def arms(draw: st.DrawFn, place: int, clients: int) -> dict[str, Any]:
    """Return an arm that changes some keys, given in any of the ways in which they can be."""
    changes: dict[str, Any] = {
        "scheduler": draw(schedulers),
        "step_size": draw(steps),
        "aggregation": draw(st.sampled_from(["mean", "weighted"])),
        "rounds": draw(st.integers(1, 9)),
        "target": draw(st.just("auto") | st.integers(1, clients)),
        "fleet": {"capacity": per_client(draw, st.integers(4, 7), clients)},
        "fleet.rate": per_client(draw, shares, clients),
        "fleet.cost": draw(st.integers(1, 3)),
        "learning.local_steps": draw(st.integers(1, 3)),
        "learning": {"partition": draw(partitions), "clip": draw(st.just("none") | st.floats(0.1, 9))},
        "learning.batch_size": draw(st.integers(1, 99)),
        "learning.task": draw(st.sampled_from(["quadratic", "digits"])),
        "evaluation.every": draw(st.integers(1, 9)),
    }
    named = draw(st.sets(st.sampled_from(sorted(changes))))
    return {"label": f"{place} {draw(labels)}"} | {key: changes[key] for key in sorted(named)}


@st.composite
def spec_facts(draw: st.DrawFn) -> dict[str, Any]:
    """Return a spec that can be run, with arms in either form."""
    clients = draw(st.integers(1, 6))
    listed: dict[str, Any] = {"schedulers": draw(st.lists(schedulers, min_size=1, max_size=3, unique_by=str))}
    if draw(st.booleans()):
        several = [draw(arms(i, clients)) for i in range(draw(st.integers(1, 3)))]
        listed = {"arms": several, "scheduler": draw(schedulers)}
    return {
        **listed,
        "seeds": draw(st.one_of(st.integers(1, 4), st.lists(st.integers(0, 2**64 - 1), min_size=1, unique=True))),
        "rounds": draw(st.integers(1, 9)),
        "target": draw(st.one_of(st.just("auto"), st.integers(1, clients))),
        "fleet": drawn_fleet(draw, clients),
        "learning": {
            "step_size": draw(steps),
            "partition": draw(partitions),
            "aggregation": draw(st.sampled_from(["mean", "weighted"])),
            "clip": draw(st.none() | st.floats(0.1, 9)),
            "data": draw(st.none() | labels),
        },
        "evaluation": {"goal": draw(st.just("auto") | st.floats(-9, 9) | st.integers(0, 9))},
    }


@settings(max_examples=100)
@given(facts=spec_facts())
def test_a_written_spec_reads_back_to_the_same(facts: dict[str, Any]) -> None:
    spec = make_spec(facts)
    text = write_spec(spec.facts())
    again = make_spec(tomllib.loads(text))

    assert again.facts() == spec.facts()
    assert write_spec(again.facts()) == text
    assert [arm.setting.facts() for arm in again.arms] == [arm.setting.facts() for arm in spec.arms]
    assert [run.identity() for run in again.runs()] == [run.identity() for run in spec.runs()]


@settings(max_examples=50)
@given(facts=spec_facts())
def test_the_written_spec_of_a_run_is_that_run(facts: dict[str, Any]) -> None:
    run = make_spec(facts).runs()[-1]
    again = make_spec(tomllib.loads(write_spec(run.facts())))

    assert again.facts() == run.facts()
    (same,) = again.runs()
    assert (same.identity(), same.folder_name) == (run.identity(), run.folder_name)


def test_a_written_spec_spells_everything_out() -> None:
    facts = make_spec({"seeds": 2, "schedulers": ["greedy"], "learning": {"step_size": 0.1, "batch_size": 9}}).facts()

    assert tomllib.loads(write_spec(facts)) == facts
    assert facts["seeds"] == [0, 1]
    assert facts["arms"] == [{"label": "greedy", "scheduler": {"name": "greedy"}}]
    assert facts["learning"]["step_size"] == {"name": "constant", "value": 0.1}
    assert facts["fleet"] == {
        "clients": 10, "harvest": {"name": "bernoulli", "rate": 0.5}, "capacity": math.inf, "initial": 0, "cost": 1,
        "unit": "units",
    }  # fmt: skip
    models: dict[str, type[BaseModel]] = {
        "": Setting,
        "fleet": FleetSpec,
        "learning": LearningSpec,
        "evaluation": EvaluationSpec,
    }
    for section, model in models.items():
        there = facts[section] if section else facts
        heading = set() if section else {"name", "seeds", "arms"}
        # TOML has no None; the harvest is written out, and has the rate
        unset = {name for name, field in model.model_fields.items() if field.default is None} - {"harvest"}
        assert set(there) == set(model.model_fields) - unset | heading


def test_an_arm_is_written_as_what_it_has_otherwise_than_the_rest() -> None:
    facts = make_spec({
        "arms": [
            {"scheduler": "myopic", "step_size": 0.1, "fleet.rate": 0.25, "fleet.capacity": "inf"},
            {"label": "deep", "fleet": {"capacity": 9}, "learning.batch_size": 10},
        ],
    }).facts()  # fmt: skip

    assert facts["arms"] == [
        {
            "label": "myopic",
            "scheduler": {"name": "myopic", "target": "auto"},
            "fleet.harvest": {"name": "bernoulli", "rate": 0.25},
            "learning.step_size": {"name": "constant", "value": 0.1},
        },
        {"label": "deep", "fleet.capacity": 9, "learning.batch_size": 10},
    ]


def test_an_arm_with_its_own_number_of_clients_keeps_it() -> None:
    """The base leaves the number of clients open, and is written with 10."""
    three = {"label": "three", "fleet": {"rate": [0.1, 0.5, 0.9], "clients": 3}, "target": 1}
    spec = make_spec({"arms": [three, {"label": "ten"}]})

    again = make_spec(spec.facts())

    assert [arm.setting.fleet.clients for arm in again.arms] == [3, 10]


@pytest.mark.parametrize("key", ["fleet.rate", "fleet.capacity"])
def test_what_is_written_needs_no_file_that_the_spec_named(key: str, tmp_path: Path) -> None:
    (tmp_path / "each.csv").write_text("1\n1\n")
    (tmp_path / "mine.toml").write_text(f'fleet.clients = 2\n[[arms]]\nscheduler = "greedy"\n{key} = "each.csv"\n')
    spec = read_spec(tmp_path / "mine.toml")
    (tmp_path / "each.csv").unlink()

    again = make_spec(tomllib.loads(write_spec(spec.facts())))

    assert again.runs()[0].identity() == spec.runs()[0].identity()
    assert again.facts() == spec.facts()
