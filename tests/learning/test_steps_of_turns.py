"""Turns of fewer local steps in training: the engine, FedNova, records, and runs that are killed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from turns import Player, player

from ehfl import AdaptiveSteps, Fleet, Lockstep, MostRoundsLeft, Participation, Replay, View, simulate
from ehfl.experiment import make_spec, run_all
from ehfl.learning import FedNova, LocalSgd, Mean, Task, Update, train
from ehfl.partition import Iid, deal
from ehfl.runs import Record, read_history
from ehfl.validation import InvalidValue

CPU = torch.device("cpu")
QUICK: dict[str, Any] = {"local_steps": 5, "batch_size": 8, "eval_every": 4, "checkpoint_every": 3, "device": "cpu"}


def poor(rounds: int = 12) -> Fleet:
    """Return four clients that harvest 2 to 9 units a round, of which a whole turn takes 10 and one of a step 6."""
    harvest = np.random.default_rng(5).integers(2, 10, (rounds, 4))
    return Fleet(4, Replay(harvest), capacity=12, cost=10, steps=5, step_cost=1)


def few_steps(rounds: int = 12) -> Participation:
    played = simulate(poor(rounds), AdaptiveSteps(4), rounds)
    assert played.steps is not None and len(np.unique(played.steps)) > 2
    return played


def engine_with(task: Task, rule: LocalSgd) -> Player:
    parts = deal(Iid(), task.training.targets.numpy(), 4, 0)
    return player(task, parts, rule)


# the engine


def test_so_many_steps_are_the_first_of_a_whole_turn(blobs: Task) -> None:
    engine = engine_with(blobs, LocalSgd(local_steps=5, batch_size=7))
    x = engine.model.weights.clone()
    for steps in range(1, 6):
        shorter = engine_with(blobs, LocalSgd(local_steps=steps, batch_size=7))
        found, expected = engine.train(x, 2, 3, 0.1, steps), shorter.train(x, 2, 3, 0.1)

        assert torch.equal(found.weights, expected.weights)
        assert (found.loss, found.steps) == (expected.loss, steps)
    assert torch.equal(engine.train(x, 2, 3, 0.1).weights, engine.train(x, 2, 3, 0.1, 5).weights)


# FedNova


def update(client: int, x: Tensor, delta: list[float], steps: int) -> Update:
    return Update(client, x, x + torch.tensor(delta), loss=0.5, steps=steps, examples=9, eta=0.1)


def test_fednova_worked_by_hand() -> None:
    """Mean steps are (2, 0) and (0, 1), their mean (1, 0.5), and (1 + 3) / 2 = 2 steps were taken on average."""
    x = torch.tensor([1.0, 1.0])
    after, _ = FedNova().apply(x, iter([update(0, x, [2.0, 0.0], 1), update(1, x, [0.0, 3.0], 3)]), {})
    half, _ = FedNova(server_step=0.5).apply(x, iter([update(0, x, [2.0, 0.0], 1), update(1, x, [0.0, 3.0], 3)]), {})

    assert after.tolist() == [3.0, 2.0]
    assert half.tolist() == [2.0, 1.5]


def test_fednova_goes_where_all_clients_want_it_and_the_mean_where_those_with_most_steps_do() -> None:
    """f_i = (x - c_i)^2 / 2 with c = 0 and 8, and 1 and 3 steps: the mean's rest is (1 * 0 + 3 * 8) / 4 = 6, not 4.

    arXiv 2007.07481, section 3: x = sum k_i c_i / sum k_i as eta tends to 0; here eta = 1e-3, so within 1e-2.
    """
    ends = []
    for aggregation in (FedNova(), Mean()):
        x, eta = torch.zeros(1, dtype=torch.float64), 1e-3
        for _ in range(8000):
            turns = [(0.0, 1), (8.0, 3)]
            moved = [c + (x - c) * (1 - eta) ** k for c, k in turns]
            given = [Update(i, x, moved[i], 0.5, k, 9, eta) for i, (_, k) in enumerate(turns)]
            x, _ = aggregation.apply(x, iter(given), {})
        ends.append(x.item())

    assert ends == pytest.approx([4.0, 6.0], abs=1e-2)


# training


def test_training_takes_the_steps_of_the_participation_and_records_them(blobs: Task) -> None:
    played = few_steps()
    history = train(blobs, played, **QUICK, step_size=0.1, aggregation="fednova")

    for record in history.records:
        steps = played.steps_of(record.round)
        assert steps is not None and record.steps == tuple(steps.tolist())


def test_a_round_is_what_its_turns_make_of_the_model(blobs: Task) -> None:
    played = few_steps()
    engine = engine_with(blobs, LocalSgd(local_steps=5, batch_size=8))
    x = engine.model.weights.clone()
    for t in range(12):
        steps = played.steps_of(t)
        assert steps is not None
        pairs = zip(played.clients(t).tolist(), steps.tolist(), strict=True)
        moves = [(engine.train(x, client, t, 0.1, k).weights.double() - x.double(), k) for client, k in pairs]
        if moves:
            tau = sum(k for _, k in moves) / len(moves)
            step: Any = sum(delta / k for delta, k in moves) / len(moves)
            x = (x.double() + tau * step).float()
    history = train(blobs, played, **QUICK, step_size=0.1, aggregation="fednova", partition="iid")

    np.testing.assert_allclose(history.weights, x.numpy(), rtol=1e-5, atol=1e-6)


def test_whole_turns_leave_no_steps_in_records(blobs: Task) -> None:
    history = train(blobs, simulate(poor(), MostRoundsLeft(4), 12), **QUICK, step_size=0.1)

    assert all(record.steps is None and "steps" not in record.facts() for record in history.records)


def test_killed_and_resumed_it_ends_with_the_same_bits(blobs: Task, tmp_path: Path) -> None:
    played = few_steps()
    facts = QUICK | {"step_size": 0.1, "aggregation": "fednova"}
    whole = train(blobs, played, **facts, run_dir=tmp_path / "whole")

    def stop(record: Record) -> None:
        if record.round == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        train(blobs, played, **facts, run_dir=tmp_path / "killed", on_round=stop)
    resumed = train(blobs, played, **facts, run_dir=tmp_path / "killed")

    assert resumed.weights.tobytes() == whole.weights.tobytes()
    assert resumed.records == whole.records
    assert [record.steps for record in read_history(tmp_path / "killed" / "rounds.jsonl")] == [
        record.steps for record in whole.records
    ]


class Worried:
    """All who can pay for a whole turn; whoever's last loss was above 1 takes all steps, others two."""

    wants_losses = True

    def select(self, view: View) -> Any:
        return view.able()

    def steps(self, view: View, clients: Any) -> Any:
        losses = np.full(view.energy.size, 9.0) if view.losses is None else view.losses
        return np.where(losses[clients] <= 1, 2, 5)


