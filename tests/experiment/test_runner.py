"""The runner: what it runs, what it leaves alone, what it refuses."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ehfl import Bernoulli, Fleet, Myopic, load_task, simulate, train
from ehfl.analysis import read
from ehfl.experiment import Outcome, Spec, State, execute, make_spec, read_spec, run_all
from ehfl.experiment.run import compare as runner
from ehfl.experiment.run.execute import Cores
from ehfl.runs import InUse, OtherRun, RunFolder, read_history
from ehfl.validation import InvalidValue, UserError

SMALL = ["learning.task=quadratic", "rounds=6", "seeds=2", "schedulers=['myopic', 'greedy']", "evaluation.every=2"]


def small(*more: str) -> Spec:
    given = [change.partition("=")[0] for change in more]
    kept = [one for one in SMALL if not any(f"{one.partition('=')[0]}.".startswith(f"{key}.") for key in given)]
    return read_spec(overrides=[*kept, *more])


def started(experiment: Path) -> dict[str, str]:
    """When each run was last started, in nanoseconds of its meta.json's file time."""
    return {path.parent.name: str(path.stat().st_mtime_ns) for path in experiment.glob("*/meta.json")}


def content(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_run_is_what_simulate_and_train_give(tmp_path: Path) -> None:
    run_all(small(), tmp_path, jobs=1)

    played = simulate(Fleet(10, Bernoulli(0.5)), Myopic(), 6, seed=1)
    history = train(load_task("quadratic"), played, seed=1, eval_every=2)
    assert read_history(tmp_path / "myopic-s1" / "rounds.jsonl") == list(history.records)


def test_how_a_participant_trains_and_the_server_aggregates_is_as_the_spec_says(tmp_path: Path) -> None:
    given = {"local_steps": 2, "batch_size": 7, "clip": 0.5, "weight_decay": 0.1, "partition": "shards:3",
             "aggregation": "weighted", "step_size": "linear"}  # fmt: skip
    facts = {"rounds": 6, "seeds": [3], "scheduler": "myopic", "learning": {"task": "quadratic", **given}}

    run_all(make_spec(facts), tmp_path, jobs=1)

    played = simulate(Fleet(10, Bernoulli(0.5)), Myopic(), 6, seed=3)
    history = train("quadratic", played, seed=3, eval_every=5, **given)  # type: ignore[arg-type]
    assert read_history(tmp_path / "myopic-s3" / "rounds.jsonl") == list(history.records)


def test_every_arm_meets_the_same_weather(tmp_path: Path) -> None:
    run_all(small(), tmp_path, jobs=1)

    for first, second in zip(*(arm.trials for arm in read(tmp_path).arms), strict=True):
        assert first.seed == second.seed
        assert first.participation.totals.harvested == second.participation.totals.harvested


def test_two_processes_give_the_numbers_of_one(tmp_path: Path) -> None:
    run_all(small(), tmp_path / "one", jobs=1)
    run_all(small(), str(tmp_path / "two"), jobs=2)

    for run in small().runs():
        one, two = (RunFolder(tmp_path / place / run.folder_name) for place in ("one", "two"))
        assert read_history(one.rounds) == read_history(two.rounds)
        assert (one.path / "checkpoint.safetensors").read_bytes() == (two.path / "checkpoint.safetensors").read_bytes()


def test_finished_runs_are_not_run_again_and_new_seeds_are_added(tmp_path: Path) -> None:
    run_all(small(), tmp_path, jobs=1)
    before = started(tmp_path)

    run_all(small("seeds=3", "name=other", "evaluation.goal=0.5"), tmp_path, jobs=1)

    after = started(tmp_path)
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) == {"myopic-s2", "greedy-s2"}


def test_new_arms_are_added_to_those_that_are_there(tmp_path: Path) -> None:
    run_all(small("schedulers=['greedy']"), tmp_path, jobs=1)
    before = started(tmp_path)
    arms = "arms=[{scheduler='greedy'}, {label='deep', scheduler='greedy', fleet={capacity=1}}]"

    run_all(read_spec(overrides=[*(one for one in SMALL if "schedulers" not in one), arms]), tmp_path, jobs=1)

    after = started(tmp_path)
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) == {"deep-s0", "deep-s1"}


def test_a_folder_of_another_spec_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    run_all(small("schedulers=['greedy']", "seeds=1"), tmp_path, jobs=1)
    before = content(tmp_path)

    with pytest.raises(OtherRun, match=r"belongs to another run \(rounds is 6 there and 5 here\)"):
        run_all(small("rounds=5"), tmp_path, jobs=1)

    assert content(tmp_path) == before


FAILING = """
import sys
class Failing:
    def select(self, view):
        if view.round == 25:  # later than a scheduler is tried before the start
            {failure}
        return []
"""


