"""Estimated constants against known ones."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch

from ehfl.learning import Examples, Metric, constants, estimate_constants, estimate_spread, initialise, load_task
from ehfl.randomness import Purpose, generator


@pytest.mark.parametrize(("name", "gap"), [("quadratic", 5.5), ("wells", 2.75)])
def test_estimates_agree_with_the_constants_of_known_problems(name: str, gap: float) -> None:
    found = estimate_constants(load_task(name), batch_size=40, batches=200)

    # L is 1, from below: power iteration approaches the largest eigenvalue, 1, past the next one, 0.95
    assert 0.9 < found.smoothness <= 1.001
    assert found.gap == pytest.approx(gap, rel=1e-6)
    # sigma^2 is 1 for one example; 40 of 1,000 without replacement leave (1/40)(960/999). The mean of 200 squared norms
    # in 20 dimensions has a relative standard error of sqrt(2/20/200).
    assert found.variance == pytest.approx(960 / 999 / 40, rel=5 * math.sqrt(2 / 20 / 200))


def test_estimates_are_a_pure_function_of_task_and_seed() -> None:
    task = load_task("quadratic")

    first, second = (estimate_constants(task, seed=3, batches=4, iterations=2) for _ in range(2))

    assert first == second
    assert estimate_constants(task, seed=4, batches=4, iterations=2) != first


def test_estimates_draw_from_streams_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Else a probe would see the minibatches that training draws."""
    asked = []

    def noted(seed: int, purpose: Purpose, **options: int) -> np.random.Generator:
        asked.append((seed, purpose))
        return generator(seed, purpose, **options)

    monkeypatch.setattr(constants, "generator", noted)
    estimate_constants(load_task("quadratic"), seed=3, batches=1, iterations=1)

    assert sorted(asked) == [(3, Purpose.PROBE), (3, Purpose.PROBE_EXAMPLES)]


def test_some_examples_stand_for_all() -> None:
    found = estimate_constants(load_task("quadratic"), batch_size=40, batches=200, examples=500)

    assert 0.9 < found.smoothness <= 1.001  # the noise has no curvature
    # f(x_0) = 5.5 plus the mean of <z, x_0> over the 500, with x_0 = 1 in 20 dimensions and |z|^2 of mean 1: the sum of
    # z's coordinates has variance 1, and 500 of 1,000 without replacement leave sqrt(500 / 999 / 500)
    assert found.gap == pytest.approx(5.5, abs=5 * math.sqrt(1 / 999))
    assert found.gap != pytest.approx(5.5, rel=1e-6)  # they are not all
    # about the mean of the 500 (within five relative standard errors of the variance, theirs and the batches')
    tolerance = 5 * (math.sqrt(2 / 20 / 200) + math.sqrt(2 / 20 / 500))
    assert found.variance == pytest.approx(460 / 499 / 40, rel=tolerance)


def test_as_many_examples_as_there_are_is_all_of_them() -> None:
    task = load_task("quadratic")
    every, more = (estimate_constants(task, batches=4, iterations=2, examples=n) for n in (1000, 5000))

    assert every == more == estimate_constants(task, batches=4, iterations=2)


def test_batches_are_no_larger_than_the_examples() -> None:
    found = estimate_constants(load_task("quadratic"), batch_size=50, batches=4, iterations=1, examples=20)

    assert found.variance == pytest.approx(0, abs=1e-10)  # each batch is all 20 of them
    with pytest.raises(ValueError, match="examples must be a whole number >= 1, got 0"):
        estimate_constants(load_task("quadratic"), examples=0)


def test_progress_is_told_after_every_iteration() -> None:
    seen: list[object] = []
    estimate_constants(load_task("quadratic"), iterations=2, batches=1, on_iteration=seen.append)

    assert len(seen) == 2 * constants.POINTS


def test_the_spread_between_clients_is_that_of_their_means() -> None:
    """On the quadratic a gradient is A x + z, and z is the example: everything can be computed, at every x."""
    task = load_task("quadratic")
    parts = [np.arange(0, 200), np.arange(200, 1000)]
    z = task.training.inputs.numpy().astype(np.float64)
    means = np.array([z[part].mean(axis=0) for part in parts])
    # 40 of D without replacement: (1 / 40 - 1 / D) times the sample variance
    noise = [(1 / 40 - 1 / part.size) * z[part].var(axis=0, ddof=1).sum() for part in parts]
    between = np.square(means - means.mean(axis=0)).sum(axis=1).mean()

    first = estimate_spread(task, parts, batch_size=40, batches=200)
    along = estimate_constants(task, parts, batch_size=40, batches=200, iterations=1)

    assert (first.between, along.heterogeneity) == pytest.approx((between, between), rel=1e-4)
    # a mean of 200 squared norms in 20 dimensions; along the path the largest of three of them
    tolerance = 5 * math.sqrt(2 / 20 / 200)
    assert (first.within, along.variance) == pytest.approx((np.mean(noise), np.mean(noise)), rel=tolerance)
    # f_i(x_0) = 5.5 + <mean of z, x_0> with x_0 = 1 in every coordinate; clients count alike, however much they hold
    assert along.gap == first.loss == pytest.approx(5.5 + means.sum(axis=1).mean(), rel=1e-5)


