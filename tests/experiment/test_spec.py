"""Specs: what is read, in which spellings, what overrides change, and what is made of it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import made_weather
from ehfl import AGGREGATIONS, HARVESTS, PARTITIONS, SCHEDULERS, STEP_SIZES
from ehfl.experiment import SpecError, make_spec, read_spec
from ehfl.experiment.spec.build import (
    aggregation_of,
    fleet_of,
    local_sgd_of,
    partition_of,
    scheduler_of,
    step_size_rule_of,
    target_of,
)
from ehfl.experiment.spec.read import demo_text
from ehfl.learning import InverseProbability, Mean, Weighted

EXPERIMENTS = Path(__file__).parents[2] / "experiments"
PER_CLIENT = "must be a number, a list or a file with one per client, or { low = 0.1, high = 0.9 }"
CONSTANTS = {"smoothness": 1.0, "variance": 0.1, "gap": 5.5}


def written(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(text, encoding="utf-8")
    return path


# the experiments that come with ehfl


@pytest.mark.parametrize("path", sorted(EXPERIMENTS.glob("*.toml")), ids=lambda path: path.stem)
def test_every_experiment_reads_and_is_named_after_its_file(path: Path) -> None:
    assert read_spec(path).name == path.stem


def test_there_are_experiments_to_read() -> None:
    assert {"paper", "heterogeneous"} <= {path.stem for path in EXPERIMENTS.glob("*.toml")}


def test_a_copy_of_the_demo_is_the_demo_and_its_base_has_every_default(tmp_path: Path) -> None:
    (tmp_path / "demo.toml").write_text(demo_text())

    facts = read_spec(tmp_path / "demo.toml").facts()

    assert facts == read_spec().facts()
    defaults = read_spec({"name": "demo"}).facts()
    assert {key: facts[key] for key in facts if key != "arms"} == {key: defaults[key] for key in facts if key != "arms"}


@pytest.mark.parametrize("change", ["rounds=3", "seeds=1", "name=short", "learning.local_steps=1"])
def test_what_says_nothing_of_fleets_data_or_arms_changes_the_demo(change: str) -> None:
    assert [arm.label for arm in read_spec(overrides=[change]).arms] == [arm.label for arm in read_spec().arms]


@pytest.mark.parametrize(
    "change",
    [
        *("fleet.clients=4", "fleet={clients=4}", "fleet.rate=0.3", "learning.task=quadratic"),
        *("learning={batch_size=9}", "learning.partition=dirichlet:1", "learning.order=by-label"),
        "learning.aggregation=weighted",
    ],
)
def test_fleets_and_data_of_ones_own_take_the_place_of_the_demos(change: str) -> None:
    assert [arm.label for arm in read_spec(overrides=[change]).arms] == [
        *("myopic", "round-robin", "greedy", "always-on")
    ]


def test_schedulers_or_arms_of_ones_own_take_the_place_of_the_demos() -> None:
    for change in ("schedulers=['greedy']", "scheduler=greedy", "arms=[{label='greedy'}]"):
        assert [arm.label for arm in read_spec(overrides=[change]).arms] == ["greedy"]
    assert [arm.label for arm in read_spec({"rounds": 3}).arms] == ["myopic", "round-robin", "greedy", "always-on"]


def test_both_fleets_of_the_demo_harvest_as_much() -> None:
    rates = [fleet_of(arm.setting).harvest.mean_rates(10).sum() for arm in read_spec().arms]

    assert rates == pytest.approx([5] * 5)


JOULES = (
    "round_length",
    "quantum",
    "efficiency",
    "self_discharge",
    "reserve",
    "health",
    "standby",
    "arrival",
    "step_cost",
)


def test_the_demo_leaves_no_default_out() -> None:
    """What it does not spell out itself has no value by default: data, clip, the harvest's rate, joules."""
    spec = read_spec().base

    assert set(type(spec).model_fields) - spec.model_fields_set == {
        "scheduler",
        "checkpoint_every",
    }  # arms have the first
    assert set(type(spec.fleet).model_fields) - spec.fleet.model_fields_set == {"rate", *JOULES}
    without = {"data", "clip", "local", "local_epochs", "local_decay", "buffers"}
    assert set(type(spec.learning).model_fields) - spec.learning.model_fields_set == without
    assert set(type(spec.evaluation).model_fields) == spec.evaluation.model_fields_set
    assert set(type(spec.flower).model_fields) - spec.flower.model_fields_set == set()


