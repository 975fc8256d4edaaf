"""Specs: what is read, changed and written, and what makes two runs the same."""

from __future__ import annotations

import math
import tomllib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from ehfl.experiment import Spec, SpecError, read_spec, write_spec
from ehfl.experiment.building import fleet_of, policy_of, steps_of, target_of
from ehfl.experiment.reading import make_spec
from ehfl.experiment.spec import ArmSpec, EvaluationSpec, FleetSpec, LearningSpec, TheorySpec
from ehfl.theory import STEP_SIZES

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
RATE = "fleet.rate must be a number, a list with one per client or { low = 0.1, high = 0.9 }"


def written(folder: Path, text: str) -> Path:
    path = folder / "told.toml"
    path.write_text(text, encoding="utf-8")
    return path


# reading


@pytest.mark.parametrize("path", sorted(EXPERIMENTS.glob("*.toml")), ids=lambda path: path.stem)
def test_every_experiment_reads_and_is_named_after_its_file(path: Path) -> None:
    assert read_spec(path).name == path.stem


def test_there_are_experiments_to_read() -> None:
    assert {"demo", "paper", "heterogeneous"} <= {path.stem for path in EXPERIMENTS.glob("*.toml")}


def test_the_demo_in_the_file_is_the_demo_without_one() -> None:
    assert read_spec(EXPERIMENTS / "demo.toml") == read_spec()


def test_what_is_not_told_is_the_default(tmp_path: Path) -> None:
    told = read_spec(written(tmp_path, "rounds = 7\n[fleet]\nclients = 4"))

    assert (told.name, told.rounds, told.seeds) == ("told", 7, (0, 1, 2, 3, 4))
    assert (told.fleet.clients, told.fleet.rate, told.fleet.capacity) == (4, 0.5, math.inf)
    assert told.theory is None  # the demo's constants are not those of another spec


def test_folders_bear_letters_and_digits_of_any_alphabet() -> None:
    told = make_spec(
        {"schedulers": [{"policy": "greedy", "label": label} for label in ("Größe_2, x", "贪婪", "a/../b")]}
    )

    assert [arm.slug for arm in told.schedulers] == ["größe-2-x", "贪婪", "a-..-b"]


def test_values_have_several_spellings_and_one_form() -> None:
    told = make_spec({
        "seeds": 3,
        "schedulers": ["greedy", {"policy": "round-robin:1", "step_size": 0.1}],
        "fleet": {"clients": 2, "rate": [0, 1], "capacity": "inf"},
        "learning": {"step_size": {"rule": "Nominal_Causal", "window": 4}},
    })  # fmt: skip

    assert told.seeds == (0, 1, 2)
    assert [arm.label for arm in told.schedulers] == ["greedy", "round-robin:1"]
    assert [arm.slug for arm in told.schedulers] == ["greedy", "round-robin-1"]
    assert told.schedulers[1].step_size == {"rule": "constant", "value": 0.1}
    assert (told.fleet.rate, told.fleet.capacity) == ((0.0, 1.0), math.inf)
    assert told.learning.step_size == {
        "rule": "nominal-causal", "initial": 0.15, "decay": 0.99, "every": 10, "window": 4
    }  # fmt: skip


def test_a_spec_becomes_the_things_it_names() -> None:
    told = make_spec({
        "schedulers": ["myopic", {"policy": "round-robin:1", "step_size": 0.5}],
        "fleet": {"clients": 3, "rate": {"low": 0.2, "high": 1.0}, "capacity": 4, "initial": 2, "cost": 2},
        "learning": {"step_size": 0.25},
    })  # fmt: skip
    fleet = fleet_of(told)

    assert fleet.harvest.mean_rates(3).tolist() == pytest.approx([0.2, 0.6, 1.0])
    assert (fleet.capacity, fleet.total_initial, fleet.cost) == (4, 6, 2)
    assert target_of(told) == 1  # 1.8 units a round, 2 each, at least one
    assert [repr(policy_of(told, arm)) for arm in told.schedulers] == [
        "Myopic(target='auto')",
        "RoundRobin(per_round=1)",
    ]
    assert [steps_of(told, arm)([1, 0]).tolist() for arm in told.schedulers] == [[0.25, 0.0], [0.5, 0.0]]
    assert repr(policy_of(make_spec({"target": 2}), told.schedulers[0])) == "Myopic(target=2)"