@pytest.mark.parametrize(
    ("failure", "seen"),
    [("raise RuntimeError('the sun went out')", "RuntimeError: the sun went out"), ("sys.exit(0)", "SystemExit: 0")],
)
def test_a_failing_arm_is_reported_and_the_others_finish(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, failure: str, seen: str
) -> None:
    (tmp_path / "failing_scheduler.py").write_text(FAILING.format(failure=failure))
    monkeypatch.syspath_prepend(tmp_path)
    spec = small("schedulers=['failing_scheduler:Failing', 'greedy']", "seeds=1", "rounds=30")

    broken, greedy = run_all(spec, tmp_path / "runs", jobs=1)

    assert broken.error == f"Failing fails: round 25, {seen} (failing_scheduler.py:6)"
    assert greedy.error is None
    meta = RunFolder(tmp_path / "runs" / "failing-scheduler-failing-s0").meta()
    assert (meta["status"], meta["error"]) == ("failed", broken.error)
    assert failure in "".join(meta["traceback"])
    (missing,) = read(tmp_path / "runs").missing
    assert str(missing).startswith("failing_scheduler:Failing seed 0 (failed: ")


HOLD = "import sys; from pathlib import Path; from ehfl.runs import sole_use\n" \
       "with sole_use(Path(sys.argv[1])): print('in', flush=True); sys.stdin.read()"  # fmt: skip


def test_a_second_process_in_a_folder_is_refused(tmp_path: Path) -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", HOLD, tmp_path], stdin=pipe, stdout=pipe) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        with pytest.raises(InUse, match="in use by another process"):
            run_all(small(), tmp_path, jobs=1)
        played = simulate(Fleet(10, Bernoulli(0.5)), Myopic(), 2)
        with pytest.raises(InUse, match="in use by another process"):
            train(load_task("quadratic"), played, run_dir=tmp_path)
        holder.kill()

    assert list(tmp_path.iterdir()) == []


CHOOSY = "schedulers=['greedy', 'power-of-choice']"


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["learning.task=digit"], r"learning.task must be one of .* got digit .did you mean digits"),
        (["learning.aggregation=meen"], r"learning.aggregation must be one of .* got meen .did you mean mean"),
        (
            ["learning={task='digits', partition='dirichlet:0.01'}", "fleet.clients=60"],
            r"learning.partition.alpha must be so large that at least 10 of the 1437 examples .* got 0.01",
        ),
        (["fleet.clients=2000"], r"fleet.clients must be at most 1000 \(the examples\), got 2000"),
        (["learning.data=nowhere"], r"learning.data must be left out: quadratic takes none, got nowhere"),
        (
            ["learning={task='digits'}", "evaluation.goal=1.5"],
            r"evaluation.goal must be .*\[0, 1\].* got 1.5",
        ),
        (["learning.device=cuda"], r"learning.device must be "),
        (
            [CHOOSY],
            r"learning.step_size must be one that looks at past rounds alone, such as nominal-causal, since "
            r"power-of-choice chooses by losses, got nominal",
        ),
        ([CHOOSY, "learning.step_size=linear"], r"learning.step_size must be one that looks at past .* got linear"),
    ],
)
def test_what_cannot_be_learned_is_refused_before_anything_is_written(
    overrides: list[str], message: str, tmp_path: Path
) -> None:
    if "learning.device=cuda" in overrides and pytest.importorskip("torch").cuda.is_available():
        pytest.skip("there is such a device here")

    with pytest.raises(UserError, match=f"^{message}"):
        run_all(small(*overrides), tmp_path / "runs", jobs=1)

    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("name", "value"), [("jobs", 0), ("jobs", -1), ("jobs", 2.0), ("on", "moon")])
def test_where_to_run_is_checked_before_anything_is_written(name: str, value: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=f"^{name} must be .*, got {value}$"):
        run_all(small(), tmp_path / "runs", **{name: value})

    assert not (tmp_path / "runs").exists()


def test_states_are_given_while_the_work_goes_on(tmp_path: Path) -> None:
    looks: list[list[State]] = []

    run_all(small(), tmp_path, jobs=1, on_look=looks.append)

    assert [(state.arm, state.seed, state.rounds, state.total) for state in looks[-1]] == [
        ("myopic", 0, 6, 6), ("greedy", 0, 6, 6), ("myopic", 1, 6, 6), ("greedy", 1, 6, 6)
    ]  # fmt: skip
    assert all(state.metric is not None for state in looks[-1])


def test_the_first_state_is_that_before_the_work_however_quick_the_work_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "POLL_SECONDS", threading.TIMEOUT_MAX)  # the work is over before the next look
    looks: list[list[State]] = []

    run_all(small("seeds=1"), tmp_path, jobs=1, on_look=looks.append)
    run_all(small("seeds=2"), tmp_path, jobs=1, on_look=looks.append)

    assert [[state.rounds for state in states] for states in looks] == [[0, 0], [6, 6], [6, 6, 0, 0], [6, 6, 6, 6]]


