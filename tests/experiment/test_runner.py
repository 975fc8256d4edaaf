"""The runner: what it runs, what it leaves alone, what it refuses."""

from __future__ import annotations

import shutil
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from joblib.externals.loky import get_reusable_executor

from ehfl import Bernoulli, Fleet, Myopic, load_task, simulate, train
from ehfl.experiment import RunFolder, Spec, SpecError, State, read_results, read_spec, run_all, runner
from ehfl.experiment.execution import execute
from ehfl.files import InUse
from ehfl.history import read_history
from ehfl.validation import UserError

SMALL = ["learning.task=quadratic", "rounds=6", "seeds=2", "schedulers=['myopic', 'greedy']", "evaluation.every=2"]


def small(*more: str) -> Spec:
    return read_spec(overrides=[*SMALL, *more])


def started(experiment: Path) -> dict[str, str]:
    """When each run was last started, in nanoseconds of its meta.json's file time."""
    return {path.parent.name: str(path.stat().st_mtime_ns) for path in experiment.glob("*/meta.json")}


def test_a_run_is_what_simulate_and_train_give(tmp_path: Path) -> None:
    run_all(small(), tmp_path, jobs=1)

    played = simulate(Fleet(10, Bernoulli(0.5)), Myopic(), 6, seed=1)
    history = train(load_task("quadratic"), played, seed=1, eval_every=2)
    assert read_history(tmp_path / "myopic-s1" / "rounds.jsonl") == list(history.records)


def test_every_arm_meets_the_same_weather(tmp_path: Path) -> None:
    run_all(small(), tmp_path, jobs=1)

    for first, second in zip(*(arm.trials for arm in read_results([tmp_path]).comparison.arms), strict=True):
        assert first.seed == second.seed
        assert first.participation.totals.harvested == second.participation.totals.harvested


def test_two_processes_give_the_numbers_of_one(tmp_path: Path) -> None:
    run_all(small(), tmp_path / "one", jobs=1)
    run_all(small(), tmp_path / "two", jobs=2)

    for run in small().runs():
        one, two = (RunFolder.of(run, tmp_path / place) for place in ("one", "two"))
        assert read_history(one.rounds) == read_history(two.rounds)
        assert (one.path / "checkpoint.safetensors").read_bytes() == (two.path / "checkpoint.safetensors").read_bytes()


def test_finished_runs_are_not_run_again_and_new_seeds_are_added(tmp_path: Path) -> None:
    run_all(small(), tmp_path, jobs=1)
    before = started(tmp_path)

    run_all(small("seeds=3", "name=other", "evaluation.goal=0.5"), tmp_path, jobs=1)

    after = started(tmp_path)
    assert {name: after[name] for name in before} == before
    assert set(after) - set(before) == {"myopic-s2", "greedy-s2"}


def test_a_folder_of_another_spec_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    run_all(small("schedulers=['greedy']", "seeds=1"), tmp_path, jobs=1)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}

    with pytest.raises(SpecError, match=r"belongs to another spec \(rounds is 6 there and 7 here\)"):
        run_all(small("rounds=7"), tmp_path, jobs=1)

    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before


BROKEN = """
class Broken:
    def select(self, view):
        if view.round == 3:
            raise RuntimeError("the sun went out")
        return []
"""


def test_a_failing_arm_is_told_and_the_others_finish(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_policy.py").write_text(BROKEN)
    monkeypatch.syspath_prepend(tmp_path)
    spec = small("schedulers=['broken_policy:Broken', 'greedy']", "seeds=1")

    broken, greedy = run_all(spec, tmp_path / "runs", jobs=1)

    assert broken.error == "Broken fails: round 3, RuntimeError: the sun went out (broken_policy.py:5)"
    assert greedy.error is None
    meta = RunFolder(tmp_path / "runs" / "broken-policy-broken-s0").meta()
    assert (meta["status"], meta["error"]) == ("failed", broken.error)
    assert 'raise RuntimeError("the sun went out")' in "".join(meta["traceback"])
    assert read_results([tmp_path / "runs"]).comparison.missing == ("broken_policy:Broken seed 0 (failed)",)


HOLD = "import sys; from pathlib import Path; from ehfl.files import sole_use\n" \
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

    assert [path.name for path in tmp_path.iterdir()] == [".lock"]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("learning.task=digit", "learning.task must be one of .* got digit .did you mean digits"),
        ("learning={task='digits', partition='dirichlet:0.01'}", "learning.partition must be reachable .* alpha 0.01"),
        ("fleet.clients=2000", "learning.partition must be possible with 1000 examples, got a need for 2000"),
    ],
)
def test_what_cannot_be_learned_is_refused_before_anything_is_written(
    override: str, message: str, tmp_path: Path
) -> None:
    spec = small(override, *(["fleet.clients=60"] if "dirichlet" in override else []))

    with pytest.raises(UserError, match=message):
        run_all(spec, tmp_path / "runs", jobs=1)

    assert not (tmp_path / "runs").exists()


