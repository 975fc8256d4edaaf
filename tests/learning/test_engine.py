from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from ehfl import Participation
from ehfl.energy.harvest import IntArray
from ehfl.learning import DirichletPartitioner, IidPartitioner, LocalSgd, Partitioner, ShardPartitioner, Task
from ehfl.learning.engine import Diverged, Engine
from ehfl.learning.local_sgd import minibatches
from ehfl.learning.problem_tasks import ProblemTask
from ehfl.learning.reference import reference_round
from ehfl.learning.training import initial_model
from ehfl.randomness import Purpose, generator
from ehfl.theory import Quadratic

CPU = torch.device("cpu")
PARTITIONERS: list[Partitioner] = [IidPartitioner(), DirichletPartitioner(0.5), ShardPartitioner(2)]
RULES = [
    LocalSgd(local_steps=1, batch_size=7),
    LocalSgd(local_steps=5, batch_size=7),
    LocalSgd(local_steps=5, batch_size=7, weighted=True, clip=0.5, weight_decay=0.01),
    LocalSgd(local_steps=5, batch_size=10**6),
]


def engine_on(task: Task, parts: list[IntArray], rule: LocalSgd, seed: int = 0) -> Engine:
    return Engine(task, initial_model(task, seed, CPU), parts, rule, seed=seed, device=CPU)


def named_weights(task: Task, seed: int = 0) -> dict[str, Tensor]:
    return {name: p.detach().clone() for name, p in task.model(generator(seed, Purpose.INIT)).named_parameters()}


def flat(weights: dict[str, Tensor]) -> Tensor:
    return torch.cat([value.reshape(-1) for value in weights.values()])


