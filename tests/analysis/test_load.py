"""From folders back to figures: a small experiment that really ran, and what is said of files out of order."""

from __future__ import annotations

import json
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ehfl.analysis import Comparison, Missing, read, rounds_to, unlisted_runs
from ehfl.experiment import Outcome, Run, make_spec, read_spec, run_all, write_spec
from ehfl.experiment.spec.build import fleet_of, scheduler_of
from ehfl.learning import load_task, train
from ehfl.runs import RunFolder, read_history, write_sealed
from ehfl.scheduling import simulate
from ehfl.validation import UserError

FACTS: dict[str, Any] = {
    "name": "small",
    "rounds": 6,
    "seeds": [4, 1],
    "arms": [{"scheduler": "myopic"}, {"scheduler": "greedy", "label": "Greedy, slow", "step_size": 0.05}],
    "fleet": {"clients": 4, "rate": 0.6, "initial": 1},
    "learning": {"task": "quadratic", "local_steps": 2, "batch_size": 10, "step_size": 0.2, "device": "cpu"},
    "evaluation": {"every": 2},
}
METRIC: dict[str, Any] = {"name": "gap", "lower_is_better": True, "bounds": [None, None]}
RUNS = ["myopic-s4", "greedy-slow-s4", "myopic-s1", "greedy-slow-s1"]


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[Outcome]]:
    folder = tmp_path_factory.mktemp("runs") / "small"
    return folder, run_all(make_spec(FACTS), folder, jobs=1)


@pytest.fixture
def folder(ran: tuple[Path, list[Outcome]], tmp_path: Path) -> Path:
    """A copy, to be damaged."""
    return shutil.copytree(ran[0], tmp_path / "small")


@pytest.fixture
def other(folder: Path) -> Path:
    """The same runs under another name."""
    there = shutil.copytree(folder, folder.with_name("other"))
    rewrite(there, name="other")
    return there


def rewrite(folder: Path, **facts: Any) -> None:
    write_sealed(folder, write_spec(make_spec(FACTS | facts).facts()))


def add_meta(run: Path, **facts: Any) -> None:
    RunFolder(run).add_meta(**facts)


def refusal(read: Callable[[], object]) -> str:
    with pytest.raises(UserError) as caught:
        read()
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    return message


# what was run is what is read


def test_every_run_ends_and_has_its_folder(ran: tuple[Path, list[Outcome]]) -> None:
    folder, outcomes = ran

    assert [(outcome.arm, outcome.seed, outcome.error) for outcome in outcomes] == [
        ("myopic", 4, None), ("Greedy, slow", 4, None), ("myopic", 1, None), ("Greedy, slow", 1, None),
    ]  # fmt: skip
    assert sorted(path.name for path in folder.iterdir() if path.is_dir()) == sorted(RUNS)
    for name in RUNS:
        meta = RunFolder(folder / name).meta()
        assert meta["status"] == "finished"
        assert meta["metric"] == METRIC
        assert meta["error"] is None


def directly(run: Run) -> tuple[list[int], list[float]]:
    """Return the counts and the evaluations of a run, played and trained without a folder."""
    played = simulate(fleet_of(run.setting), scheduler_of(run.setting), rounds=6, seed=run.seed)
    value = 0.05 if run.arm.label == "Greedy, slow" else 0.2
    history = train(load_task("quadratic"), played, local_steps=2, batch_size=10, step_size=value, seed=run.seed,
                    eval_every=2, device="cpu", workers=1)  # fmt: skip
    return played.counts.tolist(), [found.metric for found in history.evaluations]


def test_what_is_read_is_what_simulation_and_training_say(ran: tuple[Path, list[Outcome]]) -> None:
    results = read(ran[0])
    myopic, greedy = results.arms

    assert (myopic.name, myopic.seeds, greedy.name, greedy.seeds) == ("myopic", (1, 4), "Greedy, slow", (1, 4))
    assert myopic.evaluated.tolist() == [0, 2, 4, 6]
    for run in make_spec(FACTS).runs():
        arm = myopic if run.arm.label == "myopic" else greedy
        at = arm.seeds.index(run.seed)
        counts, curve = directly(run)
        assert arm.counts[at].tolist() == counts
        assert arm.metric[at].tolist() == curve
    assert results.missing == ()
    assert [meta["status"] for meta in results.metas] == ["finished"] * 4
    assert results.specs == (write_spec(make_spec(FACTS).facts()),)


