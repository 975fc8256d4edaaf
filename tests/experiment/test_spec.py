"""Specs: what is read, what is refused and how it is told, what is written, and what makes two runs the same."""

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
RULES = "theorem, nominal, linear, constant, nominal-causal, linear-causal"
STEP = f"must be a number, a rule ({RULES}) or {{ rule = ..., its options }}"
RATE = "fleet.rate must be a number, a list with one per client or { low = 0.1, high = 0.9 }"
SEEDS = "seeds must be how many (1 to 10,000) or a list of different whole numbers in [0, 2^64 - 1]"
TOP = "(name, rounds, target, seeds, schedulers, fleet, learning, evaluation, theory)"
APART = "schedulers must be told apart by letters and digits of their labels"


def written(folder: Path, text: str) -> Path:
    path = folder / "told.toml"
    path.write_text(text, encoding="utf-8")
    return path


def refused(facts: dict[str, Any]) -> str:
    with pytest.raises(SpecError) as caught:
        make_spec(facts)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    return message


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


# what is refused


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "unknown section": ({"flet": {}}, f"flet is not a key {TOP} (did you mean fleet?)"),
    "unknown key": ({"ronds": 3}, f"ronds is not a key {TOP} (did you mean rounds?)"),
    "unknown, like none": ({"zzz": 3}, f"zzz is not a key {TOP}"),
    "unknown in fleet": (
        {"fleet": {"client": 3}},
        "fleet.client is not a key of fleet (clients, rate, capacity, initial, cost) (did you mean clients?)",
    ),
    "unknown in learning": (
        {"learning": {"localsteps": 1}},
        "learning.localsteps is not a key of learning (task, data, local_steps, batch_size, step_size, partition, "
        "order, weighted, clip, weight_decay, device) (did you mean local_steps?)",
    ),
    "unknown in evaluation": (
        {"evaluation": {"evry": 1}},
        "evaluation.evry is not a key of evaluation (every, goal) (did you mean every?)",
    ),
    "unknown in theory": (
        {"theory": {"smothness": 1.0, "variance": 1.0, "gap": 1.0}},
        "theory.smothness is not a key of theory (smoothness, variance, gap) (did you mean smoothness?)",
    ),
    "unknown in a scheduler": (
        {"schedulers": ["greedy", {"policy": "myopic", "stepsize": 1}]},
        "schedulers.2.stepsize is not a key of schedulers (policy, label, step_size) (did you mean step_size?)",
    ),
    "a scheduler's typo": (
        {"schedulers": [{"polcy": "myopic"}]},
        "schedulers.1.polcy is not a key of schedulers (policy, label, step_size) (did you mean policy?)",
    ),
    "missing in theory": ({"theory": {"smoothness": 1.0, "gap": 1.0}}, "theory.variance must be given"),
    "missing in a scheduler": ({"schedulers": [{"label": "x"}]}, "schedulers.1.policy must be given"),
    "section as a number": ({"fleet": 3}, "fleet must be a table of keys, got 3"),
    "section as a list": ({"theory": []}, "theory must be a table of keys, got []"),
    "word for a number": ({"rounds": "many"}, "rounds must be a valid integer, got 'many'"),
    "fraction": ({"rounds": 2.5}, "rounds must be a valid integer, got 2.5"),
    "whole float": ({"fleet": {"cost": 1.0}}, "fleet.cost must be a valid integer, got 1.0"),
    "number for a word": ({"learning": {"task": 3}}, "learning.task must be a valid string, got 3"),
    "number for a bool": ({"learning": {"weighted": 1}}, "learning.weighted must be a valid boolean, got 1"),
    "bool rounds": ({"rounds": True}, "rounds must be a valid integer, got True"),
    "bool target": ({"target": True}, "target must be auto or a whole number >= 1, got True"),
    "bool seeds": ({"seeds": True}, f"{SEEDS}, got True"),
    "bool seed": ({"seeds": [0, True]}, f"{SEEDS}, got [0, True]"),
    "bool clients": ({"fleet": {"clients": True}}, "fleet.clients must be a valid integer, got True"),
    "bool rate": ({"fleet": {"rate": True}}, f"{RATE}, got True"),
    "bool among rates": ({"fleet": {"rate": [0.5] * 9 + [True]}}, f"{RATE}, got {[0.5] * 9 + [True]}"),
    "bool capacity": ({"fleet": {"capacity": True}}, "fleet.capacity must be a valid number, got True"),
    "bool decay": ({"learning": {"weight_decay": True}}, "learning.weight_decay must be a valid number, got True"),
    "bool goal": ({"evaluation": {"goal": True}}, "evaluation.goal must be auto or a finite number, got True"),
    "bool step": ({"learning": {"step_size": True}}, f"learning.step_size {STEP}, got True"),
    "bool option": (
        {"learning": {"step_size": {"rule": "constant", "value": True}}},
        "learning.step_size must have numbers as options (value is True), got {'rule': 'constant', 'value': True}",
    ),
    "no rounds": ({"rounds": 0}, "rounds must be greater than or equal to 1, got 0"),
    "no clients": ({"fleet": {"clients": 0}}, "fleet.clients must be greater than or equal to 1, got 0"),
    "too many clients": (
        {"fleet": {"clients": 2**31}},
        "fleet.clients must be a whole number in [1, 2147483647], got 2147483648",
    ),
    "initial below 0": ({"fleet": {"initial": -1}}, "fleet.initial must be greater than or equal to 0, got -1"),
    "initial above capacity": (
        {"fleet": {"initial": 2, "capacity": 1}},
        "fleet.initial must be at least 0 and at most the capacity 1, got 2",
    ),
    "clip": ({"learning": {"clip": 0}}, "learning.clip must be greater than 0, got 0"),
    "infinite clip": ({"learning": {"clip": math.inf}}, "learning.clip must be a finite number, got inf"),
    "weight decay": (
        {"learning": {"weight_decay": -0.1}},
        "learning.weight_decay must be greater than or equal to 0, got -0.1",
    ),
    "infinite decay": (
        {"learning": {"weight_decay": math.inf}},
        "learning.weight_decay must be a finite number, got inf",
    ),
    "device": ({"learning": {"device": "gpu"}}, "learning.device must be 'auto', 'cpu', 'cuda' or 'mps', got 'gpu'"),
    "infinite goal": ({"evaluation": {"goal": math.inf}}, "evaluation.goal must be auto or a finite number, got inf"),
    "goal": ({"evaluation": {"goal": "best"}}, "evaluation.goal must be auto or a finite number, got 'best'"),
    "smoothness": (
        {"theory": {"smoothness": 0.0, "variance": 1.0, "gap": 1.0}},
        "theory.smoothness must be greater than 0, got 0.0",
    ),
    "constants out of reach": (  # else it would come out only after all runs
        {"theory": {"smoothness": 1e60, "variance": 1.0, "gap": 1.0}},
        "theory.smoothness must be in [1e-50, 1e50], got 1e+60",
    ),
    "rate": ({"fleet": {"rate": 1.5}}, "fleet.rate must be in [0, 1], got 1.5"),
    "no number": ({"fleet": {"rate": math.nan}}, "fleet.rate must be in [0, 1], got nan"),
    "low end": (
        {"fleet": {"rate": {"low": -0.1, "high": 0.5}}},
        "fleet.rate must be in [0, 1], got -0.1 for client 0",
    ),
    "one end": ({"fleet": {"rate": {"low": 0.1}}}, f"{RATE}, got {{'low': 0.1}}"),
    "rates that do not fit": (
        {"fleet": {"clients": 3, "rate": [0.1, 0.2]}},
        "fleet.rate must be one number or one per client (3), got a list of 2",
    ),
    "no rates": ({"fleet": {"rate": []}}, f"{RATE}, got []"),
    "capacity below cost": (
        {"fleet": {"capacity": 1, "cost": 2}},
        "fleet.capacity must be at least fleet.cost, or nobody could ever pay, got 1 with a cost of 2",
    ),
    "half a unit": (
        {"fleet": {"capacity": 2.5}},
        "fleet.capacity must be inf or a whole number in [0, 1073741823], got 2.5",
    ),
    "target above clients": ({"target": 11}, "target must be auto or in [1, 10] (the clients), got 11"),
    "target": ({"target": "some"}, "target must be auto or a whole number >= 1, got 'some'"),
    "width above clients": (
        {"schedulers": ["round-robin:11"]},
        "schedulers must have widths in [1, 10] (the clients), got round-robin:11",
    ),
    "width of none": (
        {"schedulers": ["round-robin:0"]},
        "schedulers must have widths in [1, 10] (the clients), got round-robin:0",
    ),
    "width of no width": (
        {"schedulers": ["greedy:2"]},
        "schedulers must be greedy without a width: it takes none, got greedy:2",
    ),
    "same folder": (
        {"schedulers": [{"policy": "myopic", "label": "a b"}, {"policy": "greedy", "label": "A-b"}]},
        f"{APART}, got a b",
    ),
    "same arm": ({"schedulers": ["myopic", "greedy", "greedy"]}, f"{APART}, got greedy"),
    "mathematics in a label": (
        {"schedulers": [{"policy": "myopic", "label": "cost $\\foo$"}]},
        "schedulers.1.label must be at most 80 printable characters without $, [, ] and \\, got 'cost $\\\\foo$'",
    ),
    "many seeds": ({"seeds": 10**11}, f"{SEEDS}, got 100000000000"),
    "endless": ({"rounds": 10**12}, "rounds must be less than or equal to 10000000, got 1000000000000"),
    "beyond floats": (
        {"learning": {"step_size": 10**400}},
        "numbers must fit into floating point (int too large to convert to float)",
    ),
    "no folder": ({"schedulers": [{"policy": "myopic", "label": "--"}]}, f"{APART}, got --"),
    "no schedulers": ({"schedulers": []}, "schedulers must be a list of schedulers, at least one, got []"),
    "scheduler, no list": (
        {"schedulers": "myopic"},
        "schedulers must be a list of schedulers, at least one, got 'myopic'",
    ),
    "number as a scheduler": (
        {"schedulers": [3]},
        'schedulers.1 must be a scheduler\'s name or { policy = "myopic", label = ..., step_size = ... }, got 3',
    ),
    "unknown scheduler": (
        {"schedulers": ["mypoic"]},
        "schedulers must be one of myopic, greedy, round-robin, uniform-random, always-on or package.module:Factory, "
        "got mypoic (did you mean myopic?)",
    ),
    "no such module": (
        {"schedulers": ["no_such.module:Thing"]},
        "schedulers must be importable as package.module:Factory, got no_such.module:Thing (No module named 'no_such')",
    ),
    "seeds twice": ({"seeds": [3, 1, 3]}, f"{SEEDS}, got [3, 1, 3]"),
    "no seeds": ({"seeds": []}, f"{SEEDS}, got []"),
    "negative seed": ({"seeds": [-1]}, f"{SEEDS}, got [-1]"),
    "large seed": ({"seeds": [2**64]}, f"{SEEDS}, got [18446744073709551616]"),
    "unknown rule": (
        {"learning": {"step_size": "nominl"}},
        f"learning.step_size must be a number or one of {RULES} (did you mean nominal?), got 'nominl'",
    ),
    "unknown option": (
        {"learning": {"step_size": {"rule": "linear", "inital": 1}}},
        "learning.step_size must have options of the rule linear (initial, decay, every, window) "
        "(did you mean initial?), got {'rule': 'linear', 'inital': 1}",
    ),
    "option out of range": (
        {"learning": {"step_size": {"rule": "linear", "every": 0}}},
        "learning.step_size must have every a whole number >= 1 (not 0), got {'rule': 'linear', 'every': 0}",
    ),
    "word as an option": (
        {"learning": {"step_size": {"rule": "constant", "value": "a"}}},
        "learning.step_size must have numbers as options (value is 'a'), got {'rule': 'constant', 'value': 'a'}",
    ),
    "options without a rule": (
        {"learning": {"step_size": {"value": 1}}},
        f"learning.step_size {STEP}, got {{'value': 1}}",
    ),
    "step of 0": (
        {"learning": {"step_size": 0}},
        "learning.step_size must have value a finite number > 0 (not 0), got 0",
    ),
    "an arm's step of 0": (  # not "as the others"
        {"schedulers": [{"policy": "myopic", "step_size": 0}]},
        "schedulers.1.step_size must have value a finite number > 0 (not 0), got 0",
    ),
    "an arm's empty step": (
        {"schedulers": [{"policy": "myopic", "step_size": {}}]},
        f"schedulers.1.step_size {STEP}, got {{}}",
    ),
    "partition": (
        {"learning": {"partition": "dirichlet:-1"}},
        "learning.partition must be iid, dirichlet:ALPHA (> 0) or shards:N (>= 1), got 'dirichlet:-1'",
    ),
    "partition's digit that is no number": (
        {"learning": {"partition": "shards:²"}},
        "learning.partition must be iid, dirichlet:ALPHA (> 0) or shards:N (>= 1), got 'shards:²'",
    ),
    "order": (
        {"learning": {"order": "by-lable"}},
        "learning.order must be one of random, by-label (did you mean by-label?), got 'by-lable'",
    ),
    "name": (
        {"name": "../up"},
        "name must be at most 80 letters, digits, dots, dashes and underscores, a letter or digit first, got '../up'",
    ),
    "key of two lines": ({"a\nb": 3}, f"a b is not a key {TOP}"),
}