def test_a_failure_is_shown_when_it_happens_and_an_old_one_is_no_news(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "failing_scheduler.py").write_text(FAILING.format(failure="raise RuntimeError"))
    monkeypatch.syspath_prepend(tmp_path)
    spec = small("schedulers=['failing_scheduler:Failing']", "seeds=1", "rounds=30")

    for _ in range(2):
        looks: list[list[State]] = []
        (outcome,) = run_all(spec, tmp_path / "runs", jobs=1, on_look=looks.append)

        assert not looks[0][0].over
        assert looks[-1][0].over
        assert looks[-1][0].error == outcome.error


def test_another_comparison_of_the_same_name_is_refused_though_its_runs_would_be_new(tmp_path: Path) -> None:
    run_all(small(), tmp_path, jobs=1)
    before = (tmp_path / "spec.toml").read_bytes()

    with pytest.raises(OtherRun, match=r"belongs to another run \(rounds is 6 there and 5 here\)"):
        run_all(small("rounds=5", "schedulers=['round-robin:1']"), tmp_path, jobs=1)

    assert (tmp_path / "spec.toml").read_bytes() == before


def test_reading_results_imports_nothing_that_a_spec_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone_scheduler.py").write_text("class Mine:\n    def select(self, view):\n        return []\n")
    with monkeypatch.context() as there:
        there.syspath_prepend(tmp_path)
        run_all(small("schedulers=['greedy', 'gone_scheduler:Mine']", "seeds=1"), tmp_path / "runs", jobs=1)
    sys.modules.pop("gone_scheduler", None)
    (tmp_path / "gone_scheduler.py").unlink()

    assert [row.arm for row in read(tmp_path / "runs").rows] == ["greedy", "gone_scheduler:Mine"]


@pytest.mark.slow
def test_a_run_that_kills_its_worker_every_time_fails_alone_and_one_that_does_so_once_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(Path(__file__).parents[1] / "mortal_scheduler.py", tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    schedulers = "schedulers=['mortal_scheduler:Mortal:always=true', 'mortal_scheduler:Mortal', 'greedy']"

    always, once, greedy = run_all(small(schedulers, "seeds=1"), tmp_path / "runs", jobs=2)

    assert (tmp_path / "died").exists()
    assert always.error is not None and always.error.startswith("its worker process was killed")
    assert [once.error, greedy.error] == [None, None]
    meta = RunFolder(tmp_path / "runs" / "mortal-scheduler-mortal-always-true-s0").meta()
    assert (meta["status"], meta["error"]) == ("failed", always.error)
    finished = [path.parent.name for path in (tmp_path / "runs").glob("*/meta.json") if RunFolder(path.parent).finished]
    assert sorted(finished) == ["greedy-s0", "mortal-scheduler-mortal-s0"]


@pytest.mark.parametrize(
    ("scheduler", "jobs", "apart"), [("mortal_scheduler:Mortal", None, True), ("mortal_scheduler:Mortal", 1, False),
                                     ("greedy", None, False)]
)  # fmt: skip
def test_code_of_ones_own_cannot_end_this_process_unless_it_was_asked_to_run_it(
    scheduler: str, jobs: int | None, apart: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(Path(__file__).parents[1] / "mortal_scheduler.py", tmp_path)
    (tmp_path / "died").touch()
    monkeypatch.syspath_prepend(tmp_path)
    asked: list[int] = []

    def call_all(calls: list[Callable[[], Outcome]], workers: int, crew: object) -> list[Outcome]:
        asked.extend([workers] if crew else [])
        return [call() for call in calls]

    monkeypatch.setattr(runner, "call_all", call_all)

    run_all(small(f"schedulers=['{scheduler}']", "seeds=1"), tmp_path / "runs", jobs=jobs)

    assert asked == ([1] if apart else [])


def test_a_refused_process_changes_nothing_in_the_folder(tmp_path: Path) -> None:
    run_all(small(), tmp_path, jobs=1)
    before = content(tmp_path)
    (other,) = small("rounds=5", "schedulers=['myopic']", "seeds=1").runs()
    (same,) = small("name=another", "schedulers=['myopic']", "seeds=1").runs()
    folder = RunFolder(tmp_path / "myopic-s0")

    outcome = execute(other, folder, Cores(1), inputs={"data": "x"})
    changed = execute(same, folder, Cores(1), inputs={"data": "x"})

    assert outcome.error is not None and "belongs to another run (rounds is 6 there and 5 here)" in outcome.error
    assert changed.error is not None and "was run with other data" in changed.error
    assert content(tmp_path) == before
