"""Theory's problems as tasks: an example is a sample of gradient noise z, its loss f(x) + <z, x>."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from ehfl.learning.tasks.examples import Examples
from ehfl.randomness import Purpose, generator
from ehfl.runs import Metric
from ehfl.theory.problems import KnownProblem, Quadratic, Wells, noise_samples

_DIMENSION = 20


class _Evaluated(torch.autograd.Function):
    """f(x), with the problem's own gradient."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, problem: KnownProblem) -> Tensor:
        ctx.save_for_backward(x)
        ctx.problem = problem
        return x.new_tensor(problem.loss(x.detach().cpu().double().numpy()))

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        (x,) = ctx.saved_tensors
        slope = ctx.problem.gradient(x.cpu().double().numpy())
        return gradients[0] * torch.from_numpy(slope).to(x), None


class _Point(nn.Module):
    """The point x; called on noise z of shape (n_examples, dimension), it returns each example's f(x) + <z, x>."""

    def __init__(self, problem: KnownProblem, start: float) -> None:
        super().__init__()
        self.problem = problem
        self.x = nn.Parameter(torch.full((problem.dimension,), start))

    def forward(self, z: Tensor) -> Tensor:
        value: Tensor = _Evaluated.apply(self.x, self.problem)  # type: ignore[no-untyped-call]
        return value + z @ self.x


@dataclass(frozen=True, eq=False)
class ProblemTask:
    """Minimise a problem of known constants; the test set is one noiseless example, so the test loss is f(x)."""

    name: str
    problem: KnownProblem
    variance: float
    minimum: float
    examples: int = 1000
    start: float = 1.0  # every coordinate of x_0
    metric: ClassVar[Metric] = Metric("gap", lower_is_better=True)
    training: Examples = field(init=False, repr=False)
    test: Examples = field(init=False, repr=False)

    def __post_init__(self) -> None:
        rng = generator(0, Purpose.PARTITION, client=2)
        noise = noise_samples(self.problem.dimension, self.variance, self.examples, rng)
        # A single label: noise has no classes, so every partition acts like the iid one.
        labels = torch.zeros(self.examples, dtype=torch.int64)
        object.__setattr__(self, "training", Examples(torch.from_numpy(noise).float(), labels))
        object.__setattr__(self, "test", Examples(torch.zeros(1, self.problem.dimension), labels[:1]))

    def model(self, rng: np.random.Generator) -> nn.Module:
        """Return the starting point; nothing about it is random."""
        return _Point(self.problem, self.start)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the mean over the examples."""
        return outputs.mean()

    def score(self, outputs: Tensor, targets: Tensor) -> float:
        """Return f(x) - f*."""
        return outputs.mean().item() - self.minimum


def quadratic() -> ProblemTask:
    """Return the quadratic in 20 dimensions, curvatures from 0.1 to 1: L = 1, sigma^2 = 1, f* = 0."""
    bowl = Quadratic(curvature=np.linspace(0.1, 1.0, _DIMENSION))
    return ProblemTask("quadratic", bowl, bowl.variance, bowl.minimum)


def wells() -> ProblemTask:
    """Return the non-convex problem in 20 dimensions: L = 1, sigma^2 = 1, f* = 0."""
    well = Wells(curvature=np.linspace(0.1, 1.0, _DIMENSION))
    return ProblemTask("wells", well, well.variance, well.minimum)