def test_epochs_are_counted_in_steps_where_it_is_known_what_clients_hold(tmp_path: Path) -> None:
    learning = {"task": "digits", "local_epochs": 2, "batch_size": 50, "device": "cpu"}
    facts = {"name": "epochs", "rounds": 1, "seeds": 1, "schedulers": ["always-on"], "fleet": {"clients": 10}}
    run_all(make_spec(facts | {"learning": learning}), tmp_path / "epochs", jobs=1)

    (arm,) = read(tmp_path / "epochs").arms
    assert arm.trials[0].labels is not None and arm.trials[0].labels.sum() == 1437  # 143 or 144 a client: 3 batches
    assert arm.trials[0].local_steps == 6


def test_the_spec_decides_target_and_goal(folder: Path) -> None:
    plain = read(folder)
    assert (plain.name, plain.worlds[0].target, plain.metric.lower_is_better) == ("small", 2, True)  # 4 x 0.6, whole
    assert plain.goal == max(arm.metric.min(axis=1).max() for arm in plain.arms)

    rewrite(folder, evaluation={"every": 2, "goal": 3.0})
    other = read(folder)
    assert other.goal == 3.0
    assert read(folder, goal=2.5).goal == 2.5


def test_energy_is_counted_at_the_specs_cost(ran: tuple[Path, list[Outcome]]) -> None:
    for arm in read(ran[0]).arms:
        assert arm.energy.tolist() == [[0, *curve] for curve in np.cumsum(arm.counts, axis=1)[:, [1, 3, 5]].tolist()]


def test_running_again_runs_nothing(folder: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in folder.glob("*/rounds.jsonl")}
    outcomes = run_all(make_spec(FACTS), folder, jobs=1)

    assert [outcome.error for outcome in outcomes] == [None] * 4
    assert {path: path.stat().st_mtime_ns for path in folder.glob("*/rounds.jsonl")} == before


def test_a_folder_of_another_spec_is_not_written_to(folder: Path) -> None:
    changed = make_spec(FACTS | {"evaluation": {"every": 3}})

    message = refusal(lambda: run_all(changed, folder, jobs=1))
    assert "myopic-s4 belongs to another run (evaluation.every is 2 there and 3 here)" in message
    assert (folder / "spec.toml").read_text(encoding="utf-8").startswith(write_spec(make_spec(FACTS).facts()))


# several folders


def test_two_experiments_have_arms_named_after_both(folder: Path, other: Path) -> None:
    results = read(folder, other)

    assert [arm.name for arm in results.arms] == [
        "small: myopic", "small: Greedy, slow", "other: myopic", "other: Greedy, slow",
    ]  # fmt: skip
    assert results.name == "small and other"
    assert len(results.specs) == 2 and len(results.metas) == 8
    against = results.rows[2].difference
    assert against is not None and (against.mean, against.n) == (0, 2)  # the same runs


def test_a_single_run_is_a_comparison_of_one(ran: tuple[Path, list[Outcome]]) -> None:
    results = read(ran[0] / "greedy-slow-s1")

    (arm,) = results.arms
    assert (arm.name, arm.seeds, results.missing) == ("Greedy, slow", (1,), ())
    assert results.rows[0].final.low is None


def test_single_runs_of_one_experiment_stand_side_by_side(ran: tuple[Path, list[Outcome]]) -> None:
    results = read(ran[0] / "greedy-slow-s1", ran[0] / "myopic-s1")

    assert [arm.name for arm in results.arms] == ["Greedy, slow", "myopic"]
    assert results.rows[1].difference is not None