# overrides


@pytest.mark.parametrize(
    ("override", "place", "value"),
    [
        ("rounds=20", ("rounds",), 20),
        (" rounds = 20 ", ("rounds",), 20),
        ("seeds=[3, 1]", ("seeds",), (3, 1)),
        ("fleet.capacity=3", ("fleet", "capacity"), 3.0),
        ("fleet.capacity=inf", ("fleet", "capacity"), math.inf),
        ("fleet.rate={ low = 0.1, high = 0.9 }", ("fleet", "rate"), {"low": 0.1, "high": 0.9}),
        ("learning.weighted=true", ("learning", "weighted"), True),
        ("learning.task=quadratic", ("learning", "task"), "quadratic"),
        ("learning.task = quadratic ", ("learning", "task"), "quadratic"),
        ("learning.task='quadratic'", ("learning", "task"), "quadratic"),
        ("learning.data=/some/where", ("learning", "data"), "/some/where"),
        ("learning.partition=dirichlet:0.3", ("learning", "partition"), "dirichlet:0.3"),
        ("learning.step_size.rule=theorem", ("learning", "step_size"), {"rule": "theorem", "eta": 1.0}),
        ("evaluation.goal=0.9", ("evaluation", "goal"), 0.9),
    ],
)
def test_an_override_is_toml_or_a_bare_word(override: str, place: tuple[str, ...], value: object) -> None:
    told: Any = read_spec(overrides=[override])
    for part in place:
        told = getattr(told, part)

    assert told == value


def test_overrides_change_a_file_and_the_later_wins(tmp_path: Path) -> None:
    path = written(tmp_path, "rounds = 7\n[learning]\nlocal_steps = 3\nbatch_size = 4")
    told = read_spec(path, ["learning.local_steps=1", "rounds=8", "rounds=9"])

    assert (told.rounds, told.learning.local_steps, told.learning.batch_size) == (9, 1, 4)


@pytest.mark.parametrize(
    ("override", "told"),
    [
        ("rounds", "override must be KEY=VALUE such as learning.local_steps=1, got rounds"),
        ("=3", "override must be KEY=VALUE such as learning.local_steps=1, got =3"),
        ("fleet..rate=1", "override must be KEY=VALUE such as learning.local_steps=1, got fleet..rate=1"),
        ("fleet=3", "fleet must be a table of keys, got 3"),
        ("fleet.rate=x", f"{RATE}, got 'x'"),
        ("learning.loca_steps=3", "learning.loca_steps is not a key of learning"),
        ("a\nb", "override must be KEY=VALUE such as learning.local_steps=1, got a b"),
    ],
)
def test_a_bad_override_is_refused(override: str, told: str) -> None:
    with pytest.raises(SpecError) as caught:
        read_spec(overrides=[override])

    assert str(caught.value).startswith(told) and "\n" not in str(caught.value)


def test_an_override_inside_what_is_no_section_is_refused(tmp_path: Path) -> None:
    path = written(tmp_path, 'rounds = 7\nlearning.step_size = "nominal"')

    for key in ("rounds.more", "learning.step_size.initial"):
        with pytest.raises(SpecError, match=f"^override must name a key of a section, got {key}$"):
            read_spec(path, [f"{key}=3"])


# writing