@pytest.mark.parametrize(("name", "capacity"), [("paper", math.inf), ("paper-capacity1", 1)])
def test_the_papers_experiment_is_what_it_was_when_its_results_were_made(name: str, capacity: float) -> None:
    facts = read_spec(EXPERIMENTS / f"{name}.toml").facts()

    assert (facts["rounds"], facts["target"], facts["seeds"], facts["evaluation"]["every"]) == (
        150,
        5,
        [0, 1, 2, 3],
        10,
    )
    assert [arm["label"] for arm in facts["arms"]] == ["myopic", "round-robin", "round-robin:1", "greedy", "always-on"]
    assert facts["fleet"] == {
        "clients": 10, "harvest": {"name": "bernoulli", "rate": 0.5}, "capacity": capacity, "initial": 0, "cost": 1,
        "unit": "units",
    }  # fmt: skip
    assert facts["learning"] == {
        "task": {"name": "cifar10", "records": 10_000, "network": "paper"}, "local_steps": 5, "batch_size": 50,
        "device": "auto",
        "step_size": {"name": "nominal", "initial": 0.15, "decay": 0.99, "every": 10, "window": 10},
        "weight_decay": 0.0,
        "precision": "float32",
        "partition": {"name": "iid"}, "order": "random", "aggregation": {"name": "mean"},
    }  # fmt: skip


# reading


def test_what_is_left_out_is_the_default(tmp_path: Path) -> None:
    spec = read_spec(written(tmp_path, "rounds = 7\n[fleet]\nclients = 4\n[learning]\nbatch_size = 9"))

    assert (spec.name, spec.base.rounds, spec.seeds) == ("mine", 7, (0, 1, 2, 3, 4))
    assert (spec.base.fleet.clients, spec.base.fleet.capacity) == (4, math.inf)
    assert spec.base.fleet.harvest_table() == {"name": "bernoulli", "rate": 0.5}


def test_the_path_of_a_spec_may_be_a_text(tmp_path: Path) -> None:
    path = written(tmp_path, "rounds = 7")

    assert read_spec(str(path)) == read_spec(path)


def test_arrays_of_numpys_are_lists_in_a_spec() -> None:
    table = {"rounds": np.int64(3), "fleet": {"rate": np.array([0.1, 0.9]), "capacity": np.array([1, 2])}}
    plain = {"rounds": 3, "fleet": {"rate": [0.1, 0.9], "capacity": [1, 2]}}

    assert read_spec(table).facts() == read_spec(plain).facts() == make_spec(table).facts()
    with pytest.raises(SpecError, match=r"^learning\.clip must be"):
        read_spec({}, {"learning.clip": np.array(["none", "none"])})


def test_folders_bear_letters_and_digits_of_any_alphabet() -> None:
    labels = ("Größe_2, x", "贪婪", "a/../b")
    spec = make_spec({"arms": [{"scheduler": "greedy", "label": label} for label in labels]})

    assert [arm.label for arm in spec.arms] == list(labels)
    assert [run.folder_name for run in spec.runs()[:3]] == ["größe-2-x-s0", "贪婪-s0", "a-..-b-s0"]


def test_values_have_several_spellings_and_one_form() -> None:
    spec = make_spec({
        "seeds": 3,
        "schedulers": ["greedy", "Round_Robin:1", {"name": "myopic", "target": 2}],
        "fleet": {"clients": 2, "rate": [0, 1], "capacity": "inf", "initial": {"low": 0, "high": 4}, "cost": [1, 2]},
        "learning": {"step_size": {"name": "Nominal_Causal", "window": 4}, "partition": "dirichlet:0.3",
                     "aggregation": "Weighted"},
    })  # fmt: skip

    assert spec.seeds == (0, 1, 2)
    assert [arm.label for arm in spec.arms] == ["greedy", "Round_Robin:1", "myopic:2"]
    assert [arm.slug for arm in spec.arms] == ["greedy", "round-robin-1", "myopic-2"]
    assert [arm.setting.scheduler for arm in spec.arms] == [
        {"name": "greedy"}, {"name": "round-robin", "per_round": 1}, {"name": "myopic", "target": 2},
    ]  # fmt: skip
    fleet, learning = spec.base.fleet, spec.base.learning
    assert (fleet.rate, fleet.capacity, fleet.cost) == ((0, 1), math.inf, (1, 2))
    assert fleet.initial == {"low": 0, "high": 4}
    assert learning.partition == {"name": "dirichlet", "alpha": 0.3, "min_partition_size": 10}
    assert learning.aggregation == {"name": "weighted"}
    assert learning.step_size == {
        "name": "nominal-causal", "initial": 0.15, "decay": 0.99, "every": 10, "window": 4
    }  # fmt: skip