def test_of_two_examples_either_is_as_far_from_their_mean() -> None:
    task = load_task("quadratic")
    z = task.training.inputs.numpy().astype(np.float64)

    found = estimate_spread(task, [np.array([0, 1]), np.array([2, 3])], batch_size=1, batches=2)  # one of each client

    assert found.within == pytest.approx((np.square(z[0] - z[1]).sum() + np.square(z[2] - z[3]).sum()) / 8, rel=1e-5)
    assert found.between == pytest.approx(np.square(z[0] + z[1] - z[2] - z[3]).sum() / 16, rel=1e-5)


def test_one_client_who_holds_all_is_what_no_clients_are() -> None:
    task = load_task("quadratic")
    alone = estimate_constants(task, [np.arange(1000)], iterations=2)

    assert alone == estimate_constants(task, iterations=2)
    assert alone.heterogeneity == 0


@pytest.mark.parametrize("parts", [[], [[1, 2], []], [[0, 1000]], [[-1]], [[0.5]], [[[0]]]])
def test_what_is_no_deal_of_the_examples_has_no_spread(parts: list[Any]) -> None:
    with pytest.raises(ValueError, match=r"parts must be (the )?example numbers"):
        estimate_spread(load_task("quadratic"), [np.array(part) for part in parts])


class Slope:
    """f(x) = x: no curvature, no minimum."""

    name = "slope"
    metric = Metric("loss", lower_is_better=True)
    training = test = Examples(torch.zeros(8, 1), torch.zeros(8, 1))

    def model(self, rng: np.random.Generator) -> torch.nn.Module:
        return initialise(torch.nn.Linear(1, 1), rng)

    def loss(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return outputs.mean()

    def score(self, outputs: torch.Tensor, targets: torch.Tensor) -> float:
        return float(outputs.mean())


def test_a_loss_without_curvature_has_no_estimate() -> None:
    with pytest.raises(ValueError, match=r"smoothness must be in \[1e-50, 1e50\], got 0.0"):
        estimate_constants(Slope(), batch_size=2)


class Apart:
    """l(x, y) = (x - 1)^2 / 2 + y (x - centre)^2 / 4 for y = 1 and -1, from x = 0: L = 1, noise as far as x is off."""

    name = "apart"
    metric = Metric("loss", lower_is_better=True)
    training = test = Examples(torch.tensor([[1.0], [-1.0]]), torch.zeros(2, 1))

    def __init__(self, centre: float) -> None:
        self.centre = centre

    def model(self, rng: np.random.Generator) -> torch.nn.Module:
        return _Square(self.centre)

    def loss(self, outputs: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
        return outputs.mean()

    def score(self, outputs: torch.Tensor, targets: torch.Tensor) -> float:
        return float(outputs.mean())


class _Square(torch.nn.Module):
    def __init__(self, centre: float) -> None:
        super().__init__()
        self.centre, self.x = centre, torch.nn.Parameter(torch.zeros(1))

    def forward(self, y: torch.Tensor) -> torch.Tensor:
        return (self.x - 1) ** 2 / 2 + y * (self.x - self.centre) ** 2 / 4


# Steps of 0.1 on both examples together, whose mean is (x - 1)^2 / 2, bring x to 1 - 0.9^t.
@pytest.mark.parametrize(("centre", "largest"), [(0.0, (1 - 0.9**150) ** 2 / 4), (1.0, 1 / 4), (0.5, 1 / 16)])
def test_the_largest_spread_on_the_way_is_what_counts(centre: float, largest: float) -> None:
    task = Apart(centre)

    found = estimate_constants(task, [np.array([0]), np.array([1])], batch_size=2, iterations=1)

    # grad f_i = x - 1 +- (x - centre) / 2: largest at the end, at the start, and at both alike
    assert found.heterogeneity == pytest.approx(largest, rel=1e-4)
    assert found.smoothness == pytest.approx(1, rel=1e-3)
    assert (found.variance, found.gap) == pytest.approx((0, 1 / 2), abs=1e-6)  # a batch is all that a client holds
    # with both examples on one client, the same is what minibatches of one of them differ by
    alone = estimate_constants(Apart(1.0), batch_size=1, iterations=1)
    assert (alone.variance, alone.heterogeneity) == pytest.approx((1 / 4, 0), abs=1e-6)


def test_a_path_that_leaves_the_numbers_has_no_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(constants._Probe, "descend", lambda probe, *_: probe.model.weights.fill_(math.nan))

    with pytest.raises(ValueError, match=r"smoothness must be in \[1e-50, 1e50\], got nan"):
        estimate_constants(load_task("quadratic"), iterations=1)


def test_curvature_and_variance_of_digits_grow_tenfold_while_it_is_trained() -> None:
    """As docs/theory.md says of what is estimated at the first model."""
    task = load_task("digits")
    first = estimate_spread(task, [np.arange(len(task.training))], batches=16)

    found = estimate_constants(task, batches=16, iterations=5)

    assert found.variance > 10 * first.within
    assert 10 < found.smoothness < 100  # from about 1.4
    assert found.gap == pytest.approx(math.log(10), rel=0.05)  # ten classes, no knowledge