rates = st.floats(0, 1)
steps = st.one_of(
    st.floats(1e-6, 10),
    st.sampled_from(sorted(STEP_SIZES)),
    st.fixed_dictionaries(
        {"rule": st.just("nominal")}, optional={"initial": st.floats(1e-3, 1), "every": st.integers(1, 9)}
    ),
)
printable = st.characters(exclude_characters="$[]\\", exclude_categories=["C", "Z"])
labels = st.text(printable, min_size=1, max_size=8).map(lambda text: f"{text}x")


@st.composite
def told_facts(draw: st.DrawFn) -> dict[str, Any]:
    clients = draw(st.integers(1, 6))
    rate = draw(
        st.one_of(
            rates,
            st.lists(rates, min_size=clients, max_size=clients),
            st.fixed_dictionaries({"low": rates, "high": rates}),
        )
    )
    names = draw(st.lists(st.sampled_from(["myopic", "greedy", "round-robin:1"]), min_size=1, unique=True))
    arms = [
        {"policy": name} | ({"label": f"{i} {draw(labels)}", "step_size": draw(steps)} if draw(st.booleans()) else {})
        for i, name in enumerate(names)
    ]
    return {
        "seeds": draw(st.one_of(st.integers(1, 4), st.lists(st.integers(0, 2**64 - 1), min_size=1, unique=True))),
        "schedulers": arms,
        "target": draw(st.one_of(st.just("auto"), st.integers(1, clients))),
        "fleet": {"clients": clients, "rate": rate, "capacity": draw(st.sampled_from([1, 7, math.inf]))},
        "learning": {
            "step_size": draw(steps),
            "clip": draw(st.none() | st.floats(0.1, 9)),
            "data": draw(st.none() | labels),
        },
        "evaluation": {"goal": draw(st.just("auto") | st.floats(-9, 9) | st.integers(0, 9))},
        "theory": draw(st.none() | st.just({"smoothness": 2.0, "variance": 0, "gap": 1e-3})),
    }


@settings(max_examples=100)
@given(facts=told_facts())
def test_a_written_spec_reads_back_equal(facts: dict[str, Any]) -> None:
    spec = make_spec(facts)
    text = write_spec(spec)

    assert make_spec(tomllib.loads(text)) == spec
    assert write_spec(make_spec(tomllib.loads(text))) == text


def test_a_written_spec_spells_everything_out() -> None:
    text = write_spec(make_spec({"seeds": 2, "schedulers": ["greedy"], "learning": {"step_size": 0.1}}))
    facts = tomllib.loads(text)

    assert facts["seeds"] == [0, 1]
    assert facts["schedulers"] == [{"policy": "greedy", "label": "greedy"}]
    assert facts["learning"]["step_size"] == {"rule": "constant", "value": 0.1}
    assert facts["fleet"] == {"clients": 10, "rate": 0.5, "capacity": math.inf, "initial": 0, "cost": 1}
    unset = {"learning": {"data", "clip"}, "": {"theory"}}  # TOML has no None
    for section, model in (
        ("", Spec),
        ("fleet", FleetSpec),
        ("learning", LearningSpec),
        ("evaluation", EvaluationSpec),
    ):
        there = facts[section] if section else facts
        assert set(there) == set(model.model_fields) - unset.get(section, set())


# what makes two runs the same