SPELLINGS: dict[str, list[Any]] = {
    "scheduler": ["round-robin:3", "round-robin:per_round=3", {"name": "round-robin", "per_round": 3},
                  {"name": "round-robin:3"}],
    "fleet.harvest": ["bernoulli:0.25", "bernoulli:rate=0.25", {"name": "bernoulli", "rate": 0.25}],
    "fleet.harvest ": ["markov:stay_on=0.9,stay_off=0.8", "Markov:stay_off=0.8,stay_on=0.9,size=1",
                       {"name": "markov", "stay_on": 0.9, "stay_off": 0.8}],
    "learning.partition": ["shards:3", "shards:num_shards_per_partition=3",
                           {"name": "shards", "num_shards_per_partition": 3}],
    "learning.step_size": [0.25, "constant:0.25", "constant:value=0.25", {"name": "constant", "value": 0.25}],
    "learning.aggregation": ["weighted", "Weighted", {"name": "weighted"}],
    "learning.task": ["quadratic", "Quadratic", {"name": "quadratic"}],
}  # fmt: skip


@pytest.mark.parametrize("key", SPELLINGS)
def test_a_name_a_short_form_and_a_table_are_the_same(key: str) -> None:
    read = [read_spec(overrides={key.strip(): given}) for given in SPELLINGS[key]]

    assert all(spec.base == read[0].base for spec in read)
    assert all(spec.base.facts() == read[0].base.facts() for spec in read)
    assert read[0].base != read_spec().base


def test_one_scheduler_is_a_comparison_of_one_arm() -> None:
    spec = make_spec({"scheduler": "round-robin:2"})

    assert [(arm.label, dict(arm.changes), arm.setting) for arm in spec.arms] == [("round-robin:2", {}, spec.base)]


def test_a_spec_becomes_the_things_it_names() -> None:
    spec = make_spec({
        "arms": [{"scheduler": "myopic"}, {"scheduler": "round-robin:1", "step_size": 0.5, "aggregation": "weighted"}],
        "fleet": {"clients": 3, "rate": {"low": 0.2, "high": 1}, "capacity": 4, "initial": 2, "cost": 2, "unit": "mJ"},
        "learning": {"step_size": 0.25, "clip": 3.0, "weight_decay": 0.1, "batch_size": 7},
    })  # fmt: skip
    first, second = (arm.setting for arm in spec.arms)
    fleet = fleet_of(first)

    assert fleet.harvest.mean_rates(3).tolist() == pytest.approx([0.2, 0.6, 1.0])
    assert (fleet.capacity, fleet.start().tolist(), fleet.cost, fleet.unit) == (4, [2, 2, 2], 2, "mJ")
    assert target_of(first) is None  # what the harvest sustains
    assert target_of(make_spec({"target": 2}).base) == 2
    assert [repr(scheduler_of(one)) for one in (first, second)] == ["Myopic(target='auto')", "RoundRobin(per_round=1)"]
    assert [step_size_rule_of(one)([1, 0]).tolist() for one in (first, second)] == [[0.25, 0.0], [0.5, 0.0]]
    assert [aggregation_of(one) for one in (first, second)] == [Mean(), Weighted()]
    rule = local_sgd_of(first)
    assert (rule.local_steps, rule.batch_size, rule.clip, rule.weight_decay) == (5, 7, 3.0, 0.1)


