"""Arms: a label and what each changes, by key."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

from ehfl import AGGREGATIONS
from ehfl.analysis import Difference, read
from ehfl.experiment import Arm, SpecError, make_spec, read_spec, run_all
from ehfl.runs import RunFolder, read_history
from ehfl.scheduling import Participation
from ehfl.validation import InvalidValue

SPEC = """
rounds = 9
[fleet]
clients = 4
capacity = 3
unit = "mJ"
[learning]
step_size = "linear"

[[arms]]
scheduler = "greedy"

[[arms]]
label = "deep"
scheduler = { name = "round-robin", per_round = 1 }
aggregation = "weighted"
step_size = 0.1
"fleet.capacity" = 9
learning.local_steps = 2
evaluation.every = 3

[[arms]]
label = "long"
rounds = 20
target = 2
fleet = { rate = [0.1, 0.2, 0.3, 0.4], cost = 2 }
learning.partition = "shards:2"
"""


def arms_of(*arms: dict[str, Any], **facts: Any) -> tuple[Arm, ...]:
    return make_spec({"arms": list(arms), **facts}).arms


def test_an_arm_has_what_it_changes_and_all_else_from_the_spec(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text(SPEC)
    spec = read_spec(tmp_path / "mine.toml")
    greedy, deep, long = (arm.setting for arm in spec.arms)

    assert [arm.label for arm in spec.arms] == ["greedy", "deep", "long"]
    assert greedy == spec.base.model_copy(update={"scheduler": {"name": "greedy"}})
    assert deep.scheduler == {"name": "round-robin", "per_round": 1}
    assert deep.learning.aggregation == {"name": "weighted"}
    assert deep.learning.step_size == {"name": "constant", "value": 0.1}
    assert (deep.fleet.capacity, deep.learning.local_steps, deep.evaluation.every) == (9, 2, 3)
    assert (deep.rounds, deep.target, deep.fleet.clients, deep.fleet.cost) == (9, "auto", 4, 1)
    assert (long.rounds, long.target, long.fleet.rate) == (20, 2, (0.1, 0.2, 0.3, 0.4))
    assert (long.fleet.cost, long.fleet.unit, long.fleet.capacity) == (2, "mJ", 3)
    assert long.learning.partition == {"name": "shards", "num_shards_per_partition": 2}
    assert long.learning.step_size == spec.base.learning.step_size
    assert long.scheduler == {"name": "myopic", "target": "auto"}  # no arm need name one


def test_changes_are_kept_by_dotted_key_however_they_were_given() -> None:
    by_key, nested = arms_of(
        {"label": "by key", "fleet.capacity": 9, "fleet.cost": 2, "learning.step_size": 0.1},
        {"label": "nested", "fleet": {"capacity": 9, "cost": 2}, "step_size": 0.1},
    )

    assert by_key.changes == nested.changes == {"fleet.capacity": 9, "fleet.cost": 2, "learning.step_size": 0.1}
    assert by_key.setting == nested.setting


def test_a_rate_and_a_harvest_take_each_others_place() -> None:
    fleet = {"harvest": {"name": "bernoulli", "rate": 0.25}}
    rate, harvest = arms_of(
        {"label": "a", "fleet.rate": 0.75}, {"label": "b", "fleet.harvest": "bernoulli:1"}, fleet=fleet
    )

    assert rate.setting.fleet.harvest_table() == {"name": "bernoulli", "rate": 0.75}
    assert harvest.setting.fleet.harvest_table() == {"name": "bernoulli", "rate": 1}


def test_one_parameter_of_what_the_spec_names_can_be_changed_alone() -> None:
    two, three = arms_of(
        {"scheduler.per_round": 2},
        {"scheduler.per_round": 3, "learning.step_size.window": 4},
        scheduler="round-robin",
        learning={"step_size": {"name": "nominal", "initial": 0.3}},
    )

    assert [arm.label for arm in (two, three)] == ["round-robin:2", "round-robin:3"]
    assert two.setting.scheduler == {"name": "round-robin", "per_round": 2}
    steps = three.setting.learning.step_size
    assert (steps["initial"], steps["window"]) == (0.3, 4)


def test_what_the_spec_sets_an_arm_can_do_without() -> None:
    arms = [{"label": "free", "learning.clip": "none"}, {"label": "held"}, {"label": "short", "learning.clip": 0.5}]
    spec = make_spec({"learning": {"clip": 2.0, "data": "/x"}, "arms": arms})

    again = make_spec(spec.facts())

    for one in (spec, again):
        assert [arm.setting.learning.clip for arm in one.arms] == [None, 2.0, 0.5]
        assert {arm.setting.learning.data for arm in one.arms} == {"/x"}


def test_a_list_in_an_arm_must_fit_the_clients_that_there_are() -> None:
    with pytest.raises(
        SpecError, match=r"^arms\[1\]\.fleet\.rate must be one number or one per client \(10\), got a list of 2"
    ):
        arms_of({"label": "two", "fleet.rate": [0.5, 1.0]})

    (two,) = arms_of({"label": "two", "fleet.rate": [0.5, 1.0], "fleet.clients": 2})
    assert two.setting.fleet.clients == 2


# labels


@pytest.mark.parametrize(
    ("scheduler", "label"),
    [
        ("greedy", "greedy"),
        ("round-robin:3", "round-robin:3"),
        ("round-robin:per_round=3", "round-robin:per_round=3"),  # a text is its own label
        ({"name": "round-robin", "per_round": 3}, "round-robin:3"),
        ({"name": "power-of-choice", "target": 1, "candidates": 2}, "power-of-choice:target=1,candidates=2"),
        ("ehfl.scheduling.schedulers.paper:Greedy", "ehfl.scheduling.schedulers.paper:Greedy"),
    ],
)
def test_an_arm_is_called_after_its_scheduler_unless_it_has_a_label(scheduler: object, label: str) -> None:
    for facts in ({"schedulers": [scheduler]}, {"arms": [{"scheduler": scheduler}]}, {"scheduler": scheduler}):
        assert [arm.label for arm in make_spec(facts).arms] == [label]
    assert [arm.label for arm in arms_of({"scheduler": scheduler, "label": "mine"})] == ["mine"]


def test_an_arm_that_changes_the_aggregation_is_called_after_it_too() -> None:
    arms = arms_of({"scheduler": "greedy"}, {"scheduler": "greedy", "aggregation": {"name": "fedadam", "of": "mifa"}})
    assert [arm.label for arm in arms] == ["greedy", "greedy + fedadam"]


def test_arms_that_would_share_a_folder_are_refused() -> None:
    """Labels that differ in punctuation alone are one folder."""
    for arms in (
        [{"scheduler": "greedy"}, {"scheduler": "greedy", "learning.local_steps": 2}],
        [{"scheduler": "round-robin:1"}, {"scheduler": {"name": "round-robin", "per_round": 1}}],
        [{"scheduler": "greedy", "label": "K = 1"}, {"scheduler": "greedy", "label": "k 1"}],
    ):
        with pytest.raises(SpecError, match=r"^arms must have labels that differ in letters or digits, got .+ and .+$"):
            make_spec({"arms": arms})


# what is refused

KEPT = "must be left out: it is the same for all arms"


@pytest.mark.parametrize(
    ("arm", "message"),
    [
        ({"name": "x"}, f"arms[2].name {KEPT}"),
        ({"seeds": 3}, f"arms[2].seeds {KEPT}"),
        ({"code": "x"}, f"arms[2].code {KEPT}"),
        ({"arms": []}, f"arms[2].arms {KEPT}"),
        ({"schedulers": ["greedy"]}, f"arms[2].schedulers {KEPT}"),
        ({"seeds.x": 3}, f"arms[2].seeds.x {KEPT}"),
        ({"evaluation.goal": 0.5}, f"arms[2].evaluation.goal {KEPT}"),
        ({"evaluation": {"goal": 0.5}}, f"arms[2].evaluation.goal {KEPT}"),
        ({"fleet.unit": "mJ"}, f"arms[2].fleet.unit {KEPT}"),
        ({"fleet": {"cost": 2}, "fleet.cost": 3}, "arms[2].fleet.cost must be given once"),
        ({"step_size": 0.1, "learning.step_size": 0.2}, "arms[2].learning.step_size must be given once"),
        ({"label": 3}, "arms[2].label must be at most 80 printable characters without $, [, ] and \\, got 3"),
        ({"fleet": 3}, "arms[2].fleet must be a table of keys, got 3"),
        ({"fleet.capacity": 0.5}, "arms[2].fleet.capacity must be inf or a whole number in [0, 1073741823], got 0.5"),
        ({"learning.local_steps": 0}, "arms[2].learning.local_steps must be a whole number >= 1, got 0"),
        ({"rounds": 0}, "arms[2].rounds must be a whole number in [1, 10000000], got 0"),
        ({"rounds.more": 1}, "arms[2].rounds.more must be a key of a section, and rounds is not a section"),
        ({"target": 5}, "arms[2].target must be auto or in [1, 4] (the clients), got 5"),
        ({"fleet.clients": 2, "target": 3}, "arms[2].target must be auto or in [1, 2] (the clients), got 3"),
        # a cost that the spec's battery cannot hold is the arm's fault, though the battery is not its own
        (
            {"fleet.cost": 7},
            "arms[2].fleet.capacity must be at least what a round costs, or no client could ever pay, "
            "got 6 with a cost of 7",
        ),
        ({"scheduler": "round-robin:5"}, "arms[2].scheduler.per_round must be in [1, 4] (the clients), got 5"),
        ({"scheduler.width": 1}, "arms[2].scheduler.width must be a parameter of greedy, left out: it takes no "
         "parameters, got width"),
        ({"aggregation": {"mean": 1}}, f"arms[2].learning.aggregation must be one of {', '.join(AGGREGATIONS.members)} "
         "or package.module:Class, or a table with such a name, got {'mean': 1}"),
    ],
    ids=lambda part: " ".join(part) if isinstance(part, dict) else "",
)  # fmt: skip
def test_an_error_in_an_arm_names_the_arm(arm: dict[str, Any], message: str) -> None:
    facts = {"scheduler": "greedy", "rounds": 9, "fleet": {"clients": 4, "capacity": 6}}
    make_spec(facts | {"arms": [{"label": "one"}]})

    with pytest.raises(SpecError) as caught:
        make_spec(facts | {"arms": [{"label": "one"}, {"label": "two"} | arm]})

    assert str(caught.value) == message


def test_an_arms_data_and_partition_are_checked_before_anything_is_written(tmp_path: Path) -> None:
    facts = {"rounds": 2, "seeds": 1, "learning": {"task": "quadratic"}}
    for arm, key in (
        ({"learning.task": "quadratics"}, r"arms\[2\]\.learning\.task must be one of"),
        ({"learning.data": "x"}, r"arms\[2\]\.learning\.data must be left out: quadratic takes none, got x"),
        ({"learning.partition": "shards:2000"}, r"arms\[2\]\.learning\.partition\.num_shards_per_partition must be"),
        ({"fleet.clients": 2000}, r"arms\[2\]\.fleet\.clients must be at most 1000 \(the examples\), got 2000"),
        (
            {"learning.task": "digits"},
            r"arms\[2\]\.learning\.task must be judged by gap, as the first arm's is, got digits",
        ),
        ({"learning.aggregation": "meen"}, r"arms\[2\]\.learning\.aggregation must be one of mean, weighted"),
    ):
        spec = make_spec(facts | {"arms": [{"label": "one"}, {"label": "two"} | arm]})
        with pytest.raises(InvalidValue, match=f"^{key}"):
            run_all(spec, tmp_path / "runs", jobs=1)

    assert not (tmp_path / "runs").exists()


# arms that ran

RAN = {
    "name": "arms",
    "seeds": 2,
    "rounds": 6,
    "fleet": {"clients": 4, "capacity": 2},
    "learning": {"task": "quadratic", "step_size": 0.1},
    "evaluation": {"every": 3},
    "arms": [
        {"scheduler": "myopic"},
        {"label": "deep", "scheduler": "myopic", "fleet.capacity": "inf"},
        {"label": "sunny", "scheduler": "myopic", "fleet.rate": 0.75},
        {"label": "weighted", "scheduler": "myopic", "aggregation": "weighted"},
        {"label": "shards", "scheduler": "myopic", "learning.partition": "shards:2"},
        {"label": "wells", "scheduler": "myopic", "learning.task": "wells"},
        {"label": "short", "scheduler": "myopic", "rounds": 3},
        {"label": "dear", "scheduler": "greedy", "fleet": {"cost": [1, 2, 1, 2], "initial": 2}},
    ],
}


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "arms"
    assert [outcome.error for outcome in run_all(make_spec(RAN), folder, jobs=1)] == [None] * 16
    return folder


def test_each_arm_was_run_as_it_says(ran: Path) -> None:
    played = {path.name: Participation.load(path / "participation.npz") for path in ran.iterdir() if path.is_dir()}

    assert {len(read_history(RunFolder(ran / f"short-s{seed}").rounds)) for seed in (0, 1)} == {3}
    assert played["deep-s0"].totals.wasted == 0 and played["deep-s0"].totals.harvested > 0
    assert played["sunny-s1"].totals.harvested > played["myopic-s1"].totals.harvested
    facts = RunFolder(ran / "deep-s1").facts()
    assert facts is not None and facts["fleet"]["capacity"] == math.inf
    assert facts["arms"] == [{"label": "deep"}]


def test_energy_is_counted_at_each_clients_own_cost(ran: Path) -> None:
    """Clients 1 and 3 pay two units a round, the others one."""
    (arm,) = [arm for arm in read(ran).arms if arm.name == "dear"]
    cost = [1, 2, 1, 2]
    for trial, energy in zip(arm.trials, arm.energy, strict=True):
        played = trial.participation
        by_hand = [sum(cost[client] for client in played.clients(t)) for t in range(6)]

        assert played.spent.tolist() == by_hand
        assert played.totals.spent == sum(by_hand) > played.counts.sum()
        assert energy.tolist() == [0, sum(by_hand[:3]), sum(by_hand)]  # none before the first round


def test_differences_are_given_only_where_weather_data_and_first_model_are_the_same(ran: Path) -> None:
    found = read(ran)
    paired = {row.arm: row.difference for row in found.rows}

    assert paired["myopic"] is None  # the first is what the others are compared with
    for same in ("deep", "weighted", "dear"):  # another battery, another cost: the same sun
        difference = paired[same]
        assert isinstance(difference, Difference) and difference.n == 2
    assert [paired[other] for other in ("sunny", "shards", "wells", "short")] == [None] * 4
    assert found.shared == ()


def test_a_difference_is_that_of_the_runs_of_one_seed(ran: Path) -> None:
    final = {
        (label, seed): read_history(ran / f"{label}-s{seed}" / "rounds.jsonl")[-1].test_metric
        for label in ("myopic", "deep", "dear") for seed in (0, 1)
    }  # fmt: skip
    for label in ("deep", "dear"):
        (row,) = [row for row in read(ran).rows if row.arm == label]
        mine, theirs = ([final[name, seed] or 0.0 for seed in (0, 1)] for name in (label, "myopic"))

        assert row.difference is not None
        assert row.difference.mean == pytest.approx(sum(mine) / 2 - sum(theirs) / 2)


def test_what_was_written_runs_again_and_finds_everything_done(ran: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in ran.glob("*/rounds.jsonl")}

    again = read_spec(ran / "spec.toml")
    outcomes = run_all(again, ran, jobs=1)

    assert again.name == "arms"
    assert [outcome.error for outcome in outcomes] == [None] * 16
    assert {path: path.stat().st_mtime_ns for path in ran.glob("*/rounds.jsonl")} == before


def test_a_runs_own_spec_runs_again_as_the_same_run(ran: Path, tmp_path: Path) -> None:
    """As a comparison of one arm, somewhere else."""
    spec = read_spec(ran / "dear-s1" / "spec.toml")

    run_all(spec, tmp_path / "again", jobs=1)

    assert [run.folder_name for run in spec.runs()] == ["dear-s1"]
    assert read_history(tmp_path / "again" / "dear-s1" / "rounds.jsonl") == read_history(
        ran / "dear-s1" / "rounds.jsonl"
    )


def test_an_arm_that_changes_since_it_was_run_is_refused(ran: Path) -> None:
    arms = [arm if arm.get("label") != "deep" else arm | {"fleet.capacity": 9} for arm in RAN["arms"]]  # type: ignore[attr-defined]

    with pytest.raises(ValueError, match=r"deep-s0 belongs to another run \(fleet.capacity is inf there and 9 here\)"):
        run_all(make_spec(RAN | {"arms": arms}), ran, jobs=1)


def test_arms_in_joules_stand_beside_none_in_units() -> None:
    spec = {"fleet": {"round_length": 60, "arrival": 2, "cost": 1, "capacity": 9}, "learning": {"task": "quadratic"}}
    arms = [{"label": "minutes"}, {"label": "hours", "fleet": {"round_length": "1 h", "cost": 3}}]

    lengths = [arm.setting.fleet.round_length for arm in make_spec(spec | {"arms": arms}).arms]
    assert lengths == [60, 3600]
    late = [{"label": "units"}, {"label": "joules", "fleet": spec["fleet"]}]
    with pytest.raises(SpecError, match=r"arms\[2\].fleet.round_length must be left out, as in the first arm"):
        make_spec({"learning": spec["learning"], "arms": late})
