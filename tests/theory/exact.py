"""Local SGD on quadratics with unlike clients, computed exactly: means and variances instead of samples.

f_i(x) = sum_j a_j x_j^2 / 2 + <d_i, x> with d_i that add up to 0, so that f has its minimum 0 at 0, grad f_i - grad f
is d_i everywhere, and zeta^2 = mean |d_i|^2. Gradient noise is independent, with variance s2, s2/d a coordinate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np


@dataclass(frozen=True)
class Clients:
    curvature: np.ndarray  # a, (dimension,)
    offsets: np.ndarray  # d_i, (n_clients, dimension)
    variance: float  # s2
    start: np.ndarray  # x_0, (dimension,)

    @property
    def n(self) -> int:
        return len(self.offsets)

    @property
    def gap(self) -> float:
        return float((self.curvature * self.start**2).sum() / 2)

    @property
    def heterogeneity(self) -> float:
        return float((self.offsets**2).sum(axis=1).mean())

    def squares(self, moves: Sequence[tuple[np.ndarray, ...]]) -> np.ndarray:
        """Return E|grad f(x_t)|^2 for x' = A x - B + noise, given E A, E A^2, E AB, E B and E B^2 + E noise^2."""
        mean, second = self.start.copy(), self.start**2
        found = []
        for a1, a2, ab, b1, b2 in moves:
            found.append(float((self.curvature**2 * second).sum()))
            mean, second = a1 * mean - b1, a2 * second - 2 * ab * mean + b2
        return np.array(found)

    def step(self, eta: float, K: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return r, c and e^2 of x -> r x - c d_i + noise of variance e^2 by K steps of one client."""
        r = 1 - eta * self.curvature
        powers = r[:, None] ** np.arange(K)
        each = self.variance / self.curvature.size
        return r**K, eta * powers.sum(axis=1), eta**2 * each * (powers**2).sum(axis=1)

    def of_sets(self, sets: list[np.ndarray], etas: np.ndarray, K: int) -> np.ndarray:
        """Return E|grad f(x_t)|^2 under a mean of given sets, one a round."""
        moves = []
        for members, eta in zip(sets, etas, strict=True):
            if members.size == 0:
                one, none = np.ones_like(self.start), np.zeros_like(self.start)
                moves.append((one, one, none, none, none))
                continue
            r, c, noise = self.step(eta, K)
            b = c * self.offsets[members].mean(axis=0)
            moves.append((r, r**2, r * b, b, b**2 + noise / members.size))
        return self.squares(moves)

    def uniformly(self, counts: np.ndarray, etas: np.ndarray, K: int) -> np.ndarray:
        """Return E|grad f(x_t)|^2 under a mean of sets that are drawn uniformly: all of a size are enumerated."""
        moves = []
        for n, eta in zip(counts, etas, strict=True):
            r, c, noise = self.step(eta, K)
            means = np.array([self.offsets[list(s)].mean(axis=0) for s in combinations(range(self.n), int(n))])
            nothing = np.zeros_like(self.start)
            moves.append((r, r**2, nothing, nothing, c**2 * (means**2).mean(axis=0) + noise / n))
        return self.squares(moves)

    def by_chance(self, rates: np.ndarray, etas: np.ndarray, *, inverse: bool) -> np.ndarray:
        """Return E|grad f(x_t)|^2 with one step, a mean or inverse probabilities; all sets are enumerated."""
        each, moves = self.variance / self.curvature.size, []
        for eta in etas:
            total = [np.zeros_like(self.start) for _ in range(5)]
            for size in range(self.n + 1):
                for members in combinations(range(self.n), size):
                    inside = np.isin(np.arange(self.n), members)
                    chance = float(np.prod(np.where(inside, rates, 1 - rates)))
                    weights = inside / rates / self.n if inverse else inside / max(size, 1)
                    a = 1 - eta * self.curvature * weights.sum()
                    b = eta * weights @ self.offsets
                    parts = (a, a**2, a * b, b, b**2 + eta**2 * each * (weights**2).sum())
                    total = [sum_ + chance * part for sum_, part in zip(total, parts, strict=True)]
            moves.append(tuple(total))
        return self.squares(moves)
