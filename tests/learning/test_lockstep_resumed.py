"""Participants that are decided while the model is trained: killed and resumed, and whose the folder is."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ehfl import Bernoulli, Fleet, Greedy, Lockstep, Myopic, Participation, PowerOfChoice, Replay, View
from ehfl.arrays import FloatArray, IntArray
from ehfl.learning import Task, train
from ehfl.learning.checkpoint import NAME, PREVIOUS, read_checkpoint
from ehfl.runs import History, HistoryFile, OtherRun, Record

FLEET = Fleet(clients=6, harvest=Bernoulli(np.linspace(0.1, 0.6, 6)), capacity=3)  # 0 to 2 participants a round
QUICK: dict[str, Any] = {
    "local_steps": 2, "batch_size": 8, "eval_every": 4, "device": "cpu",
    "step_size": {"name": "nominal-causal", "window": 2}, "partition": "shards",  # steps depend on past counts
}  # fmt: skip


def choosing(rounds: int = 12, seed: int = 3, **changes: Any) -> Lockstep:
    return Lockstep(FLEET, PowerOfChoice(target=2, candidates=3), rounds, **{"seed": seed} | changes)


def rows(played: Participation) -> list[list[int]]:
    return [played.clients(t).tolist() for t in range(played.rounds)]


def same(found: History, expected: History) -> bool:
    same_model = found.weights.tobytes() == expected.weights.tobytes()
    return (
        same_model and found.records == expected.records and rows(found.participation) == rows(expected.participation)
    )


@pytest.mark.parametrize("round_", range(7))
def test_interrupted_in_any_round_it_goes_on_as_if_left_alone(blobs: Task, tmp_path: Path, round_: int) -> None:
    def stop(record: Record) -> None:
        if record.round == round_:
            raise KeyboardInterrupt

    options = QUICK | {"run_dir": tmp_path, "checkpoint_every": 3}
    whole = train(blobs, choosing(7), **QUICK)
    with pytest.raises(KeyboardInterrupt):
        train(blobs, choosing(7), **options, on_round=stop)

    resumed = train(blobs, choosing(7), **options)

    assert same(resumed, whole)
    assert resumed.participation.totals == whole.participation.totals
    assert same(train(blobs, choosing(7), **options), whole)  # finished: read, decided again and not trained


def test_what_was_reported_before_the_kill_decides_afterwards(blobs: Task, tmp_path: Path) -> None:
    """With other losses in rounds.jsonl the run goes on with other clients: they are what it resumes from."""
    whole = train(blobs, choosing(30), **QUICK | {"run_dir": tmp_path, "checkpoint_every": 15})
    (tmp_path / NAME).unlink()  # so that it goes on from round 15
    (tmp_path / "rounds.jsonl").unlink()
    last = max(record.round for record in whole.records[:15] if record.participants)
    with HistoryFile(tmp_path / "rounds.jsonl") as file:
        for record in whole.records[:15]:
            losses = tuple(0.0 for _ in record.losses or ()) if record.round == last else record.losses
            file.append(replace(record, losses=losses))
    replace(read_checkpoint(tmp_path / PREVIOUS), history=file.digest).write(tmp_path)

    again = train(blobs, choosing(30), **QUICK | {"run_dir": tmp_path})

    assert rows(again.participation)[:15] == rows(whole.participation)[:15]
    assert rows(again.participation)[15:] != rows(whole.participation)[15:]


@pytest.mark.parametrize(
    ("other", "named"),
    [
        (choosing(11), "rounds is 12 there and 11 here"),
        (replace(choosing(), scheduler=PowerOfChoice(target=2)), "scheduler is PowerOfChoice(target=2, candidates=3)"),
        (replace(choosing(), scheduler=Greedy()), "there and Greedy() here"),
        (replace(choosing(), fleet=replace(FLEET, capacity=4)), "batteries is"),
        (replace(choosing(), fleet=replace(FLEET, initial=1)), "batteries is"),
        (replace(choosing(), fleet=replace(FLEET, harvest=Bernoulli(0.5))), "harvest is"),
        (replace(choosing(), fleet=Fleet(5, Bernoulli(0.5))), "clients is 6 there and 5 here"),
        (choosing(seed=4), "schedule_seed is 3 there and 4 here"),
        (choosing(target=1), "target is 2 there and 1 here"),
    ],
)
def test_another_plan_does_not_go_on_from_the_folder(blobs: Task, tmp_path: Path, other: Lockstep, named: str) -> None:
    train(blobs, choosing(), **QUICK, run_dir=tmp_path)

    with pytest.raises(OtherRun) as refused:
        train(blobs, other, **QUICK, run_dir=tmp_path)

    assert named in str(refused.value)


def test_another_recorded_harvest_does_not_go_on_from_the_folder(blobs: Task, tmp_path: Path) -> None:
    arrivals = np.array([[1, 0, 1, 0], [0, 1, 0, 1]] * 4)
    plans = [Lockstep(Fleet(4, Replay(units)), Myopic(), 8) for units in (arrivals, arrivals[::-1])]
    train(blobs, plans[0], **QUICK, run_dir=tmp_path)

    with pytest.raises(OtherRun, match="harvest"):
        train(blobs, plans[1], **QUICK, run_dir=tmp_path)


class Steady:
    """A user's own harvest: one unit a round for everyone."""

    def units(self, seed: int, rounds: range, clients: range) -> IntArray:
        return np.ones((len(rounds), len(clients)), int)

    def mean_rates(self, n_clients: int) -> FloatArray:
        return np.ones(n_clients)


class FirstFew:
    """A user's own scheduler."""

    def __init__(self, count: int) -> None:
        self.count = count

    def select(self, view: View) -> IntArray:
        return view.able()[: self.count]


def test_a_harvest_of_ones_own_is_the_same_when_it_is_made_again(blobs: Task, tmp_path: Path) -> None:
    plans = [Lockstep(Fleet(4, Steady()), FirstFew(1), 6) for _ in range(2)]
    first = train(blobs, plans[0], **QUICK, run_dir=tmp_path)

    assert same(train(blobs, plans[1], **QUICK, run_dir=tmp_path), first)


def test_a_scheduler_of_ones_own_with_another_parameter_does_not_go_on_from_the_folder(
    blobs: Task, tmp_path: Path
) -> None:
    plans = [Lockstep(Fleet(4, Bernoulli(1.0)), FirstFew(count), 6) for count in (1, 3)]
    train(blobs, plans[0], **QUICK, run_dir=tmp_path)

    with pytest.raises(OtherRun, match="round 1 had 1 participants and has 3 now"):
        train(blobs, plans[1], **QUICK, run_dir=tmp_path)


def test_a_step_size_function_is_known_by_its_name_and_not_by_its_place_in_memory(blobs: Task, tmp_path: Path) -> None:
    def made() -> Any:  # what another process has is the same function in another place
        def tenth(counts: IntArray) -> FloatArray:
            return np.full(len(counts), 0.1)

        tenth.causal = True  # type: ignore[attr-defined]
        return tenth

    def half(counts: IntArray, rounds: int | None = None) -> FloatArray:
        return np.full(len(counts), 0.5)

    half.causal = True  # type: ignore[attr-defined]
    options, here, there = QUICK | {"run_dir": tmp_path}, made(), made()
    whole = train(blobs, choosing(3), **options | {"step_size": here})

    assert same(train(blobs, choosing(3), **options | {"step_size": there}), whole)
    with pytest.raises(OtherRun, match="step_size is "):
        train(blobs, choosing(3), **options | {"step_size": half})
