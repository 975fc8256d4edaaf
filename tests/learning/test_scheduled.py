"""Scheduled: updates count as much as the scheduler says, in process, in lockstep, through kills."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ehfl import Bernoulli, EnergyCycles, F3ast, Fleet, Greedy, Lockstep, Participation, simulate
from ehfl.experiment import make_spec, run_all
from ehfl.learning import Scheduled, Task, Update, train
from ehfl.runs import OtherRun, Record
from ehfl.validation import InvalidValue

UNEQUAL = Fleet(5, Bernoulli([0.2, 0.4, 0.6, 0.8, 1.0]), capacity=2)
QUICK: dict[str, Any] = {"local_steps": 2, "eval_every": 3, "checkpoint_every": 4, "aggregation": "scheduled"}


def test_scheduled_by_hand() -> None:
    x, aggregation = torch.tensor([10.0]), Scheduled(server_step=0.5)
    ends = [(0, 1.0, 2.0), (3, -3.0, 1.5)]  # client, delta, weight
    updates = [Update(client, x, x + delta, 0.5, 1, 1, weight=weight) for client, delta, weight in ends]

    after, state = aggregation.apply(x, updates, aggregation.init(4, 1))

    # 10 + 0.5/4 (2 - 4.5)
    assert after.tolist() == [10 + 0.125 * -2.5]
    assert aggregation.apply(x, iter(()), state)[0].tolist() == [10.0]


def test_weights_reach_each_update(blobs: Task, gaps: Participation) -> None:
    """Weights of zero energy, so to say: doubled weights and half the server's step end where plain ones do."""
    plain, doubled = (replace(gaps, weights=np.full(gaps.indices.size, weight)) for weight in (1.0, 2.0))
    uneven = replace(gaps, weights=np.arange(1.0, 1 + gaps.indices.size))

    found = train(blobs, doubled, **QUICK | {"aggregation": {"name": "scheduled", "server_step": 0.5}})
    np.testing.assert_allclose(found.weights, train(blobs, plain, **QUICK).weights, rtol=1e-6, atol=1e-7)
    assert not np.allclose(train(blobs, uneven, **QUICK).weights, train(blobs, plain, **QUICK).weights, rtol=1e-2)


@pytest.mark.parametrize("scheduler", [F3ast(2, rate=0.1), EnergyCycles()], ids=["f3ast", "energy-cycles"])
def test_in_lockstep_and_resumed_the_run_is_the_same(blobs: Task, scheduler: Any, tmp_path: Path) -> None:
    played = simulate(UNEQUAL, scheduler, rounds=14, seed=2)
    whole = train(blobs, played, **QUICK)

    def stop(record: Record) -> None:
        if record.round == 10:
            raise KeyboardInterrupt

    for name, given in (("known", played), ("lockstep", Lockstep(UNEQUAL, scheduler, 14, seed=2))):
        # A step size that does not look ahead, in lockstep
        quick = QUICK | {"step_size": 0.1, "run_dir": tmp_path / name}
        with pytest.raises(KeyboardInterrupt):
            train(blobs, given, **quick, on_round=stop)
        found = train(blobs, given, **quick)
        assert found.weights.tobytes() == train(blobs, played, **QUICK | {"step_size": 0.1}).weights.tobytes()
        np.testing.assert_array_equal(found.participation.weights, played.weights)
    assert np.isfinite(whole.weights).all()


def test_other_weights_are_another_run(blobs: Task, gaps: Participation, tmp_path: Path) -> None:
    one, other = (replace(gaps, weights=np.full(gaps.indices.size, weight)) for weight in (1.0, 2.0))
    train(blobs, one, **QUICK, run_dir=tmp_path)

    with pytest.raises(OtherRun, match="participation is"):
        train(blobs, other, **QUICK, run_dir=tmp_path)


@pytest.mark.parametrize(
    "given", [simulate(UNEQUAL, Greedy(), 5), Lockstep(UNEQUAL, Greedy(), 5)], ids=["known", "lockstep"]
)
def test_a_scheduler_without_weights_is_refused(blobs: Task, given: Any) -> None:
    with pytest.raises(InvalidValue) as refused:
        train(blobs, given, **QUICK | {"step_size": 0.1})

    assert str(refused.value) == (
        "aggregation must be used with a scheduler that brings weights (f3ast, energy-cycles or one of your own), "
        "got Scheduled with Greedy()"
    )


def test_in_a_comparison_it_is_refused_under_the_key_of_its_arm(tmp_path: Path) -> None:
    facts = {"learning": {"task": "quadratic"}, "rounds": 3, "seeds": 1,
             "arms": [{"scheduler": "f3ast", "aggregation": "scheduled"}, {"aggregation": "scheduled"}]}  # fmt: skip

    with pytest.raises(InvalidValue, match=r"^arms\[2\]\.learning\.aggregation must be .* got Scheduled with myopic$"):
        run_all(make_spec(facts), tmp_path / "runs", jobs=1)
    assert not (tmp_path / "runs").exists()
