"""What `train` returns, and what it leaves alone."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from ehfl import AlwaysOn, Bernoulli, Fleet, Greedy, Participation, simulate
from ehfl.learning import AGGREGATIONS, Diverged, Task, load_task, train
from ehfl.learning.aggregation.contract import informed
from ehfl.learning.engine import device
from ehfl.learning.evaluation import evaluate
from ehfl.randomness import Purpose, generator
from ehfl.runs import Metric
from ehfl.theory import STEP_SIZES, Nominal
from ehfl.validation import InvalidValue

QUICK: dict[str, Any] = {"local_steps": 2, "batch_size": 8, "eval_every": 3, "checkpoint_every": 2, "device": "cpu"}


def test_digits_are_learned_on_harvested_energy(digits: Task) -> None:
    played = simulate(Fleet(clients=10, harvest=Bernoulli(0.5)), Greedy(), rounds=40)

    history = train(digits, played, eval_every=40)

    assert history.metric == Metric("accuracy", bounds=(0, 1))
    assert history.participation is played
    assert history.final_metric is not None
    assert history.final_metric > 0.9
    assert [record.participants for record in history.records] == played.counts.tolist()
    assert [record.step_size for record in history.records] == Nominal()(played.counts).tolist()
    assert history.records[0].train_loss is None  # nothing harvested yet


@pytest.mark.parametrize("name", ["quadratic", "wells"])
def test_known_problems_come_near_their_minimum(name: str) -> None:
    mains = simulate(Fleet(clients=4, harvest=Bernoulli(0.5)), AlwaysOn(4), rounds=60)

    history = train(load_task(name), mains, step_size=0.3, batch_size=250)

    assert history.metric == Metric("gap", lower_is_better=True)
    assert history.final_metric == pytest.approx(0, abs=0.01)
    assert history.records[-1].test_loss == history.final_metric  # f* = 0


def test_the_same_seed_gives_the_same_run_for_any_eval_every(blobs: Task, gaps: Participation) -> None:
    often, seldom, other = (
        train(blobs, gaps, **QUICK | {"eval_every": every}, seed=seed) for every, seed in ((1, 0), (100, 0), (1, 1))
    )

    assert often.weights.tobytes() == seldom.weights.tobytes() != other.weights.tobytes()
    assert [r.train_loss for r in often.records] == [r.train_loss for r in seldom.records]
    assert [found.rounds for found in often.evaluations] == list(range(gaps.rounds + 1))
    assert seldom.evaluations == (often.evaluations[0], often.evaluations[-1])


def test_the_first_model_is_evaluated_before_anyone_trains(blobs: Task, gaps: Participation) -> None:
    first, *others = train(blobs, gaps, **QUICK | {"eval_every": 1}).records
    model = blobs.model(generator(0, Purpose.INIT))

    assert (first.first_loss, first.first_metric) == evaluate(blobs, model, blobs.test)
    assert {(record.first_loss, record.first_metric) for record in others} == {(None, None)}
    assert first.participants == 0 and first.test_loss == first.first_loss


def test_global_generators_are_neither_asked_nor_moved(digits: Task, gaps: Participation) -> None:
    states = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        np.random.seed(seed)  # noqa: NPY002
        before = torch.get_rng_state(), repr(np.random.get_state(legacy=True))  # noqa: NPY002
        states.append(train(digits, gaps, **QUICK).weights.tobytes())
        assert torch.equal(torch.get_rng_state(), before[0])
        assert repr(np.random.get_state(legacy=True)) == before[1]  # noqa: NPY002
    assert states[0] == states[1]


def test_empty_rounds_leave_the_model_and_its_scores(blobs: Task, gaps: Participation) -> None:
    records = train(blobs, gaps, **QUICK | {"eval_every": 1}).records

    for record, before in zip(records[1:], records, strict=False):
        assert (record.test_loss == before.test_loss) == (record.participants == 0)


@pytest.mark.parametrize("name", STEP_SIZES.members)
def test_every_step_size_trains(blobs: Task, gaps: Participation, name: str) -> None:
    records = train(blobs, gaps, **QUICK, step_size=name).records

    assert [record.step_size for record in records] == STEP_SIZES.make(name)(gaps.counts, gaps.rounds).tolist()


@pytest.mark.parametrize("eta", [3.5e38, 1e300])
def test_a_step_beyond_float32_is_refused_before_torch_meets_it(gaps: Participation, eta: float) -> None:
    with pytest.raises(InvalidValue, match=r"^step_size must be a number in \[0, 1e30\] .* in round 0$"):
        train("quadratic", gaps, **QUICK | {"step_size": lambda counts: np.full(len(counts), eta)})


def test_the_smallest_step_there_is_leaves_the_model_where_it_was(gaps: Participation) -> None:
    history = train("quadratic", gaps, **QUICK | {"step_size": lambda counts: np.full(len(counts), 5e-324)})

    assert history.final_metric == history.evaluations[0].metric


@pytest.mark.parametrize("name", AGGREGATIONS.members)
def test_every_aggregation_learns(blobs: Task, name: str) -> None:
    mains = simulate(Fleet(clients=4, harvest=Bernoulli(0.5)), AlwaysOn(2), rounds=40)
    mains = replace(mains, weights=np.full(mains.indices.size, 2.0))  # as if the scheduler had brought them
    aggregation = informed(AGGREGATIONS.make(name), [0.5] * 4)
    first, last = train(blobs, mains, aggregation=aggregation, eval_every=40).evaluations

    assert last.loss < 0.5 * math.log(3) < first.loss  # three classes


def test_operations_have_one_thread_and_the_count_is_given_back(blobs: Task, gaps: Participation) -> None:
    seen = []
    torch.set_num_threads(2)

    train(blobs, gaps, **QUICK, workers=2, on_round=lambda _: seen.append(torch.get_num_threads()))

    assert set(seen) == {1}
    assert torch.get_num_threads() == 2
    torch.set_num_threads(1)


def test_the_process_is_left_as_it_was(
    blobs: Task, gaps: Participation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """How the process allocates memory is for its owner to say; threads are given back after a failure, too."""

    def forbidden(*given: object) -> None:
        raise AssertionError("train must not change how the process allocates")

    monkeypatch.setattr(device, "keep_freed_memory", forbidden)
    monkeypatch.setattr("ehfl.learning.engine.device.ctypes.CDLL", forbidden)
    before, counted = torch.get_num_threads(), torch.is_grad_enabled()

    train(blobs, gaps, **QUICK, workers=2, run_dir=tmp_path)
    with pytest.raises(Diverged):
        train(blobs, gaps, **QUICK | {"local_steps": 5, "step_size": 1e30, "weight_decay": 1.0}, workers=2)

    assert (torch.get_num_threads(), torch.is_grad_enabled()) == (before, counted)