@pytest.mark.parametrize(("facts", "told"), BAD.values(), ids=BAD)
def test_bad_input_is_told_in_one_line(facts: dict[str, Any], told: str) -> None:
    assert refused(facts) == told


@pytest.mark.parametrize("policy", ["a\nb", "no_such\n:Thing", "round-robin:²", "math:floor", "math:pi", ":x", "."])
def test_a_scheduler_of_any_spelling_is_refused_by_name(policy: str) -> None:
    message = refused({"schedulers": [{"policy": policy, "label": "x"}]})

    assert message.startswith("schedulers must be ")
    assert " ".join(policy.split()) in message


def test_long_values_are_shown_in_part() -> None:
    message = refused({"fleet": {"rate": ["x"] * 100}})

    assert message.endswith("...") and len(message) < 200


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (b"rounds = \n", r"told\.toml is not TOML: .*line 1"),
        (b"rounds = 1\nrounds = 2\n", r"told\.toml is not TOML: .*line 2"),
        (b'name = "\xff"', r"told\.toml is not TOML: 'utf-8' codec"),
        (b"rounds = 0", r"told\.toml: rounds must be greater than or equal to 1, got 0$"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, content: bytes, told: str) -> None:
    (tmp_path / "told.toml").write_bytes(content)

    with pytest.raises(SpecError, match=told) as caught:
        read_spec(tmp_path / "told.toml")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_and_a_folder_are_named(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "absent.toml", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(SpecError) as caught:
            read_spec(path)
        assert str(caught.value) == f"spec must be a readable TOML file, got {path} ({reason})"


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


def test_the_demos_constants_go_with_its_task() -> None:
    assert read_spec(overrides=["rounds=3"]).theory is not None
    assert read_spec(overrides=["learning.task=quadratic"]).theory is None
    assert read_spec(overrides=["learning.batch_size=7"]).theory is None


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