def test_a_run_does_not_count_twice(ran: tuple[Path, list[Outcome]]) -> None:
    folder = ran[0]

    assert refusal(lambda: read(folder, folder)) == "myopic has seed 1 twice: a run counts once"
    assert "myopic has seed 4 twice" in refusal(lambda: read(folder, folder / "myopic-s4"))


# what is not there, or not whole


def missing_after(folder: Path, harm: Callable[[Path], object]) -> Comparison:
    harm(folder / "greedy-slow-s4")
    return read(folder)


@pytest.mark.parametrize(
    ("harm", "why"),
    [
        (lambda run: add_meta(run, status="running"), "not finished"),
        (lambda run: add_meta(run, status="failed", error="no memory"), "failed: no memory"),
        (lambda run: (run / "meta.json").unlink(), "not finished"),
        (shutil.rmtree, "not finished"),
    ],
    ids=["running", "failed", "not begun", "no folder"],
)
def test_a_run_that_is_not_finished_is_named_and_left_out(
    folder: Path, harm: Callable[[Path], object], why: str
) -> None:
    results = missing_after(folder, harm)

    assert list(map(str, results.missing)) == [f"Greedy, slow seed 4 ({why})"]
    assert [arm.seeds for arm in results.arms] == [(1, 4), (1,)]
    assert len(results.metas) == 3
    against = results.rows[1].difference
    assert against is not None and against.n == 1


def test_where_the_first_arm_has_no_finished_run_the_next_one_is_the_baseline(folder: Path) -> None:
    for name in RUNS:
        if name.startswith("myopic"):
            add_meta(folder / name, status="failed", error="no memory")

    found = read(folder)

    assert [world.baseline for world in found.worlds] == ["Greedy, slow"]
    assert sorted(map(str, found.missing)) == [f"myopic seed {seed} (failed: no memory)" for seed in (1, 4)]


@pytest.mark.parametrize("name", ["data", "mine:Mine"])
def test_runs_of_other_data_or_code_are_not_one_arm(folder: Path, name: str) -> None:
    add_meta(folder / "greedy-slow-s4", inputs={name: "another"})

    expected = "Greedy, slow has runs of different specs, data or code: give the experiments different names"
    assert refusal(lambda: read(folder)) == expected


def test_runs_on_other_data_are_no_pairs(folder: Path) -> None:
    for name in RUNS:
        if name.startswith("greedy"):
            add_meta(folder / name, inputs={"data": "another"})

    assert read(folder).rows[1].difference is None


def test_without_any_finished_run_there_is_nothing_to_compare(folder: Path) -> None:
    for name in RUNS:
        add_meta(folder / name, status="running")

    assert refusal(lambda: read(folder)) == f"no finished runs in {folder}"


def test_a_folder_without_a_spec_is_no_experiment(tmp_path: Path) -> None:
    assert refusal(lambda: read(tmp_path)) == f"{tmp_path} is not a run folder: it has no spec.toml"
    absent = tmp_path / "absent"
    assert refusal(lambda: read(absent)) == f"{absent} is not a run folder: it has no spec.toml"


def cut(path: Path, left: int) -> None:
    path.write_bytes(path.read_bytes()[:left])


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def change(path: Path, old: str, new: str) -> None:
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")


def drop_last_round(run: Path) -> None:
    lines = (run / "rounds.jsonl").read_bytes().splitlines(keepends=True)
    (run / "rounds.jsonl").write_bytes(b"".join(lines[:-1]))


def change_first(run: Path, **facts: Any) -> None:
    path = run / "rounds.jsonl"
    first, *rest = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([json.dumps(json.loads(first) | facts), *rest, ""]), "utf-8")


