"""Specs that are refused: one line each, with the key, what is allowed and what was given."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from ehfl.energy import HARVESTS
from ehfl.experiment import SpecError, make_spec, read_spec

SCHEDULERS = (
    "must be one of myopic, greedy, round-robin, uniform-random, always-on, oldest-first, power-of-choice, f3ast, "
    "energy-cycles, most-rounds-left, threshold, lyapunov, forecast, adaptive-steps or package.module:Class"
)
RULES = "theorem, nominal, linear, constant, nominal-causal, linear-causal"
STEP = f"must be one of {RULES} or package.module:Class"
PER_CLIENT = "must be a number, a list or a file with one per client, or { low = 0.1, high = 0.9 }"
SEEDS = "seeds must be how many (1 to 10,000) or a list of different whole numbers in [0, 2^64 - 1]"
TOP = (
    "(name, seeds, code, arms, schedulers, sweep, rounds, target, checkpoint_every, scheduler, fleet, learning, "
    "evaluation, flower)"
)
APART = "must have labels that differ in letters or digits"
LEVEL = "1073741823"  # 2^30 - 1


def refused(facts: dict[str, Any]) -> str:
    with pytest.raises(SpecError) as caught:
        make_spec(facts)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    return message


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "more nodes than clients": (
        {"flower": {"least_nodes": 11}},
        "flower.least_nodes must be a whole number in [1, 10] (the clients), got 11",
    ),
    "unknown section": ({"flet": {}}, f"flet is not a key {TOP} (did you mean fleet?)"),
    "unknown key": ({"ronds": 3}, f"ronds is not a key {TOP} (did you mean rounds?)"),
    "unknown, like none": ({"zzz": 3}, f"zzz is not a key {TOP}"),
    "unknown in fleet": (
        {"fleet": {"client": 3}},
        "fleet.client is not a key of fleet (clients, harvest, rate, capacity, initial, cost, step_cost, unit, "
        "round_length, quantum, efficiency, self_discharge, reserve, health, standby, arrival) "
        "(did you mean clients?)",
    ),
    "unknown in learning": (
        {"learning": {"localsteps": 1}},
        "learning.localsteps is not a key of learning (task, data, local_steps, local_epochs, local, local_decay, "
        "buffers, batch_size, step_size, partition, order, aggregation, clip, weight_decay, precision, device) "
        "(did you mean local_steps?)",
    ),
    "unknown in evaluation": (
        {"evaluation": {"evry": 1}},
        "evaluation.evry is not a key of evaluation (every, goal) (did you mean every?)",
    ),
    "unknown in an arm": (
        {"arms": [{"scheduler": "greedy"}, {"scheduler": "myopic", "stepsize": 1}]},
        "arms[2].stepsize is not a key of arms[2] (label, aggregation, partition, step_size, task, harvest, rounds, "
        "target, checkpoint_every, scheduler, fleet, learning, evaluation, flower) (did you mean step_size?)",
    ),
    "unknown in an arm's section": (
        {"arms": [{"scheduler": "myopic", "fleet": {"cots": 1}}]},
        "arms[1].fleet.cots is not a key of fleet (clients, harvest, rate, capacity, initial, cost, step_cost, unit, "
        "round_length, quantum, efficiency, self_discharge, reserve, health, standby, arrival) "
        "(did you mean cost?)",
    ),
    "an arm among schedulers": (
        {"schedulers": ["greedy", {"scheduler": "myopic", "label": "x"}]},
        "schedulers[2] must have the scheduler's name and its parameters: a label, and what else an arm changes, goes "
        "into [[arms]], got {'scheduler': 'myopic', 'label': 'x'}",
    ),
    "a scheduler's typo": (
        {"schedulers": [{"name": "round-robin", "per_rond": 1}]},
        "schedulers[1].per_rond must be a parameter of round-robin, one of per_round, got per_rond "
        "(did you mean per_round?)",
    ),
    "both forms of arms": (
        {"schedulers": ["greedy"], "arms": [{"scheduler": "greedy"}]},
        "schedulers must be left out where arms are given: an arm names its scheduler",
    ),
    "one scheduler and several": (
        {"scheduler": "greedy", "schedulers": ["greedy", "myopic"]},
        "scheduler must be left out where schedulers are given: each is an arm of its own",
    ),
    "missing in a thing": (
        {"fleet": {"harvest": "replay"}},
        "fleet.harvest.arrivals must be given: replay needs it, got nothing",
    ),
    "section as a number": ({"fleet": 3}, "fleet must be a table of keys, got 3"),
    "section as a list": ({"evaluation": []}, "evaluation must be a table of keys, got []"),
    "word for a number": ({"rounds": "many"}, "rounds must be a whole number in [1, 10000000], got 'many'"),
    "fraction": ({"rounds": 2.5}, "rounds must be a whole number in [1, 10000000], got 2.5"),
    "whole float": ({"learning": {"local_steps": 1.0}}, "learning.local_steps must be a whole number >= 1, got 1.0"),
    "number for a word": ({"code": 3}, "code must be a text, got 3"),
    "number for a name": (
        {"learning": {"task": 3}},
        "learning.task must be one of digits, cifar10, cifar100, femnist, shakespeare, quadratic, wells or "
        "package.module:Class, or a table with such a name, got 3",
    ),
    "number for a table": (
        {"learning": {"aggregation": 1}},
        "learning.aggregation must be one of mean, weighted, inverse-probability, fedau, scheduled, by-data, fednova, "
        "fedprox, mifa, fedvarp, fedawe, scaffold, feddyn, fedavgm, fedadam, fedyogi, fedadagrad or package."
        "module:Class, or a table with such a name, got 1",
    ),
    "bool rounds": ({"rounds": True}, "rounds must be a whole number in [1, 10000000], got True"),
    "bool target": ({"target": True}, "target must be auto or a whole number >= 1, got True"),
    "bool seeds": ({"seeds": True}, f"{SEEDS}, got True"),
    "bool seed": ({"seeds": [0, True]}, f"{SEEDS}, got [0, True]"),
    "bool clients": ({"fleet": {"clients": True}}, "fleet.clients must be a whole number >= 1, got True"),
    "bool rate": ({"fleet": {"rate": True}}, f"fleet.rate {PER_CLIENT}, got True"),
    "bool among rates": ({"fleet": {"rate": [0.5] * 9 + [True]}}, f"fleet.rate {PER_CLIENT}, got {[0.5] * 9 + [True]}"),
    "bool capacity": ({"fleet": {"capacity": True}}, f"fleet.capacity {PER_CLIENT}, got True"),
    "bool decay": (
        {"learning": {"weight_decay": True}},
        "learning.weight_decay must be a number in [0, 1e30], got True",
    ),
    "bool goal": ({"evaluation": {"goal": True}}, "evaluation.goal must be auto or a finite number, got True"),
    "bool step": (
        {"learning": {"step_size": True}},
        f"learning.step_size {STEP.replace('one of', 'a number, one of')}, or a table with such a name, got True",
    ),
    "bool parameter": (
        {"learning": {"step_size": {"name": "constant", "value": True}}},
        "learning.step_size.value must be a number, got True",
    ),
    "no rounds": ({"rounds": 0}, "rounds must be a whole number in [1, 10000000], got 0"),
    "no clients": ({"fleet": {"clients": 0}}, "fleet.clients must be a whole number >= 1, got 0"),
    "too many clients": (
        {"fleet": {"clients": 2**31}},
        "fleet.clients must be a whole number in [1, 2147483647], got 2147483648",
    ),
    "initial below 0": ({"fleet": {"initial": -1}}, f"fleet.initial must be a whole number in [0, {LEVEL}], got -1"),
    "initial above capacity": (
        {"fleet": {"initial": 2, "capacity": 1}},
        "fleet.initial must be at most the capacity 1, got 2",
    ),
    "clip": ({"learning": {"clip": 0}}, "learning.clip must be a number in [1e-30, 1e30], got 0"),
    "infinite clip": ({"learning": {"clip": math.inf}}, "learning.clip must be a number in [1e-30, 1e30], got inf"),
    "weight decay": (
        {"learning": {"weight_decay": -0.1}},
        "learning.weight_decay must be a number in [0, 1e30], got -0.1",
    ),
    "infinite decay": (
        {"learning": {"weight_decay": math.inf}},
        "learning.weight_decay must be a number in [0, 1e30], got inf",
    ),
    "device": ({"learning": {"device": "gpu"}}, "learning.device must be 'auto', 'cpu', 'cuda' or 'mps', got 'gpu'"),
    "infinite goal": ({"evaluation": {"goal": math.inf}}, "evaluation.goal must be auto or a finite number, got inf"),
    "goal": ({"evaluation": {"goal": "best"}}, "evaluation.goal must be auto or a finite number, got 'best'"),
    "capacity beyond int64": (
        {"fleet": {"capacity": 1e60}},
        "fleet.capacity must be inf or a whole number in [0, 1073741823], got 1e+60",
    ),
    "rate": ({"fleet": {"rate": 1.5}}, "fleet.rate must be in [0, 1], got 1.5"),
    "no number": ({"fleet": {"rate": math.nan}}, "fleet.rate must be in [0, 1], got nan"),
    "low end": (
        {"fleet": {"rate": {"low": -0.1, "high": 0.5}}},
        "fleet.rate must be in [0, 1], got -0.1 for client 0",
    ),
    "one end": ({"fleet": {"rate": {"low": 0.1}}}, f"fleet.rate {PER_CLIENT}, got {{'low': 0.1}}"),
    "rates that do not fit": (
        {"fleet": {"clients": 3, "rate": [0.1, 0.2]}},
        "fleet.rate must be one number or one per client (3), got a list of 2",
    ),
    "no rates": ({"fleet": {"rate": []}}, f"fleet.rate {PER_CLIENT}, got []"),
    "capacity below cost": (
        {"fleet": {"capacity": 1, "cost": 2}},
        "fleet.capacity must be at least what a round costs, or no client could ever pay, got 1 with a cost of 2",
    ),
    "half a unit": (
        {"fleet": {"capacity": 2.5}},
        "fleet.capacity must be inf or a whole number in [0, 1073741823], got 2.5",
    ),
    "target above clients": ({"target": 11}, "target must be auto or in [1, 10] (the clients), got 11"),
    "target": ({"target": "some"}, "target must be auto or a whole number >= 1, got 'some'"),
    "width above clients": (
        {"schedulers": ["round-robin:11"]},
        "schedulers[1].per_round must be in [1, 10] (the clients), got 11",
    ),
    "width of none": (
        {"arms": [{"scheduler": "greedy"}, {"scheduler": "round-robin:0"}]},
        "arms[2].scheduler.per_round must be a whole number >= 1, got 0",
    ),
    "width of no width": (
        {"schedulers": ["greedy:2"]},
        "schedulers[1] must be greedy without parameters: it takes none, got greedy:2",
    ),
    "same folder": (
        {"arms": [{"scheduler": "myopic", "label": "a b"}, {"scheduler": "greedy", "label": "A-b"}]},
        f"arms {APART}, got a b and A-b",
    ),
    "same arm": ({"schedulers": ["myopic", "greedy", "greedy"]}, f"schedulers {APART}, got greedy and greedy"),
    "mathematics in a label": (
        {"arms": [{"scheduler": "myopic", "label": "cost $\\foo$"}]},
        "arms[1].label must be at most 80 printable characters without $, [, ] and \\, got 'cost $\\\\foo$'",
    ),
    "many seeds": ({"seeds": 10**11}, f"{SEEDS}, got 100000000000"),
    "endless": ({"rounds": 10**12}, "rounds must be a whole number in [1, 10000000], got 1000000000000"),
    "beyond floats": (
        {"learning": {"step_size": 10**400}},
        f"learning.step_size must be a number in [1e-30, 1e30], got 1{'0' * 196}...",
    ),
    "a text that is no label": (
        {
            "schedulers": [
                "greedy",
                "ehfl.scheduling.schedulers.queues:Threshold: reserve = 0.12345678901234567, target = 1",
            ]
        },
        "schedulers[2] needs a label of its own ([[arms]] has them), since its text is not at most 80 printable "
        "characters without $, [, ] and \\, got 'ehfl.scheduling.schedulers.queues:Threshold: reserve = "
        "0.12345678901234567, target = 1'",
    ),
    "no folder": (
        {"arms": [{"scheduler": "myopic", "label": "--"}]},
        "arms[1].label must have a letter or a digit in it, got '--'",
    ),
    "no schedulers": ({"schedulers": []}, "schedulers must be a list of schedulers, at least one, got []"),
    "scheduler, no list": (
        {"schedulers": "myopic"},
        "schedulers must be a list of schedulers, at least one, got 'myopic'",
    ),
    "no arms": ({"arms": []}, "arms must be a list of tables, at least one: a label and what it changes, got []"),
    "an arm, no table": (
        {"arms": ["greedy"]},
        "arms must be a list of tables, at least one: a label and what it changes, got ['greedy']",
    ),
    "number as a scheduler": ({"schedulers": [3]}, f"schedulers[1] {SCHEDULERS}, or a table with such a name, got 3"),
    "unknown scheduler": ({"schedulers": ["mypoic"]}, f"schedulers[1] {SCHEDULERS}, got mypoic (did you mean myopic?)"),
    "unknown single scheduler": ({"scheduler": "mypoic"}, f"scheduler {SCHEDULERS}, got mypoic (did you mean myopic?)"),
    "no such module": (
        {"schedulers": ["greedy", "no_such.module:Thing"]},
        "schedulers[2] must be importable as package.module:Class, got no_such.module:Thing (No module named "
        "'no_such')",
    ),
    "no such harvest": (
        {"fleet": {"harvest": {"name": "bernouli", "rate": 0.5}}},
        f"fleet.harvest must be one of {', '.join(HARVESTS.members)} or package.module:Class, got bernouli "
        "(did you mean bernoulli?)",
    ),
    "a harvest and a rate": (
        {"fleet": {"harvest": "bernoulli:0.5", "rate": 0.4}},
        "fleet.rate must be left out where fleet.harvest is given, got 0.4",
    ),
    "a harvest's rate": (
        {"fleet": {"harvest": {"name": "bernoulli", "rate": 2}}},
        "fleet.harvest.rate must be in [0, 1], got 2",
    ),
    "a harvest of another fleet": (
        {"rounds": 2, "fleet": {"clients": 10, "harvest": {"name": "replay", "arrivals": [[1, 0], [0, 1]]}}},
        "fleet.harvest.arrivals must be one column per client (10), got 2 columns",
    ),
    "a harvest that ends sooner": (
        {"rounds": 3, "fleet": {"harvest": {"name": "replay", "arrivals": [[1, 0], [0, 1]]}}},
        "rounds must be at most 2 (as recorded), got 3",
    ),
    "rates in a harvest's table": (
        {"fleet": {"clients": 3, "harvest": {"name": "bernoulli", "rate": [0.1, 0.2]}}},
        "fleet.harvest.rate must be one number or one per client (3), got a list of 2",
    ),
    "stays in a harvest's table": (
        {"fleet": {"clients": 3, "harvest": {"name": "markov", "stay_on": [0.1, 0.2], "stay_off": 0.5}}},
        "fleet.harvest.stay_on must be one number or one per client (3), got a list of 2",
    ),
    "a spread of what is no chance": (
        {"fleet": {"clients": 3, "harvest": {"name": "markov", "stay_on": 0.5, "stay_off": {"low": 0, "high": 2}}}},
        "fleet.harvest.stay_off must be in [0, 1], got 2 for client 2",
    ),
    "a harvest's file": (
        {"fleet": {"harvest": "replay:nowhere.csv"}},
        "fleet.harvest.arrivals must be a readable file of numbers, .npy or text, got nowhere.csv (No such file or "
        "directory)",
    ),
    "costs that do not fit": (
        {"fleet": {"clients": 2, "cost": [1, 2, 3]}},
        "fleet.cost must be one number or one per client (2), got a list of 3",
    ),
    "a cost of nothing": (
        {"fleet": {"cost": [1, 0]}},
        f"fleet.cost must be a whole number in [1, {LEVEL}], got 0 for client 1",
    ),
    "no unit": ({"fleet": {"unit": ""}}, "fleet.unit must be 1 to 20 printable characters, got ''"),
    "seeds twice": ({"seeds": [3, 1, 3]}, f"{SEEDS}, got [3, 1, 3]"),
    "no seeds": ({"seeds": []}, f"{SEEDS}, got []"),
    "negative seed": ({"seeds": [-1]}, f"{SEEDS}, got [-1]"),
    "large seed": ({"seeds": [2**64]}, f"{SEEDS}, got [18446744073709551616]"),
    "unknown rule": (
        {"learning": {"step_size": "nominl"}},
        f"learning.step_size {STEP}, got nominl (did you mean nominal?)",
    ),
    "unknown parameter": (
        {"learning": {"step_size": {"name": "linear", "inital": 1}}},
        "learning.step_size.inital must be a parameter of linear, one of initial, decay, every, window, got inital "
        "(did you mean initial?)",
    ),
    "parameter out of range": (
        {"learning": {"step_size": {"name": "linear", "every": 0}}},
        "learning.step_size.every must be a whole number >= 1, got 0",
    ),
    "word as a parameter": (
        {"learning": {"step_size": {"name": "constant", "value": "a"}}},
        "learning.step_size.value must be a number, got 'a'",
    ),
    "parameters without a name": (
        {"learning": {"step_size": {"value": 1}}},
        f"learning.step_size {STEP}, or a table with such a name, got {{'value': 1}}",
    ),
    "step of 0": ({"learning": {"step_size": 0}}, "learning.step_size must be a number in [1e-30, 1e30], got 0"),
    "an arm's step of 0": (  # not "as the others"
        {"arms": [{"scheduler": "myopic", "step_size": 0}]},
        "arms[1].learning.step_size must be a number in [1e-30, 1e30], got 0",
    ),
    "an arm's empty step": (
        {"arms": [{"scheduler": "myopic", "step_size": {}}]},
        f"arms[1].learning.step_size {STEP}, or a table with such a name, got {{}}",
    ),
    "partition": (
        {"learning": {"partition": "dirichlet:-1"}},
        "learning.partition.alpha must be a number in (0, 1e9], got -1",
    ),
    "partition without its parameter": (
        {"learning": {"partition": "dirichlet"}},
        "learning.partition.alpha must be given: dirichlet needs it, got nothing",
    ),
    "partition's digit that is no number": (
        {"learning": {"partition": "shards:²"}},
        "learning.partition.num_shards_per_partition must be a whole number, got '²'",
    ),
    "order": (
        {"learning": {"order": "by-lable"}},
        "learning.order must be 'random' or 'by-label', got 'by-lable'",
    ),
    "name": (
        {"name": "../up"},
        "name must be at most 80 letters, digits, dots, dashes and underscores, a letter or digit first, got '../up'",
    ),
    "key of two lines": ({"a\nb": 3}, f"a b is not a key {TOP}"),
}


@pytest.mark.parametrize(("facts", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_one_line_with_its_key(facts: dict[str, Any], message: str) -> None:
    assert refused(facts) == message


@pytest.mark.parametrize("scheduler", ["a\nb", "no_such\n:Thing", "math:floor", "math:pi", ":x", ".", "round-robin:"])
def test_a_scheduler_of_any_spelling_is_refused_by_name(scheduler: str) -> None:
    for facts, key in (
        ({"schedulers": [scheduler]}, "schedulers[1]"),
        ({"arms": [{"scheduler": scheduler}]}, "arms[1]"),
    ):
        message = refused(facts)

        assert message.startswith(f"{key}.scheduler must be " if key == "arms[1]" else f"{key} must be ")
        assert scheduler.strip().split()[-1].lstrip(":") in message


def test_long_values_are_shown_in_part() -> None:
    message = refused({"fleet": {"rate": ["x"] * 100}})

    assert message.endswith("...") and len(message) < 200


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"rounds = \n", r"mine\.toml is not TOML: .*line 1"),
        (b"rounds = 1\nrounds = 2\n", r"mine\.toml is not TOML: .*line 2"),
        (b'name = "\xff"', r"mine\.toml is not TOML: 'utf-8' codec"),
        (b"rounds = 0", r"mine\.toml: rounds must be a whole number in \[1, 10000000\], got 0$"),
        (b'[[arms]]\nlabel = "$"', r"mine\.toml: arms\[1\]\.label must be at most 80 printable characters"),
        (
            b'scheduler = "greedy"\n[[arms]]\nfleet.cost = 0',
            r"mine\.toml: arms\[1\]\.fleet\.cost must be a whole number",
        ),
        (
            b'[fleet]\nrate = "rates.csv"',
            r"mine\.toml: fleet\.rate must be a number, a list or a file .* got rates\.csv \(there is no such file\)",
        ),
    ],
)
def test_a_file_that_cannot_be_used_is_named(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "mine.toml").write_bytes(content)

    with pytest.raises(SpecError, match=message) as caught:
        read_spec(tmp_path / "mine.toml")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_and_a_folder_are_named(tmp_path: Path) -> None:
    for path, reason in ((tmp_path / "absent.toml", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(SpecError) as caught:
            read_spec(path)
        assert str(caught.value) == f"spec cannot be read: {path} must be a readable TOML file ({reason})"


def test_a_scheduler_that_breaks_the_rules_at_once_is_refused_where_it_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "refused_scheduler.py").write_text(
        "class Everyone:\n    def select(self, view):\n        return [0, 0]\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    fault = "cannot be run: Everyone picks a client twice: round 0, client 0"
    assert refused({"schedulers": ["greedy", "refused_scheduler:Everyone"]}) == f"schedulers[2] {fault}"
    assert refused({"arms": [{"scheduler": "refused_scheduler:Everyone"}]}) == f"arms[1].scheduler {fault}"


NIGHT = """
class Night:
    def __init__(self, broken: str):
        self.broken = broken
    def units(self, seed, rounds, clients):
        return 1 / 0 if self.broken == "units" else None
    def mean_rates(self, n_clients):
        return 1 / 0 if self.broken == "mean_rates" else [0.5] * n_clients
"""


@pytest.mark.parametrize("method", ["units", "mean_rates"])
def test_a_harvest_whose_code_fails_is_refused_in_one_line(
    method: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "refused_harvest.py").write_text(NIGHT)
    monkeypatch.syspath_prepend(tmp_path)

    expected = f"fleet.harvest cannot compute {method}: ZeroDivisionError: division by zero"
    assert refused({"fleet": {"harvest": f"refused_harvest:Night:{method}"}}) == expected


UNSURE = """
class Unsure:
    per_client = "power"
    def __init__(self, power: float):
        self.power = power
    def units(self, seed, rounds, clients): ...
    def mean_rates(self, n_clients): ...
"""


def test_a_harvest_that_declares_no_parameters_of_its_own_as_per_client_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "unsure_harvest.py").write_text(UNSURE)
    monkeypatch.syspath_prepend(tmp_path)

    expected = "fleet.harvest must be a class whose per_client is a tuple of its parameters' names, got 'power'"
    assert refused({"fleet": {"harvest": "unsure_harvest:Unsure:3"}}) == expected