def test_inverse_probability_is_told_what_fleet_and_scheduler_make_of_each_client() -> None:
    """Greedy's chances are the rates; round-robin of one asks each of two clients every second round."""

    def told(scheduler: str, aggregation: Any = "inverse-probability") -> Any:
        facts = {"fleet": {"clients": 2, "rate": [0.2, 1]}, "learning": {"aggregation": aggregation}, "rounds": 40}
        return aggregation_of(make_spec(facts | {"scheduler": scheduler}).base)

    assert told("greedy") == InverseProbability((0.2, 1.0))
    assert told("round-robin:1").probabilities[1] == pytest.approx(0.5, abs=0.02)
    assert told("round-robin:1") == told("round-robin:1")
    given = {"name": "inverse-probability", "probabilities": [0.3, 0.4]}
    assert told("greedy", given) == InverseProbability((0.3, 0.4))


def test_a_spread_of_batteries_is_rounded_to_whole_amounts() -> None:
    """From 1 to 2 in four steps: 1, 1.33, 1.67, 2."""
    spec = make_spec({"fleet": {"clients": 4, "capacity": {"low": 1, "high": 2}, "cost": {"low": 1.0, "high": 1.0}}})

    fleet = fleet_of(spec.base)

    assert fleet.ceilings.tolist() == [1, 1, 2, 2]
    assert np.broadcast_to(fleet.costs, 4).tolist() == [1, 1, 1, 1]


def test_shares_go_by_label_if_the_order_says_so() -> None:
    labels = np.repeat([3, 2, 1, 0], 25)
    by_label = make_spec({"learning": {"partition": "shards:1", "order": "by-label"}}).base

    shares = partition_of(by_label).partition(labels, 4, seed=0)

    assert [labels[share].tolist() for share in shares] == [[label] * 25 for label in (0, 1, 2, 3)]


@pytest.mark.parametrize(
    ("registry", "key"),
    [(SCHEDULERS, "scheduler"), (HARVESTS, "fleet.harvest"), (PARTITIONS, "learning.partition"),
     (STEP_SIZES, "learning.step_size"), (AGGREGATIONS, "learning.aggregation")],
    ids=lambda part: part if isinstance(part, str) else "",
)  # fmt: skip
def test_every_registered_name_can_be_written(registry: Any, key: str, tmp_path: Path) -> None:
    (tmp_path / "sun.csv").write_text("1,0\n0,1\n")
    (tmp_path / "trace.csv").write_text("time,a\n0,1\n3600,2\n")
    needs: dict[str, dict[str, Any]] = {
        "dirichlet": {"alpha": 0.5},
        "bernoulli": {"rate": 0.5},
        "markov": {"stay_on": 0.9, "stay_off": 0.8},
        "poisson": {"rate": 1.5},
        "compound": {"rate": 0.1, "mean_size": 5},
        "periodic": {"pattern": [0, 1, 2]},
        "replay": {"arrivals": str(tmp_path / "sun.csv")},
        "sun": {"watts": 2, "site": ["alaska", "florida"]},
        "trace": {"file": str(tmp_path / "trace.csv"), "watts": 2},
        "wind": {"watts": 2, "site": str(made_weather.wind(tmp_path / "wind.csv"))},
    }
    physical = {"fleet.round_length": "1 h", "fleet.capacity": "5 Wh", "fleet.cost": "20 J"}
    for name in registry.members:
        table = {"name": name} | needs.get(name, {})
        more: dict[str, Any] = dict(physical) if name in ("sun", "trace", "wind") else {}
        more |= {"fleet.step_cost": 0} if name == "adaptive-steps" else {}

        facts: Any = read_spec(overrides={key: table, "fleet.clients": 2, "rounds": 2} | more).base.facts()

        for part in key.split("."):
            facts = facts[part]
        assert table.items() <= facts.items()


# values of each client from files


@pytest.mark.parametrize("name", ["rate", "capacity", "initial", "cost"])
def test_one_value_per_client_may_lie_in_a_file_beside_the_spec(name: str, tmp_path: Path) -> None:
    (tmp_path / "each.csv").write_text(f"{name}\n1\n0\n1\n" if name in ("rate", "initial") else f"{name}\n3\n2\n3\n")
    path = written(tmp_path, f'[fleet]\n{name} = "each.csv"')

    spec = read_spec(path)

    assert spec.base.fleet.clients == 3  # as many as the file has
    assert getattr(spec.base.fleet, name) == ((1, 0, 1) if name in ("rate", "initial") else (3, 2, 3))
    assert read_spec(path, ["fleet.clients=3"]).base == spec.base