DAMAGE: dict[str, tuple[str, Callable[[Path], object]]] = {
    "no participation": ("participation.npz", lambda run: (run / "participation.npz").unlink()),
    "participation cut": ("participation.npz", lambda run: cut(run / "participation.npz", 100)),
    "participation empty": ("participation.npz", lambda run: cut(run / "participation.npz", 0)),
    "participation, another run's": (
        "participation.npz",
        lambda run: shutil.copy(run.with_name("myopic-s4") / "participation.npz", run),
    ),
    "participation, a folder": (
        "participation.npz",
        lambda run: make_folder(run / "participation.npz"),
    ),
    "a line torn": ("rounds.jsonl", lambda run: cut(run / "rounds.jsonl", -9)),
    "a line lost": ("rounds.jsonl", drop_last_round),
    "rounds lost": ("rounds.jsonl", lambda run: (run / "rounds.jsonl").unlink()),
    "a metric changed": ("rounds.jsonl", lambda run: change_first(run, first_metric=0.92)),
    "a time changed": ("rounds.jsonl", lambda run: change_first(run, seconds=3.0)),
    "model lost": ("checkpoint.safetensors", lambda run: (run / "checkpoint.safetensors").unlink()),
    "model, garbage": ("checkpoint.safetensors", lambda run: (run / "checkpoint.safetensors").write_bytes(b"garbage")),
    "model, an earlier one": (
        "checkpoint.safetensors",
        lambda run: shutil.copy(run / "checkpoint-previous.safetensors", run / "checkpoint.safetensors"),
    ),
    "meta, no JSON": ("meta.json", lambda run: cut(run / "meta.json", 20)),
    "meta, a list": ("meta.json", lambda run: (run / "meta.json").write_text("[1]")),
    "meta, not text": ("meta.json", lambda run: (run / "meta.json").write_bytes(b"\xff\xfe")),
    "meta, nested": ("meta.json", lambda run: (run / "meta.json").write_text('{"a": ' * 100_000)),
    "meta, of an older version": ("meta.json", lambda run: (run / "meta.json").write_text('{"status": "finished"}')),
    "meta, a folder": ("meta.json", lambda run: make_folder(run / "meta.json")),
    "meta, another status": ("meta.json", lambda run: change(run / "meta.json", '"finished"', '"running"')),
    "meta, another metric": ("meta.json", lambda run: change(run / "meta.json", '"gap"', '"gas"')),
    "meta, no metric's name": ("meta.json", lambda run: change(run / "meta.json", '"gap"', "null")),
    "spec cut": ("spec.toml", lambda run: cut(run / "spec.toml", 80)),
    "spec empty": ("spec.toml", lambda run: cut(run / "spec.toml", 0)),
    "spec changed": ("spec.toml", lambda run: change(run / "spec.toml", "local_steps = 2", "local_steps = 3")),
    "spec, a folder": ("spec.toml", lambda run: make_folder(run / "spec.toml")),
}

# What no digest shows, since whoever wrote it gave it one.
FORGED: dict[str, tuple[str, Callable[[Path], object], str]] = {
    "participation cut": (
        "participation.npz",
        lambda run: cut(run / "participation.npz", 100),
        "is not a participation",
    ),
    "participation of another run": (
        "participation.npz",
        lambda run: shutil.copy(run.with_name("myopic-s4") / "participation.npz", run),
        "does not fit",
    ),
    "a line torn": ("rounds.jsonl", lambda run: cut(run / "rounds.jsonl", -9), "has 5 rounds, its spec 6"),
    "rounds lost": ("rounds.jsonl", lambda run: (run / "rounds.jsonl").write_bytes(b""), "has 0 rounds, its spec 6"),
    "no JSON lines": (
        "rounds.jsonl",
        lambda run: (run / "rounds.jsonl").write_bytes(b"\xff\n" * 6),
        "damaged at byte 0",
    ),
    "other participants": ("rounds.jsonl", lambda run: change_first(run, participants=3), "does not fit"),
    "a metric without a name": ("meta.json", lambda run: add_meta(run, metric=METRIC | {"name": None}), "got None"),
    "a metric without bounds": ("meta.json", lambda run: add_meta(run, metric={"name": "gap"}), "what its metric is"),
    "no metric": ("meta.json", lambda run: add_meta(run, metric=None), "does not say what its metric is"),
    "a name with escape codes": (
        "meta.json",
        lambda run: add_meta(run, metric=METRIC | {"name": "\x1b[31mgap"}),
        "metric.name must be at most 40 printable characters",
    ),
    "no inputs": ("meta.json", lambda run: add_meta(run, inputs=3), "does not say what the run was made from"),
    "no digests": ("participation.npz", lambda run: add_meta(run, digests=None), "was edited after the run ended"),
}