@pytest.mark.parametrize("partitioner", PARTITIONERS, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("rule", RULES, ids=["K=1", "K=5", "K=5 weighted, clipped, decayed", "K=5 full batch"])
def test_the_engine_equals_the_reference_loop(
    blobs: Task, gaps: Participation, partitioner: Partitioner, rule: LocalSgd
) -> None:
    parts = partitioner.partition(blobs.training.targets.numpy(), gaps.n_clients, seed=2)
    engine = engine_on(blobs, parts, rule, seed=2)
    plain, x = blobs.model(generator(2, Purpose.INIT)), named_weights(blobs, seed=2)

    for t in range(gaps.rounds):
        engine.play(t, gaps.clients(t), eta=0.2)
        x = reference_round(blobs, plain, x, parts, gaps.clients(t), t=t, eta=0.2, rule=rule, seed=2)
        # some 25 float32 steps of size below 1: each rounds at 6e-8 of weights of order 1
        torch.testing.assert_close(engine.model.weights, flat(x), rtol=1e-5, atol=2e-6)
    assert (flat(x) - flat(named_weights(blobs, seed=2))).abs().max() > 0.01


def test_the_engine_equals_the_reference_loop_on_a_convolutional_network(digits: Task) -> None:
    parts = IidPartitioner().partition(digits.training.targets.numpy(), 3, seed=0)
    rule = LocalSgd(local_steps=5, batch_size=20)
    engine = engine_on(digits, parts, rule)
    x = reference_round(digits, digits.model(generator(0, Purpose.INIT)), named_weights(digits), parts,
                        np.array([0, 2]), t=0, eta=0.15, rule=rule, seed=0)  # fmt: skip

    engine.play(0, np.array([0, 2]), eta=0.15)

    torch.testing.assert_close(engine.model.weights, flat(x), rtol=1e-5, atol=2e-6)


def test_one_client_one_step_full_batch_is_gradient_descent_to_the_bit(blobs: Task) -> None:
    everything = np.arange(len(blobs.training))
    engine = engine_on(blobs, [everything], LocalSgd(local_steps=1, batch_size=len(everything)))
    model = blobs.model(generator(0, Purpose.INIT))
    descent = torch.optim.SGD(model.parameters(), lr=0.3)

    for t in range(5):
        engine.play(t, np.array([0]), eta=0.3)
        descent.zero_grad()
        loss = blobs.loss(model(blobs.training.inputs), blobs.training.targets)
        torch.autograd.backward(loss)
        descent.step()

    assert torch.equal(engine.model.weights, torch.cat([p.detach().reshape(-1) for p in model.parameters()]))


@pytest.mark.parametrize("weighted", [False, True])
def test_equal_clients_average_to_one_of_them_to_the_bit(blobs: Task, weighted: bool) -> None:
    shared = np.arange(30)
    rule = LocalSgd(local_steps=3, batch_size=30, weighted=weighted)  # full batches: the same steps for each
    one, seven = (engine_on(blobs, [shared] * n, rule) for n in (1, 7))

    one.play(0, np.arange(1), eta=0.1)
    seven.play(0, np.arange(7), eta=0.1)

    assert torch.equal(one.model.weights, seven.model.weights)


def test_k_steps_on_the_quadratic_are_worked_by_hand() -> None:
    bowl = Quadratic(curvature=[1.0, 0.5], minimiser=[2.0, 0.0], variance=0.0)
    task = ProblemTask("by hand", bowl, variance=0.0, minimum=0.0, examples=4, start=4.0)
    engine = engine_on(task, [np.array([0, 1]), np.array([2, 3])], LocalSgd(local_steps=3, batch_size=1))

    loss = engine.play(0, np.array([0, 1]), eta=0.5)

    # x - b shrinks by (1 - 1/2) and (1 - 1/4) a step: 2 + 2/8 and 4 * 27/64
    assert engine.model.weights.tolist() == [2.25, 1.6875]
    # f at the three points the steps start from: 2 + 4, 0.5 + 2.25, 0.125 + 1.265625
    assert loss == pytest.approx((6 + 2.75 + 1.390625) / 3)


def test_the_weighted_mean_counts_examples() -> None:
    bowl = Quadratic(curvature=[1.0], variance=1.0)
    task = ProblemTask("weights", bowl, variance=1.0, minimum=0.0, examples=4)
    parts = [np.array([0]), np.array([1, 2, 3])]
    rule = LocalSgd(local_steps=1, batch_size=3, weighted=True)
    engine = engine_on(task, parts, rule)
    z = task.training.inputs.double()

    engine.play(0, np.array([0, 1]), eta=0.5)

    ends = [1 - 0.5 * (1 + z[part].mean().item()) for part in parts]
    assert engine.model.weights.item() == pytest.approx((ends[0] + 3 * ends[1]) / 4)


def test_an_empty_round_leaves_the_model_as_it_is(blobs: Task) -> None:
    engine = engine_on(blobs, [np.arange(90)], LocalSgd())
    before = engine.model.weights.clone()

    assert engine.play(0, np.array([], dtype=np.int32), eta=0.0) is None
    assert torch.equal(engine.model.weights, before)


def test_a_client_draws_the_same_examples_whoever_else_takes_part(blobs: Task) -> None:
    parts = IidPartitioner().partition(blobs.training.targets.numpy(), 3, seed=0)
    rule = LocalSgd(local_steps=2, batch_size=5)
    alone, first, both = (engine_on(blobs, parts, rule) for _ in range(3))

    alone.play(4, np.array([2]), eta=0.1)
    first.play(4, np.array([0]), eta=0.1)
    both.play(4, np.array([0, 2]), eta=0.1)

    mean = (alone.model.weights.double() + first.model.weights.double()) / 2
    assert torch.equal(both.model.weights, mean.float())


def test_divergence_is_named_with_its_round(blobs: Task) -> None:
    engine = engine_on(blobs, [np.arange(90)], LocalSgd(local_steps=5))

    with pytest.raises(Diverged, match="round 3: try a smaller step size"):
        engine.play(3, np.array([0]), eta=1e38)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 9), st.integers(0, 9))
def test_minibatches_are_distinct_examples_of_the_client(size: int, batch: int, client: int, t: int) -> None:
    examples = np.arange(100, 100 + size)
    rule = LocalSgd(local_steps=3, batch_size=batch)

    drawn = [b.tolist() for b in minibatches(rule, examples, 1, client, t)]
    again = [b.tolist() for b in minibatches(rule, examples, 1, client, t)]

    assert drawn == again
    for step in drawn:
        assert len(step) == len(set(step)) == min(batch, size)
        assert set(step) <= set(examples.tolist())


def test_every_example_is_drawn_equally_often() -> None:
    rule, rounds = LocalSgd(local_steps=4, batch_size=5), 500
    drawn = np.concatenate([b for t in range(rounds) for b in minibatches(rule, np.arange(20), 3, 0, t)])
    share = 5 / 20
    spread = np.sqrt(rounds * 4 * share * (1 - share))  # binomial over independent steps

    assert np.bincount(drawn) == pytest.approx(np.full(20, rounds * 4 * share), abs=5 * spread)


def test_rounds_clients_and_seeds_draw_differently() -> None:
    rule = LocalSgd(local_steps=1, batch_size=20)
    streams = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]

    drawn = {tuple(next(minibatches(rule, np.arange(1000), *stream)).tolist()) for stream in streams}

    assert len(drawn) == len(streams)


@pytest.mark.parametrize("wrong", [{"local_steps": 0}, {"batch_size": 0}, {"clip": 0.0}, {"clip": float("nan")},
                                   {"weight_decay": -0.1}])  # fmt: skip
def test_rules_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
        LocalSgd(**wrong)