def test_values_of_a_file_are_in_the_spec_that_is_written(tmp_path: Path) -> None:
    (tmp_path / "rates.csv").write_text("0.25 0.75")
    spec = read_spec(written(tmp_path, 'schedulers = ["greedy"]\n[fleet]\nrate = "rates.csv"'))

    assert spec.facts()["fleet"]["harvest"] == {"name": "bernoulli", "rate": [0.25, 0.75]}


def test_a_rate_file_may_stand_in_the_harvests_table(tmp_path: Path) -> None:
    (tmp_path / "rates.csv").write_text("0.25 0.75")
    path = written(tmp_path, '[fleet]\nharvest = { name = "bernoulli", rate = "rates.csv" }')

    spec = read_spec(path)

    assert (spec.base.fleet.clients, fleet_of(spec.base).rates.tolist()) == (2, [0.25, 0.75])


@pytest.mark.parametrize(
    ("harvest", "rates"),
    [
        ('{ name = "poisson", rate = { low = 1, high = 3 } }', [1, 2, 3]),
        ('{ name = "poisson", rate = "each.csv" }', [0.25, 0.5, 1]),
        ('{ name = "compound", rate = [1, 2, 4], mean_size = "twice.csv" }', [2, 8, 4]),
        ('{ name = "markov", stay_on = "each.csv", stay_off = { low = 0, high = 0.5 } }', [4 / 7, 0.6, 1]),
        ('{ name = "periodic", pattern = [2, 0], shift = { low = 0, high = 2 } }', [1, 1, 1]),
        ('{ name = "periodic", pattern = "each.csv", shift = [0, 1, 2] }', None),
    ],
)
def test_harvests_take_values_per_client_in_every_form(harvest: str, rates: list[float] | None, tmp_path: Path) -> None:
    (tmp_path / "each.csv").write_text("0.25 0.5 1")
    (tmp_path / "twice.csv").write_text("2 4 1")
    path = written(tmp_path, f"[fleet]\ncapacity = [9, 9, 9]\nharvest = {harvest}")

    if rates is None:
        with pytest.raises(SpecError, match=r"fleet.harvest.pattern must be whole numbers"):
            read_spec(path)
    else:
        spec = read_spec(path)
        assert (spec.base.fleet.clients, fleet_of(spec.base).rates.tolist()) == (3, pytest.approx(rates))


LAMPS = """
import numpy as np

class Lamps:
    per_client = ("power",)

    def __init__(self, power):
        self.power = np.asarray(power)

    def units(self, seed, rounds, clients):
        own = self.power[clients.start : clients.stop] if self.power.ndim else np.full(len(clients), self.power)
        return np.tile(own.astype(int), (len(rounds), 1))

    def mean_rates(self, n_clients):
        return np.broadcast_to(self.power, n_clients).astype(float)
"""


@pytest.mark.parametrize("power", ["[1, 3, 5]", '"powers.csv"', "{ low = 1, high = 5 }"])
def test_what_a_harvest_declares_as_per_client_is_written_like_a_rate(
    power: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "powers.csv").write_text("power\n1\n3\n5\n")
    (tmp_path / "lamps_per_client.py").write_text(LAMPS)
    monkeypatch.syspath_prepend(tmp_path)
    clients = "clients = 3\n" if "low" in power else ""  # a list and a file say how many there are
    path = written(tmp_path, f'[fleet]\n{clients}harvest = {{ name = "lamps_per_client:Lamps", power = {power} }}')

    spec = read_spec(path)

    assert (spec.base.fleet.clients, fleet_of(spec.base).rates.tolist()) == (3, [1, 3, 5])


def test_a_list_beside_a_harvest_of_any_number_of_clients_says_how_many_there_are() -> None:
    spec = make_spec({"fleet": {"harvest": {"name": "bernoulli", "rate": {"low": 0.2, "high": 0.4}}, "cost": [1, 2]}})

    assert (spec.base.fleet.clients, fleet_of(spec.base).rates.tolist()) == (2, [0.2, 0.4])


