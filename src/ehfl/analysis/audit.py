"""What a plain mean of the participants really optimises, as far as chances, labels and gradients say."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ehfl.analysis.statistics import Estimate, estimate_with
from ehfl.analysis.trials import Arm
from ehfl.arrays import FloatArray, IntArray
from ehfl.scheduling import Chances, observed_chances

_ROUNDING = 1e-12  # of a chi^2 that is 0
_A_TENTH_OFF = 0.01  # chi^2, since it is the mean of (N q_i - 1)^2
_FIFTHS = ("least heard", "second", "third", "fourth", "most heard")


@dataclass(frozen=True, eq=False, slots=True)
class Group:
    """Clients that are shown together: a fifth of them, in the order of their weights, or a single one."""

    name: str
    clients: IntArray
    probability: float  # P(i in S), mean over its clients
    weight: float  # in the mean, of all its clients together


@dataclass(frozen=True, eq=False, slots=True)
class Audit:
    """What an arm's mean of the participants' models optimises: sum_i q_i f_i instead of f = (1/N) sum_i f_i.

    The mean moves the model by sum_i 1{i in S} Delta_i / |S|, so that in expectation client i weighs q_i. With pi_i the
    label mixture of client i, the labels behind it are mixed as sum_i q_i pi_i and not as (1/N) sum_i pi_i. Where
    grad sum_i q_i f_i = 0, since the differences q_i - 1/N add up to nothing,

        grad f = sum_i (1/N - q_i) grad f_i = sum_i (1/N - q_i) (grad f_i - grad f),

    and by Cauchy and Schwarz |grad f|^2 <= sum_i (q_i - 1/N)^2 sum_i |grad f_i - grad f|^2 = chi^2 zeta^2: as high a
    floor as heterogeneity can make of the weights, which no number of rounds and no step size takes away.
    """

    arm: str
    chances: Chances
    classes: tuple[str, ...] = ()  # names of the labels; empty for a task that has none
    deals: tuple[IntArray, ...] = ()  # training labels held, (n_clients, n_classes), one for each seed that was dealt
    spread: float | None = None  # zeta^2 = mean_i |grad f_i - grad f|^2; None where it was not measured
    aggregation: str = "mean"  # by name; the figures are a mean's, whatever the arm aggregates by

    @classmethod
    def played(cls, arm: Arm) -> Audit:
        """Return the audit of what an arm's runs have played."""
        labels = [trial.labels for trial in arm.trials if trial.labels is not None]
        deals = tuple(labels) if len(labels) == len(arm.trials) else ()
        heard = observed_chances([trial.participation for trial in arm.trials])
        return cls(arm.name, heard, arm.trials[0].classes if deals else (), deals)

    @property
    def n_clients(self) -> int:
        """N."""
        return self.chances.weights.size

    @property
    def chi_square(self) -> Estimate:
        """N sum_i (q_i - 1/N)^2, with a 95 % interval where it is an estimate."""
        return self.estimated(self.chances.chi_square, self.chances.chi_square_error)

    @property
    def floor(self) -> Estimate | None:
        """The floor chi^2 zeta^2 on |grad f|^2, with the interval of chi^2; None where zeta^2 was not measured."""
        if self.spread is None:
            return None
        return self.estimated(self.chances.chi_square * self.spread, self.chances.chi_square_error * self.spread)

    @property
    def uneven(self) -> bool:
        """Whether chi^2 is above 0 as far as can be known: exactly, or with an interval that leaves 0 out."""
        found = self.chi_square
        return found.mean > _ROUNDING if self.chances.exact else found.low is not None and found.low > 0

    @property
    def matters(self) -> bool:
        """Whether weights are a tenth off or more, root mean square, which sqrt(chi^2) is, and chance is not why."""
        return self.uneven and self.chances.chi_square >= _A_TENTH_OFF

    def weight_of(self, client: int) -> Estimate:
        """Return q_i of a client, with a 95 % interval where it is an estimate."""
        return self.estimated(float(self.chances.weights[client]), float(self.chances.weights_error[client]))

    def estimated(self, mean: float, error: float) -> Estimate:
        """Return a figure with its interval; one without where it is exact, or where a single seed was played."""
        seeds = self.chances.seeds
        exact = self.chances.exact or not math.isfinite(error)
        return Estimate(mean, None, None, max(seeds, 1)) if exact else estimate_with(mean, error, seeds)

    @property
    def order(self) -> IntArray:
        """The clients from the least heard to the most heard, by weight."""
        order: IntArray = np.argsort(self.chances.weights, kind="stable")
        return order

    def singles(self) -> list[Group]:
        """Return the clients one by one, in their order."""
        return [self._group(f"client {client}", np.array([client])) for client in range(self.n_clients)]

    def fifths(self) -> list[Group]:
        """Return fifths of the clients from the least heard to the most heard; no more of them than there are clients.

        The first of a fleet that does not split evenly have a client more.
        """
        parts = [part for part in np.array_split(self.order, len(_FIFTHS)) if part.size]
        return [self._group(f"{name} fifth", part) for name, part in zip(_FIFTHS, parts, strict=False)]

    def _group(self, name: str, clients: IntArray) -> Group:
        probability, weight = self.chances.probabilities[clients].mean(), self.chances.weights[clients].sum()
        return Group(name, clients, float(probability), float(weight))

    @property
    def mixture(self) -> FloatArray:
        """Share of each label where all clients count alike, (n_classes,), mean over the deals."""
        return self._mean(1 / self.n_clients * np.ones(self.n_clients))

    @property
    def optimised(self) -> FloatArray:
        """Share of each label as the mean weighs it, (n_classes,), mean over the deals."""
        return self._mean(self.chances.weights)

    @property
    def moved(self) -> float:
        """Share of the label mixture that the weights move from some labels to others, mean over the deals.

        The total variation distance sum_c |optimised_c - true_c| / 2 of each deal: where labels lie elsewhere with
        each seed, means over the deals would hide it.
        """
        gaps = [np.abs((self.chances.weights - 1 / self.n_clients) @ shares).sum() / 2 for shares in self._shares()]
        return float(np.mean(gaps))

    def _mean(self, weights: FloatArray) -> FloatArray:
        mixed: FloatArray = np.mean([weights @ shares for shares in self._shares()], axis=0)
        return mixed

    def _shares(self) -> Iterator[FloatArray]:
        """Yield pi of each deal: the label mixture of every client, (n_clients, n_classes)."""
        for counts in self.deals:
            yield counts / np.maximum(counts.sum(axis=1, keepdims=True), 1)

    def as_facts(self) -> dict[str, Any]:
        """Return every figure by name, ready for JSON; clients in their order."""
        chances = self.chances
        facts: dict[str, Any] = {
            "arm": self.arm,
            "aggregation": self.aggregation,
            "exact": chances.exact,
            "seeds": chances.seeds,
            "rounds": chances.rounds,
            "turns": chances.probabilities.tolist(),
            "turns_error": chances.probabilities_error.tolist(),
            "weights": chances.weights.tolist(),
            "weights_error": chances.weights_error.tolist(),
            "chi_square": chances.chi_square,
            "chi_square_error": chances.chi_square_error,
            "zeta_square": self.spread,
            "floor": None if self.spread is None else chances.chi_square * self.spread,
        }
        if not self.deals or not chances.has_turns:
            return facts
        return facts | {"classes": list(self.classes), "mixture": self.mixtures(), "moved": self.moved}

    def mixtures(self) -> dict[str, dict[str, float]]:
        """Return the true and the optimised share of each class, by its name."""
        found = {"true": self.mixture, "optimised": self.optimised}
        return {name: dict(zip(self.classes, shares.tolist(), strict=True)) for name, shares in found.items()}


def alike(audits: Sequence[Audit]) -> list[list[Audit]]:
    """Return audits that say the same together, in their order: arms that differ in their aggregation alone, say."""
    found: dict[tuple[object, ...], list[Audit]] = {}
    for audit in audits:
        figures = audit.chances.probabilities, audit.chances.weights, *audit.deals
        found.setdefault((audit.spread, *(array.tobytes() for array in figures)), []).append(audit)
    return list(found.values())


def weight_figures(arm: Arm) -> dict[str, Any]:
    """Return the figures of a row that say what an arm's clients weighed, by name; none where no client took part."""
    found = Audit.played(arm)
    if not found.chances.has_turns:
        return {}
    weights = found.chances.weights * found.n_clients
    return {
        "chi_square": found.chi_square,
        "least_weight": float(weights.min()),
        "most_weight": float(weights.max()),
        "labels_moved": found.moved if found.deals else None,
    }