def drop_key(path: Path, key: str) -> None:
    """Leave a key out of a spec, which stays TOML."""
    facts = inner = tomllib.loads(path.read_text(encoding="utf-8"))
    *sections, last = key.split(".")
    for section in sections:
        inner = inner[section]
    del inner[last]
    write_sealed(path.parent, write_spec(facts))


@pytest.mark.parametrize("place", ["", "greedy-slow-s1"], ids=["experiment", "run"])
@pytest.mark.parametrize(
    "key",
    ["name", "rounds", "seeds", "arms", "scheduler", "scheduler.name", "fleet.clients", "fleet.harvest", "learning",
     "learning.task", "learning.partition.name", "learning.order", "learning.local_steps", "evaluation.goal"],
)  # fmt: skip
def test_a_spec_of_another_kind_is_named(folder: Path, place: str, key: str) -> None:
    drop_key(folder / place / "spec.toml", key)

    expected = f"{folder / place / 'spec.toml'} is no spec that this version of ehfl wrote: it has no {key}"
    assert refusal(lambda: read(folder)).startswith(expected)
    assert refusal(lambda: read(folder / place)).startswith(expected)


@pytest.mark.parametrize("place", ["", "greedy-slow-s1"], ids=["experiment", "run"])
@pytest.mark.parametrize(("key", "text"), [("name", "small"), ("label", "Greedy, slow")])
def test_a_spec_whose_names_would_steer_the_terminal_is_refused(folder: Path, place: str, key: str, text: str) -> None:
    path = folder / place / "spec.toml"
    spec, _, _ = path.read_text(encoding="utf-8").rpartition("# sha256")
    write_sealed(path.parent, spec.replace(f'{key} = "{text}"', f'{key} = "{text}\\u001B[31m"'))

    for given in (folder, folder / place):
        message = refusal(lambda given=given: read(given))  # type: ignore[misc]
        assert message.startswith(f"{key} in {path} must be ") and message.endswith(f"got {text}\\x1b[31m")


def test_folders_beside_the_runs_are_none(folder: Path) -> None:
    """Another comparison, a report, a folder of one's own: none of them is a run."""
    before = read(folder).rows
    (folder / "zzz").mkdir()
    shutil.copy(folder / "spec.toml", folder / "zzz")
    (folder / "notes").mkdir()
    (folder / "notes" / "spec.toml").write_text("mine = 1")

    assert read(folder).rows == before
    assert unlisted_runs(folder) == []


def test_runs_that_the_spec_does_not_name_are_listed(folder: Path) -> None:
    shutil.copy(folder / "greedy-slow-s1" / "spec.toml", folder)

    assert unlisted_runs(folder) == ["greedy-slow-s4", "myopic-s1", "myopic-s4"]


def test_a_run_is_looked_for_under_its_own_name(folder: Path) -> None:
    (folder / "myopic-s4").rename(folder / "moved")

    assert read(folder).missing == (Missing("myopic", 4),)
    assert read(folder / "moved").arms[0].seeds == (4,)


@pytest.mark.parametrize(("name", "harm"), DAMAGE.values(), ids=DAMAGE)
def test_a_damaged_file_is_named(folder: Path, name: str, harm: Callable[[Path], object]) -> None:
    run = folder / "greedy-slow-s1"
    harm(run)

    for place in (folder, run):
        message = refusal(lambda place=place: read(place))  # type: ignore[misc]
        assert message.startswith(str(run / name))
        assert message.endswith(f": delete {run} to run it again")


@pytest.mark.parametrize(("name", "harm", "reason"), FORGED.values(), ids=FORGED)
def test_a_forged_file_is_named(folder: Path, name: str, harm: Callable[[Path], object], reason: str) -> None:
    for other in RUNS:
        add_meta(folder / other, metric=METRIC | {"bounds": [0, None]})
    run = RunFolder(folder / "greedy-slow-s1")
    harm(run.path)
    if reason != "was edited after the run ended":
        add_meta(run.path, digests=run._digests())

    message = refusal(lambda: read(folder))
    assert str(run.path / name) in message
    assert reason in message
    assert message.endswith(f": delete {run.path} to run it again")


