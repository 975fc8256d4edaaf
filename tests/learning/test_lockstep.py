"""Participants that are decided while the model is trained: against a plain loop, and with energy conserved."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from turns import player

from ehfl import (
    SCHEDULERS,
    Bernoulli,
    Fleet,
    Lockstep,
    Participation,
    PowerOfChoice,
    Replay,
    Scheduler,
    simulate,
)  # fmt: skip
from ehfl.arrays import IntArray
from ehfl.learning import LocalSgd, Task, train
from ehfl.partition import Shards
from ehfl.randomness import Purpose, generator
from ehfl.runs import read_history
from ehfl.theory import NominalCausal

CPU = torch.device("cpu")
FLEET = Fleet(clients=6, harvest=Bernoulli(np.linspace(0.4, 0.9, 6)), capacity=3, initial=1)
QUICK: dict[str, Any] = {
    "local_steps": 2, "batch_size": 8, "eval_every": 4, "device": "cpu",
    "step_size": "nominal-causal", "partition": "shards",
}  # fmt: skip


def choosing(rounds: int = 12, seed: int = 3, **changes: Any) -> Lockstep:
    return Lockstep(FLEET, PowerOfChoice(target=2, candidates=3), rounds, **{"seed": seed} | changes)


def rows(played: Participation) -> list[list[int]]:
    return [played.clients(t).tolist() for t in range(played.rounds)]


def plainly(task: Task, plan: Lockstep, seed: int) -> tuple[list[list[int]], list[list[float]], IntArray, torch.Tensor]:
    """Return participants, their losses, the last levels and the model of rpow-d with target 2 and 3 candidates."""
    parts = Shards().partition(task.training.targets.numpy(), 6, seed)
    engine = player(task, parts, LocalSgd(2, 8), seed=seed)
    x, energy = engine.model.weights.clone(), plan.fleet.start()
    last_loss = [float("inf")] * 6
    chosen: list[list[int]] = []
    reported: list[list[float]] = []
    for t in range(plan.rounds):
        able = np.array([i for i in range(6) if energy[i] >= 1])
        candidates = generator(plan.seed, Purpose.SCHEDULE, round_=t).permutation(able)[:3].tolist()
        ties = generator(plan.seed, Purpose.TIES, round_=t).permutation(6)
        chosen.append(sorted(sorted(candidates, key=lambda i: (-last_loss[i], ties[i]))[:2]))
        eta = NominalCausal()([len(clients) for clients in chosen], plan.rounds)[-1]
        updates = [engine.train(x, client, t, eta) for client in chosen[-1]]
        if updates:
            x = (torch.stack([update.weights.double() for update in updates]).sum(dim=0) / len(updates)).float()
        reported.append([update.loss for update in updates])
        for update in updates:
            last_loss[update.client] = update.loss
            energy[update.client] -= 1
        energy = np.minimum(energy + plan.fleet.harvest.units(plan.seed, range(t, t + 1), range(6))[0], 3)
    return chosen, reported, energy, x


@pytest.mark.parametrize("seed", [3, 4])
def test_participants_follow_the_losses_as_a_plain_loop_has_them(blobs: Task, seed: int) -> None:
    plan = choosing(rounds=40, seed=seed)
    chosen, reported, energy, x = plainly(blobs, plan, seed=7)

    history = train(blobs, plan, **QUICK, seed=7)

    assert rows(history.participation) == chosen
    assert [list(record.losses or ()) for record in history.records] == reported
    assert [record.participants for record in history.records] == [len(clients) for clients in chosen]
    assert history.participation.final_energy.tolist() == energy.tolist()
    assert history.weights.tobytes() == x.numpy().tobytes()
    assert chosen != rows(simulate(FLEET, plan.scheduler, 40, seed))  # without losses it chooses otherwise


def test_of_the_candidates_the_largest_last_losses_take_part(blobs: Task) -> None:
    """Everyone can always pay and everyone is a candidate, so the losses alone decide."""
    fleet = Fleet(clients=4, harvest=Replay(np.ones((9, 4), int)), initial=1)
    history = train(blobs, Lockstep(fleet, PowerOfChoice(target=1, candidates=4), 9), **QUICK)

    last: dict[int, float] = {}
    for t, record in enumerate(history.records):
        (client,) = history.participation.clients(t).tolist()
        if t < 4:
            assert client not in last  # a loss is infinite before the first turn
        else:
            assert last[client] == max(last.values())
        (last[client],) = record.losses or ()
    assert len(set(last.values())) == 4


@pytest.mark.parametrize("name", SCHEDULERS.members)
def test_energy_is_conserved_and_every_round_paid_for(blobs: Task, name: str) -> None:
    plan = Lockstep(FLEET, SCHEDULERS.make(name), 30, seed=5, record_energy=True)
    history = train(blobs, plan, **QUICK)

    played, totals = history.participation, history.participation.totals
    assert totals.initial + totals.harvested == totals.spent + totals.stored + totals.wasted
    assert totals.stored == played.final_energy.sum()
    assert played.spent.tolist() == [len(clients) for clients in rows(played)]
    assert played.energy is not None
    if not played.mains_powered:
        assert all(played.energy[t][played.clients(t)].min(initial=9) >= 1 for t in range(30))
        assert totals.spent == played.spent.sum()


@pytest.mark.parametrize("step_size", ["theorem", "constant", "nominal-causal", "linear-causal"])
@pytest.mark.parametrize("name", ["myopic", "greedy", "round-robin", "oldest-first"])
def test_a_scheduler_of_energy_alone_trains_as_if_simulated_first(blobs: Task, name: str, step_size: str) -> None:
    scheduler = SCHEDULERS.make(name)
    options = QUICK | {"step_size": step_size}

    first = train(blobs, simulate(FLEET, scheduler, 12, seed=3), **options)
    together = train(blobs, Lockstep(FLEET, scheduler, 12, seed=3), **options)

    assert together.records == first.records
    assert together.weights.tobytes() == first.weights.tobytes()
    assert rows(together.participation) == rows(first.participation)
    assert together.participation.totals == first.participation.totals
    assert all(record.losses is None for record in together.records)  # nobody asked for them


def test_records_carry_the_losses_and_the_file_gives_them_back(blobs: Task, tmp_path: Path) -> None:
    history = train(blobs, choosing(), **QUICK, run_dir=tmp_path)

    for t, record in enumerate(history.records):
        assert record.losses is not None
        assert len(record.losses) == history.participation.clients(t).size
        if record.losses:
            assert record.train_loss == pytest.approx(np.mean(record.losses))
    assert read_history(tmp_path / "rounds.jsonl") == list(history.records)


@pytest.mark.parametrize("step_size", ["nominal", "linear", lambda counts: np.full(len(counts), 0.1)])
def test_a_step_size_that_looks_ahead_is_refused_in_one_line(blobs: Task, step_size: Any) -> None:
    with pytest.raises(ValueError) as refused:
        train(blobs, choosing(), **QUICK | {"step_size": step_size})

    line = str(refused.value)
    assert line.startswith("step_size must be one that looks at past rounds alone, such as nominal-causal, ")
    assert "\n" not in line


class Cheat:
    """Picks client 0 whether it can pay or not."""

    def select(self, view: Any) -> IntArray:
        return np.array([0])


def test_a_scheduler_that_overspends_stops_the_run_by_its_name(blobs: Task) -> None:
    cheat: Scheduler = Cheat()
    fleet = Fleet(clients=2, harvest=Replay(np.zeros((5, 2), int)), initial=2)

    with pytest.raises(ValueError, match="Cheat spends energy that is not there: round 2, client 0"):
        train(blobs, Lockstep(fleet, cheat, 5), **QUICK)