def test_a_recorded_harvest_says_how_many_clients_there_are(tmp_path: Path) -> None:
    (tmp_path / "sun.csv").write_text("1,0,1\n0,1,0\n")

    spec = read_spec(written(tmp_path, 'rounds = 2\n[fleet]\nharvest = "replay:sun.csv"'))

    assert (spec.base.fleet.clients, fleet_of(spec.base).rates.tolist()) == (3, [0.5, 0.5, 0.5])


def test_lists_that_differ_in_length_are_refused() -> None:
    with pytest.raises(SpecError, match=r"^fleet.rate must be one number or one per client \(3\), got a list of 2$"):
        make_spec({"fleet": {"rate": [0.5, 0.5], "cost": [1, 1, 1]}})


# overrides


@pytest.mark.parametrize(
    ("override", "place", "value"),
    [
        ("rounds=20", ("rounds",), 20),
        (" rounds = 20 ", ("rounds",), 20),
        ("fleet.capacity=3", ("fleet", "capacity"), 3.0),
        ("fleet.capacity=inf", ("fleet", "capacity"), math.inf),
        ("fleet.rate={ low = 0.1, high = 0.9 }", ("fleet", "rate"), {"low": 0.1, "high": 0.9}),
        ("fleet.cost={ low = 1, high = 3 }", ("fleet", "cost"), {"low": 1, "high": 3}),
        ("fleet.harvest=bernoulli:0.25", ("fleet", "harvest"), {"name": "bernoulli", "rate": 0.25}),
        ("fleet.unit=mJ", ("fleet", "unit"), "mJ"),
        ("learning.aggregation=weighted", ("learning", "aggregation"), {"name": "weighted"}),
        ("learning.task=quadratic", ("learning", "task"), {"name": "quadratic"}),
        ("learning.task = quadratic ", ("learning", "task"), {"name": "quadratic"}),
        ("learning.task='quadratic'", ("learning", "task"), {"name": "quadratic"}),
        ("learning.data=/some/where", ("learning", "data"), "/some/where"),
        ("learning.partition=shards:3", ("learning", "partition"), {"name": "shards", "num_shards_per_partition": 3}),
        ("learning.step_size.name=theorem", ("learning", "step_size"), {"name": "theorem", "eta": 1.0}),
        ("evaluation.goal=0.9", ("evaluation", "goal"), 0.9),
        ("scheduler=round-robin:3", ("scheduler",), {"name": "round-robin", "per_round": 3}),
    ],
)
def test_an_override_is_toml_or_a_bare_word(override: str, place: tuple[str, ...], value: object) -> None:
    found: Any = read_spec(overrides=[override]).base
    for part in place:
        found = getattr(found, part)

    assert found == value


@pytest.mark.parametrize("text", ["2024", "1e5", "true", "2024-02-29", "'2024'"])
def test_an_override_of_a_string_is_taken_as_it_is_written(text: str) -> None:
    """`-o name=2024` was read as a number and refused."""
    spec = read_spec(overrides=[f"name={text}", f"fleet.unit={text}", f"learning.data={text}", "learning.task=cifar10"])

    assert {spec.name, spec.base.fleet.unit, spec.base.learning.data} == {text.strip("'")}


def test_a_number_as_name_in_a_table_is_told_to_be_a_string() -> None:
    with pytest.raises(SpecError, match=r'^name must be a string, such as "2024", got 2024$'):
        read_spec({"name": 2024})


def test_overrides_change_the_heading_and_the_arms_too() -> None:
    spec = read_spec(overrides=["name=mine", "seeds=[3, 1]", "schedulers=['greedy', 'myopic:2']"])

    assert (spec.name, spec.seeds, [arm.label for arm in spec.arms]) == ("mine", (3, 1), ["greedy", "myopic:2"])