def test_steps_may_go_by_losses_in_lockstep(blobs: Task) -> None:
    history = train(blobs, Lockstep(poor(), Worried(), 12), **QUICK, step_size=0.5)
    played = history.participation
    assert played.steps is not None

    assert set(played.steps.tolist()) == {2, 5}
    assert [record.steps for record in history.records] == [
        tuple(played.steps[played.offsets[t] : played.offsets[t + 1]].tolist()) for t in range(12)
    ]


def test_fewer_local_steps_than_turns_have_are_refused(blobs: Task) -> None:
    for played in (few_steps(), Lockstep(poor(), AdaptiveSteps(4), 12)):
        with pytest.raises(InvalidValue, match="local_steps must be at least the 5 steps that turns of the fleet have"):
            train(blobs, played, **QUICK | {"local_steps": 4}, step_size=0.1)


# specs


def test_a_comparison_works_out_what_a_step_costs_from_device_and_radio(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    fleet = {
        "clients": 4, "harvest": "bernoulli:0.6", "round_length": "1 h", "capacity": "2 J", "arrival": "0.3 J",
        "cost": {"device": "cortex-m0plus", "radio": "ble", "flop_per_sample": 4000, "model_bytes": 80},
    }  # fmt: skip
    learning = {"task": "quadratic", "aggregation": "fednova", "local_steps": 4}
    facts = {"rounds": 15, "seeds": 1, "fleet": fleet, "learning": learning, "scheduler": "adaptive-steps:4"}
    (run,) = make_spec(facts | {"name": "steps"}).runs()

    spelled_out = run.facts()["fleet"]
    whole = spelled_out["cost"]
    assert spelled_out["step_cost"] == pytest.approx(4000 * 50 / 2.53e6, rel=0.01)  # 50 samples at 2.53 MFLOP/J
    assert whole == pytest.approx(4 * spelled_out["step_cost"], rel=0.01)  # the radio takes little
    run_all(make_spec(facts | {"name": "steps"}), tmp_path / "runs", jobs=1)
    (file,) = (tmp_path / "runs").rglob("participation.npz")
    played = Participation.load(file)
    assert played.steps is not None and 1 <= played.steps.min() <= played.steps.max() <= 4
