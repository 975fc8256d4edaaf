from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor
from turns import Player, player

from ehfl import Participation
from ehfl.arrays import IntArray
from ehfl.learning import Aggregation, Diverged, LocalSgd, Mean, Task, Weighted
from ehfl.learning.engine.reference import reference_round
from ehfl.learning.tasks.problems import ProblemTask
from ehfl.partition import Dirichlet, Iid, Partition, Shards
from ehfl.randomness import Purpose, generator
from ehfl.theory import Quadratic

CPU = torch.device("cpu")
PARTITIONS: list[Partition] = [Iid(), Dirichlet(0.5), Shards(2)]
RULES = [
    LocalSgd(local_steps=1, batch_size=7),
    LocalSgd(local_steps=5, batch_size=7),
    LocalSgd(local_steps=5, batch_size=7, clip=0.5, weight_decay=0.01),
    LocalSgd(local_steps=5, batch_size=10**6),
]


def rounds_on(
    task: Task, parts: list[IntArray], rule: LocalSgd, aggregation: Aggregation | None = None, *, seed: int = 0
) -> Player:
    return player(task, parts, rule, aggregation, seed=seed)


def named_weights(task: Task, seed: int = 0) -> dict[str, Tensor]:
    return {name: p.detach().clone() for name, p in task.model(generator(seed, Purpose.INIT)).named_parameters()}


def flat(weights: dict[str, Tensor]) -> Tensor:
    return torch.cat([value.reshape(-1) for value in weights.values()])