def test_overrides_change_a_file_each_key_once(tmp_path: Path) -> None:
    path = written(tmp_path, "rounds = 7\n[learning]\nlocal_steps = 3\nbatch_size = 4")
    base = read_spec(path, ["learning.local_steps=1", "rounds=9"]).base

    assert (base.rounds, base.learning.local_steps, base.learning.batch_size) == (9, 1, 4)
    with pytest.raises(SpecError, match=r"^rounds must be given once, got 9$"):
        read_spec(path, ["rounds=8", "rounds=9"])
    with pytest.raises(
        SpecError, match=r"^fleet must be given before fleet\.cost, which it would undo, got \{'clients': 3"
    ):
        read_spec(path, ["fleet.cost=2", "fleet={clients=3}"])


def test_overrides_may_be_values_by_key(tmp_path: Path) -> None:
    path = written(tmp_path, "rounds = 7")

    assert read_spec(path, {"rounds": 9, "fleet.rate": [0.5, 1]}) == read_spec(
        path, ["rounds=9", "fleet.rate=[0.5, 1]"]
    )


def test_a_rate_and_a_harvest_take_each_others_place(tmp_path: Path) -> None:
    rate = written(tmp_path, "[fleet]\nrate = 0.75")
    assert read_spec(rate, ["fleet.harvest=bernoulli:0.25"]).base.fleet.harvest_table()["rate"] == 0.25
    harvest = written(tmp_path, '[fleet]\nharvest = { name = "bernoulli", rate = 0.75 }')
    assert read_spec(harvest, ["fleet.rate=0.25"]).base.fleet.harvest_table()["rate"] == 0.25


def test_an_override_adds_a_parameter_to_a_name(tmp_path: Path) -> None:
    path = written(tmp_path, 'scheduler = "round-robin"\nlearning.step_size = "nominal:0.3"')
    base = read_spec(path, ["scheduler.per_round=2", "learning.step_size.window=4"]).base

    assert base.scheduler == {"name": "round-robin", "per_round": 2}
    assert (base.learning.step_size["initial"], base.learning.step_size["window"]) == (0.3, 4)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("rounds", "override must be KEY=VALUE such as learning.local_steps=1, got rounds"),
        ("=3", "override must be KEY=VALUE such as learning.local_steps=1, got =3"),
        ("fleet..rate=1", "override must be KEY=VALUE such as learning.local_steps=1, got fleet..rate=1"),
        ("fleet=3", "fleet must be a table of keys, got 3"),
        ("fleet.rate=true", f"fleet.rate {PER_CLIENT}, got True"),
        ("fleet.rate=x", f"fleet.rate {PER_CLIENT}, got x (there is no such file)"),
        ("learning.loca_steps=3", "learning.loca_steps is not a key of learning"),
        ("a\nb", "override must be KEY=VALUE such as learning.local_steps=1, got a b"),
    ],
)
def test_a_bad_override_is_refused(override: str, message: str) -> None:
    with pytest.raises(SpecError) as caught:
        read_spec(overrides=[override])

    assert str(caught.value).startswith(message) and "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("key", "inside"), [("rounds.more", "rounds"), ("learning.step_size.initial", "step_size"), ("seeds.x", "seeds")]
)
def test_an_override_inside_what_is_no_section_is_refused(key: str, inside: str, tmp_path: Path) -> None:
    path = written(tmp_path, "rounds = 7\nseeds = 2\nlearning.step_size = 0.1")

    with pytest.raises(SpecError, match=f"mine.toml: {key} must be a key of a section, and {inside} is not a section$"):
        read_spec(path, [f"{key}=3"])


@pytest.mark.parametrize("key", ["learning.clip", "learning.data"])
def test_none_takes_a_value_away_again(key: str, tmp_path: Path) -> None:
    path = written(tmp_path, '[learning]\nclip = 2.0\ndata = "x"')

    learning = read_spec(path, [f"{key}=none"]).base.learning

    there = str(tmp_path / "x")
    assert (learning.clip, learning.data) == ((None, there) if key == "learning.clip" else (2.0, None))


def test_one_parameter_of_a_default_can_be_changed_alone() -> None:
    base = read_spec(overrides=["scheduler.target=3", "learning.step_size.window=4", "fleet.harvest.rate=0.25"]).base

    assert base.scheduler == {"name": "myopic", "target": 3}
    assert (base.learning.step_size["name"], base.learning.step_size["window"]) == ("nominal", 4)
    assert base.fleet.harvest_table() == {"name": "bernoulli", "rate": 0.25}