ANOTHER: dict[type[BaseModel], dict[str, Any]] = {
    Spec: {
        "name": "other",
        "rounds": 3,
        "target": 4,
        "seeds": (7,),
        "schedulers": (ArmSpec(policy="greedy", label="greedy"),),
        "fleet": FleetSpec(cost=2),
        "learning": LearningSpec(local_steps=1),
        "evaluation": EvaluationSpec(every=1),
        "theory": TheorySpec(smoothness=1.0, variance=1.0, gap=1.0),
    },
    FleetSpec: {"clients": 9, "rate": 0.4, "capacity": 3.0, "initial": 1, "cost": 2},
    LearningSpec: {
        "task": "quadratic",
        "data": "elsewhere",
        "local_steps": 1,
        "batch_size": 7,
        "step_size": {"rule": "theorem", "eta": 1.0},
        "partition": "shards:2",
        "order": "by-label",
        "weighted": True,
        "clip": 1.0,
        "weight_decay": 0.1,
        "device": "cpu",
    },
    EvaluationSpec: {"every": 1, "goal": 0.5},
    ArmSpec: {"policy": "greedy", "label": "another", "step_size": {"rule": "constant", "value": 0.1}},
    TheorySpec: {"smoothness": 2.0, "variance": 2.0, "gap": 2.0},
}
NO_MATTER = {
    (Spec, "name"),
    (Spec, "theory"),
    (LearningSpec, "data"),
    (EvaluationSpec, "goal"),
    (ArmSpec, "label"),
    *((TheorySpec, name) for name in TheorySpec.model_fields),
}
PLACES: dict[type[BaseModel], str] = {
    FleetSpec: "fleet",
    LearningSpec: "learning",
    EvaluationSpec: "evaluation",
    TheorySpec: "theory",
    ArmSpec: "schedulers",
}


def changed(spec: Spec, section: type[BaseModel], field: str) -> Spec:
    """Return the spec with this field's other value, which must differ from the one it has."""
    old: Any = spec if section is Spec else getattr(spec, PLACES[section])
    old = old[0] if section is ArmSpec else old
    value = ANOTHER[section][field]  # a KeyError here: a new field; say above what another value of it is
    assert getattr(old, field) != value
    new = old.model_copy(update={field: value})
    if section is Spec:
        assert isinstance(new, Spec)
        return new
    return spec.model_copy(update={PLACES[section]: (new,) if section is ArmSpec else new})


@pytest.mark.parametrize(
    ("section", "field"),
    [(section, field) for section in ANOTHER for field in section.model_fields],
    ids=lambda part: part if isinstance(part, str) else part.__name__,
)
def test_identity_is_all_that_decides_the_numbers_and_nothing_else(section: type[BaseModel], field: str) -> None:
    constants = TheorySpec(smoothness=3.0, variance=3.0, gap=3.0)
    run = read_spec().model_copy(update={"theory": constants}).runs()[0]
    other = changed(run, section, field)

    assert (other.identity() == run.identity()) == ((section, field) in NO_MATTER)


def test_every_section_is_looked_at() -> None:
    assert {section for section in ANOTHER if section is not Spec} == set(PLACES)
    assert set(PLACES.values()) | {"name", "rounds", "target", "seeds"} == set(Spec.model_fields)


def test_identity_survives_writing() -> None:
    run = read_spec().runs()[0]

    assert make_spec(tomllib.loads(write_spec(run))).identity() == run.identity()


def test_runs_are_every_arm_under_every_seed_seed_by_seed() -> None:
    spec = make_spec({"seeds": [5, 2], "schedulers": ["greedy", "myopic", "round-robin:1"], "rounds": 9})
    runs = spec.runs()

    assert [(run.seed, run.arm.label) for run in runs] == [
        (5, "greedy"),
        (5, "myopic"),
        (5, "round-robin:1"),
        (2, "greedy"),
        (2, "myopic"),
        (2, "round-robin:1"),
    ]
    assert all(len(run.schedulers) == len(run.seeds) == 1 for run in runs)
    assert all(run.model_copy(update={"seeds": spec.seeds, "schedulers": spec.schedulers}) == spec for run in runs)


def test_a_whole_spec_has_no_single_arm() -> None:
    with pytest.raises(ValueError, match="unpack"):
        _ = read_spec().arm


def test_constants_of_another_problem_are_dropped() -> None:
    assert read_spec().theory is not None
    assert read_spec(overrides=[" learning.task=quadratic"]).theory is None
    assert read_spec(overrides=["learning={task='quadratic'}"]).theory is None
    assert read_spec(overrides=["learning.batch_size=10"]).theory is None
    assert read_spec(overrides=["learning.batch_size=10", "theory.variance=0.2"]).theory is not None
    assert read_spec(overrides=["learning.local_steps=1"]).theory is not None