@pytest.mark.parametrize("weighted", [False, True], ids=["mean", "weighted"])
@pytest.mark.parametrize("partition", PARTITIONS, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("rule", RULES, ids=["K=1", "K=5", "K=5 clipped, decayed", "K=5 full batch"])
def test_the_engine_equals_the_reference_loop(
    blobs: Task, gaps: Participation, partition: Partition, rule: LocalSgd, weighted: bool
) -> None:
    parts = partition.partition(blobs.training.targets.numpy(), gaps.n_clients, seed=2)
    engine = rounds_on(blobs, parts, rule, Weighted() if weighted else Mean(), seed=2)
    plain, x = blobs.model(generator(2, Purpose.INIT)), named_weights(blobs, seed=2)

    for t in range(gaps.rounds):
        heard = engine.play(t, gaps.clients(t), eta=0.2)
        x, measured = reference_round(
            blobs, plain, x, parts, gaps.clients(t), t=t, eta=0.2, rule=rule, seed=2, weighted=weighted
        )
        # An update of length about 0.1 has the weights' rounding in it.
        known = {name: value for name, value in measured._asdict().items() if value is not None}
        assert heard.measured() == pytest.approx(known, rel=1e-4, abs=1e-9)
        # some 25 float32 steps of size below 1: each rounds at 6e-8 of weights of order 1
        torch.testing.assert_close(engine.model.weights, flat(x), rtol=1e-5, atol=2e-6)
    assert (flat(x) - flat(named_weights(blobs, seed=2))).abs().max() > 0.01


def test_the_engine_equals_the_reference_loop_on_a_convolutional_network(digits: Task) -> None:
    parts = Iid().partition(digits.training.targets.numpy(), 3, seed=0)
    rule = LocalSgd(local_steps=5, batch_size=20)
    engine = rounds_on(digits, parts, rule)
    x, _ = reference_round(digits, digits.model(generator(0, Purpose.INIT)), named_weights(digits), parts,
                           np.array([0, 2]), t=0, eta=0.15, rule=rule, seed=0)  # fmt: skip

    engine.play(0, np.array([0, 2]), eta=0.15)

    torch.testing.assert_close(engine.model.weights, flat(x), rtol=1e-5, atol=2e-6)


def test_one_client_one_step_full_batch_is_gradient_descent_to_the_bit(blobs: Task) -> None:
    everything = np.arange(len(blobs.training))
    engine = rounds_on(blobs, [everything], LocalSgd(local_steps=1, batch_size=len(everything)))
    model = blobs.model(generator(0, Purpose.INIT))
    descent = torch.optim.SGD(model.parameters(), lr=0.3)

    for t in range(5):
        engine.play(t, np.array([0]), eta=0.3)
        descent.zero_grad()
        loss = blobs.loss(model(blobs.training.inputs), blobs.training.targets)
        torch.autograd.backward(loss)
        descent.step()

    assert torch.equal(engine.model.weights, torch.cat([p.detach().reshape(-1) for p in model.parameters()]))


@pytest.mark.parametrize("aggregation", [Mean(), Weighted()], ids=["mean", "weighted"])
def test_equal_clients_average_to_one_of_them_to_the_bit(blobs: Task, aggregation: Aggregation) -> None:
    shared = np.arange(30)
    rule = LocalSgd(local_steps=3, batch_size=30)  # full batches: the same steps for each
    one, seven = (rounds_on(blobs, [shared] * n, rule, aggregation) for n in (1, 7))

    one.play(0, np.arange(1), eta=0.1)
    seven.play(0, np.arange(7), eta=0.1)

    assert torch.equal(one.model.weights, seven.model.weights)


def by_hand(rule: LocalSgd) -> Player:
    """f(x) = (x_0 - 2)^2 / 2 + x_1^2 / 4 without noise, from x = (4, 4), at two clients."""
    bowl = Quadratic(curvature=[1.0, 0.5], minimiser=[2.0, 0.0], variance=0.0)
    task = ProblemTask("by hand", bowl, variance=0.0, minimum=0.0, examples=4, start=4.0)
    return rounds_on(task, [np.array([0, 1]), np.array([2, 3])], rule)


def test_k_steps_on_the_quadratic_are_worked_by_hand() -> None:
    engine = by_hand(LocalSgd(local_steps=3, batch_size=1))

    heard = engine.play(0, np.array([0, 1]), eta=0.5)
    loss, losses = heard.mean_loss(), heard.losses

    # x - b shrinks by (1 - 1/2) and (1 - 1/4) a step: 2 + 2/8 and 4 * 27/64
    assert engine.model.weights.tolist() == [2.25, 1.6875]
    # f at the three points the steps start from: 2 + 4, 0.5 + 2.25, 0.125 + 1.265625
    assert loss == pytest.approx((6 + 2.75 + 1.390625) / 3)
    assert losses == [loss, loss]


def test_the_weighted_mean_counts_examples_in_the_model_and_in_the_loss() -> None:
    bowl = Quadratic(curvature=[1.0], variance=1.0)
    task = ProblemTask("weights", bowl, variance=1.0, minimum=0.0, examples=4)
    parts = [np.array([0]), np.array([1, 2, 3])]
    engine = rounds_on(task, parts, LocalSgd(local_steps=1, batch_size=3), Weighted())
    z = task.training.inputs.double()

    heard = engine.play(0, np.array([0, 1]), eta=0.5)
    loss, losses = heard.mean_loss(), heard.losses

    ends = [1 - 0.5 * (1 + z[part].mean().item()) for part in parts]
    assert engine.model.weights.item() == pytest.approx((ends[0] + 3 * ends[1]) / 4)
    assert losses == pytest.approx([0.5 + z[part].mean().item() for part in parts])  # f(1) + <z, 1>
    assert loss == pytest.approx((losses[0] + 3 * losses[1]) / 4)


def test_an_empty_round_leaves_the_model_as_it_is(blobs: Task) -> None:
    engine = rounds_on(blobs, [np.arange(90)], LocalSgd())
    before = engine.model.weights.clone()

    heard = engine.play(0, [], eta=0.0)

    assert (heard.mean_loss(), heard.losses) == (None, [])
    assert torch.equal(engine.model.weights, before)


def test_a_client_draws_the_same_examples_whoever_else_takes_part(blobs: Task) -> None:
    parts = Iid().partition(blobs.training.targets.numpy(), 3, seed=0)
    rule = LocalSgd(local_steps=2, batch_size=5)
    alone, first, both = (rounds_on(blobs, parts, rule) for _ in range(3))

    alone.play(4, np.array([2]), eta=0.1)
    first.play(4, np.array([0]), eta=0.1)
    both.play(4, np.array([0, 2]), eta=0.1)

    mean = (alone.model.weights.double() + first.model.weights.double()) / 2
    assert torch.equal(both.model.weights, mean.float())


@pytest.mark.parametrize(
    ("local_steps", "fault"),
    [(5, "training loss is (nan|inf) in round 3"), (1, "the model is not finite after round 3")],
)
def test_divergence_is_named_with_its_round(local_steps: int, fault: str) -> None:
    engine = by_hand(LocalSgd(local_steps, batch_size=1))

    with pytest.raises(Diverged, match=f"^{fault}: try a smaller step size or gradient clipping$"):
        engine.play(3, np.array([0]), eta=3e38)  # float32 ends at 3.4e38, and the gradient is (2, 2)