def test_states_are_told_while_the_work_goes_on(tmp_path: Path) -> None:
    told: list[list[State]] = []

    run_all(small(), tmp_path, jobs=1, on_look=told.append)

    assert [(state.arm, state.seed, state.rounds, state.total) for state in told[-1]] == [
        ("myopic", 0, 6, 6), ("greedy", 0, 6, 6), ("myopic", 1, 6, 6), ("greedy", 1, 6, 6)
    ]  # fmt: skip
    assert all(state.metric is not None for state in told[-1])


def test_the_first_state_told_is_that_before_the_work_however_quick_the_work_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "_EVERY", threading.TIMEOUT_MAX)  # the work is over before the next look
    told: list[list[State]] = []

    run_all(small("seeds=1"), tmp_path, jobs=1, on_look=told.append)
    run_all(small("seeds=2"), tmp_path, jobs=1, on_look=told.append)

    assert [[state.rounds for state in states] for states in told] == [[0, 0], [6, 6], [6, 6, 0, 0], [6, 6, 6, 6]]


def test_a_failure_is_told_when_it_happens_and_an_old_one_is_no_news(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "failing_policy.py").write_text(BROKEN)
    monkeypatch.syspath_prepend(tmp_path)
    spec = small("schedulers=['failing_policy:Broken']", "seeds=1")

    for _ in range(2):
        told: list[list[State]] = []
        (outcome,) = run_all(spec, tmp_path / "runs", jobs=1, on_look=told.append)

        assert not told[0][0].over
        assert told[-1][0].over
        assert told[-1][0].error == outcome.error


def test_another_comparison_of_the_same_name_is_refused_though_its_runs_would_be_new(tmp_path: Path) -> None:
    run_all(small(), tmp_path, jobs=1)
    before = (tmp_path / "spec.toml").read_bytes()

    with pytest.raises(SpecError, match=r"belongs to another spec \(rounds is 6 there and 7 here\)"):
        run_all(small("rounds=7", "schedulers=['round-robin:1']"), tmp_path, jobs=1)

    assert (tmp_path / "spec.toml").read_bytes() == before


def test_a_scheduler_whose_code_has_changed_is_not_taken_for_the_old_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code = "class Mine:\n    def select(self, view):\n        return [] # {}\n"
    (tmp_path / "edited_policy.py").write_text(code.format("first"))
    monkeypatch.syspath_prepend(tmp_path)
    spec = small("schedulers=['edited_policy:Mine', 'greedy']", "seeds=1")
    run_all(spec, tmp_path / "runs", jobs=1)

    (tmp_path / "edited_policy.py").write_text(code.format("second"))

    with pytest.raises(SpecError, match="edited-policy-mine-s0 was run with another version of edited_policy:Mine"):
        run_all(spec, tmp_path / "runs", jobs=1)


def test_other_data_are_not_taken_for_the_same(tmp_path: Path) -> None:
    run_all(small(), tmp_path, jobs=1)
    RunFolder(tmp_path / "greedy-s0").tell(inputs={"data": "0123"})

    with pytest.raises(SpecError, match="greedy-s0 was run with other data"):
        run_all(small(), tmp_path, jobs=1)


def test_reading_results_imports_nothing_that_a_spec_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "gone_policy.py").write_text("class Mine:\n    def select(self, view):\n        return []\n")
    with monkeypatch.context() as there:
        there.syspath_prepend(tmp_path)
        run_all(small("schedulers=['greedy', 'gone_policy:Mine']", "seeds=1"), tmp_path / "runs", jobs=1)
    sys.modules.pop("gone_policy", None)
    (tmp_path / "gone_policy.py").unlink()

    assert [row.arm for row in read_results([tmp_path / "runs"]).comparison.rows] == ["greedy", "gone_policy:Mine"]


def test_where_a_worker_is_killed_the_others_finish_and_it_is_begun_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copy(Path(__file__).parents[1] / "mortal_policy.py", tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    get_reusable_executor().shutdown()  # workers of an earlier test do not know the way

    outcomes = run_all(small("schedulers=['mortal_policy:Mortal', 'greedy']", "seeds=1"), tmp_path / "runs", jobs=2)

    assert (tmp_path / "died").exists()
    assert [outcome.error for outcome in outcomes] == [None, None]


def test_a_refused_process_changes_nothing_in_the_folder(tmp_path: Path) -> None:
    run_all(small(), tmp_path, jobs=1)
    run = small().runs()[0]
    other = run.model_copy(update={"rounds": 7})

    outcome = execute(other, tmp_path, threads=1, inputs={"data": "x"})

    assert outcome.error is not None and "belongs to another spec" in outcome.error
    assert RunFolder.of(run, tmp_path).finished
