"""Specs that are refused: one line each, with the key, what is allowed and what was given."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from ehfl.experiment import SpecError, read_spec
from ehfl.experiment.reading import make_spec

RULES = "theorem, nominal, linear, constant, nominal-causal, linear-causal"
STEP = f"must be a number, a rule ({RULES}) or {{ rule = ..., its options }}"
RATE = "fleet.rate must be a number, a list with one per client or { low = 0.1, high = 0.9 }"
SEEDS = "seeds must be how many (1 to 10,000) or a list of different whole numbers in [0, 2^64 - 1]"
TOP = "(name, rounds, target, seeds, schedulers, fleet, learning, evaluation, theory)"
APART = "schedulers must have labels that differ in letters or digits"


def refused(facts: dict[str, Any]) -> str:
    with pytest.raises(SpecError) as caught:
        make_spec(facts)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    return message


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
        f"{APART}, got a b and A-b",
    ),
    "same arm": ({"schedulers": ["myopic", "greedy", "greedy"]}, f"{APART}, got greedy and greedy"),
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
