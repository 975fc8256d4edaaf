from __future__ import annotations

import numpy as np
import pytest

from ehfl.randomness import Purpose, generator
from ehfl.theory import Quadratic, Wells, noise_samples

CURVATURE = [0.5, 2.0, 1.0]
CENTRE = [1.0, -1.0, 0.5]
PROBLEMS = [Quadratic(CURVATURE, CENTRE, minimum=0.25), Wells(CURVATURE, CENTRE, minimum=0.25)]
RNG = generator(0, Purpose.INIT)
POINTS = RNG.normal(size=(200, 3)) * 3


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda problem: type(problem).__name__)
class TestEveryProblem:
    def test_the_minimum_is_reached_at_the_minimiser_and_nowhere_undercut(self, problem: Quadratic | Wells) -> None:
        assert problem.loss(np.array(CENTRE)) == 0.25
        assert problem.gradient(np.array(CENTRE)).tolist() == [0, 0, 0]
        assert min(problem.loss(x) for x in POINTS) > 0.25

    def test_the_gradient_is_the_slope_of_the_loss(self, problem: Quadratic | Wells) -> None:
        step = 1e-6
        for x in POINTS[:20]:
            slopes = [(problem.loss(x + e) - problem.loss(x - e)) / (2 * step) for e in np.eye(3) * step]
            assert problem.gradient(x) == pytest.approx(slopes, rel=1e-5, abs=1e-7)

    def test_smoothness_bounds_the_gradients_change_and_is_attained(self, problem: Quadratic | Wells) -> None:
        bound = problem.smoothness * np.linalg.norm(POINTS[1:] - POINTS[:-1], axis=1)
        change = [np.linalg.norm(problem.gradient(a) - problem.gradient(b))
                  for a, b in zip(POINTS[1:], POINTS[:-1], strict=True)]  # fmt: skip
        nearby = np.array(CENTRE) + np.array([0, 1e-5, 0])

        assert (np.array(change) <= bound * (1 + 1e-12)).all()
        assert problem.gradient(nearby)[1] == pytest.approx(problem.smoothness * 1e-5, rel=1e-6)


def test_the_wells_are_not_convex() -> None:
    well = Wells([1.0])

    ends, middle = (well.loss(np.array([1.0])) + well.loss(np.array([5.0]))) / 2, well.loss(np.array([3.0]))

    assert middle > ends


def test_the_noise_has_mean_zero_and_the_variance_asked_for() -> None:
    z = noise_samples(dimension=3, variance=2.5, size=50, rng=generator(1, Purpose.INIT))

    assert z.mean(axis=0) == pytest.approx(np.zeros(3), abs=1e-15)
    assert (z**2).sum(axis=1).mean() == pytest.approx(2.5, rel=1e-14)


@pytest.mark.parametrize("wrong", [{"curvature": [0.0]}, {"curvature": 1.0}, {"curvature": [1.0], "variance": -1},
                                   {"curvature": [1.0, 2.0], "minimiser": [1.0]}])  # fmt: skip
@pytest.mark.parametrize("kind", [Quadratic, Wells])
def test_impossible_constants_are_refused(kind: type[Quadratic], wrong: dict[str, object]) -> None:
    with pytest.raises(ValueError, match="must be"):
        kind(**wrong)  # type: ignore[arg-type]