@pytest.mark.parametrize("harm", ["empty", "cut", "changed", "no longer sealed"])
def test_a_damaged_spec_of_a_comparison_costs_no_run(folder: Path, harm: str) -> None:
    path = folder / "spec.toml"
    whole = path.read_text(encoding="utf-8")
    text = {"empty": "", "cut": whole[:120], "changed": whole.replace("goal", "gaol")}
    path.write_text(text.get(harm, whole[: whole.rindex("#")]), encoding="utf-8")
    before = {run: run.stat().st_mtime_ns for run in folder.glob("*/*")}
    remedy = "its runs may be intact: ehfl compare with their spec writes it again"

    message = refusal(lambda: read(folder))
    assert message.startswith(f"{path} is damaged (it ")
    assert message.endswith(remedy)
    assert refusal(lambda: run_all(make_spec(FACTS | {"seeds": [77]}), folder, jobs=1)).endswith(remedy)  # no run fits
    assert "cannot be read" in refusal(lambda: read_spec(path))
    assert {run: run.stat().st_mtime_ns for run in folder.glob("*/*")} == before

    assert [outcome.error for outcome in run_all(make_spec(FACTS), folder, jobs=1)] == [None] * 4
    assert path.read_text(encoding="utf-8") == whole
    assert {run: run.stat().st_mtime_ns for run in folder.glob("*/*")} == before


def test_a_copy_of_a_spec_may_be_changed(folder: Path, tmp_path: Path) -> None:
    text = (folder / "spec.toml").read_text(encoding="utf-8")
    (tmp_path / "mine.toml").write_text(text.replace("rounds = 6", "rounds = 7"), encoding="utf-8")

    assert read_spec(folder / "spec.toml").base.rounds == 6
    assert read_spec(tmp_path / "mine.toml").base.rounds == 7


def test_runs_under_each_others_names_are_refused(folder: Path) -> None:
    (folder / "myopic-s4").rename(folder / "aside")
    (folder / "myopic-s1").rename(folder / "myopic-s4")
    (folder / "aside").rename(folder / "myopic-s1")

    assert "myopic-s4 belongs to another run (seeds is [1] there and [4] here)" in refusal(lambda: read(folder))


def test_a_run_of_another_spec_in_the_folder_is_refused(folder: Path) -> None:
    rewrite(folder, learning=FACTS["learning"] | {"local_steps": 1})

    assert "belongs to another run (learning.local_steps is 2 there and 1 here)" in refusal(lambda: read(folder))


def test_a_run_of_what_the_arm_was_before_is_refused(folder: Path) -> None:
    rewrite(folder, arms=[{"scheduler": "myopic"}, {"scheduler": "greedy", "label": "Greedy, slow", "step_size": 0.04}])

    message = refusal(lambda: read(folder))
    assert "greedy-slow-s4 belongs to another run (learning.step_size.value is 0.05 there and 0.04 here)" in message


def test_different_metrics_are_refused(folder: Path, other: Path) -> None:
    for name in RUNS:
        add_meta(other / name, metric={"name": "accuracy", "lower_is_better": False, "bounds": [0, 1]})

    expected = "runs with different metrics cannot be put together: accuracy, gap"
    assert refusal(lambda: read(folder, other)) == expected


def test_rounds_to_the_goal_come_from_the_files(ran: tuple[Path, list[Outcome]]) -> None:
    """The gap of a quadratic under small steps only falls, so half way between two evaluations is a round between."""
    folder = ran[0]
    records = read_history(folder / "myopic-s1" / "rounds.jsonl")
    first, second = (float(record.test_metric or 0) for record in records if record.round in (1, 3))
    assert second < first
    comparison = read(folder)

    assert rounds_to((first + second) / 2, comparison.arms[0], comparison.metric)[0] == pytest.approx(3)
