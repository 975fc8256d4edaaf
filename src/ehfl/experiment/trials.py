"""Finished runs as data: a trial is an arm under one seed, an arm all its trials."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ehfl.energy.harvest import FloatArray, IntArray
from ehfl.history import Record
from ehfl.scheduling import Participation
from ehfl.theory import Constants


@dataclass(frozen=True, slots=True)
class Metric:
    """What the model is judged by."""

    name: str  # such as "accuracy"
    lower_is_better: bool = False

    @property
    def sign(self) -> int:
        """1 where more is better, else -1."""
        return -1 if self.lower_is_better else 1


@dataclass(frozen=True, eq=False, slots=True)
class Trial:
    """One finished run: an arm under one seed."""

    arm: str
    seed: int
    participation: Participation
    records: Sequence[Record]
    cost: int = 1  # of taking part in a round [units]
    local_steps: int = 1  # K
    constants: Constants | None = None  # of the problem, where they are known
    kind: str = ""  # the same for trials that differ in nothing but the seed
    met: str = ""  # the same for trials that met the same weather and data, given the seed

    @property
    def evaluations(self) -> list[Record]:
        """The rounds after which the model was evaluated."""
        return [record for record in self.records if record.test_metric is not None]

    @property
    def steps(self) -> FloatArray:
        """Step sizes eta_t, (n_rounds,)."""
        return np.array([record.step_size for record in self.records])

    @property
    def spent(self) -> IntArray:
        """Energy that training has taken up to each round's end, from batteries or the mains, (n_rounds,) [units]."""
        total: IntArray = np.cumsum(self.participation.counts, dtype=np.int64) * self.cost
        return total


@dataclass(frozen=True, eq=False, slots=True)
class Arm:
    """A scheduler's runs, one a seed, evaluated after the same rounds."""

    name: str
    trials: tuple[Trial, ...]

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, ascending."""
        return tuple(trial.seed for trial in self.trials)

    @property
    def met(self) -> str:
        """What weather and data the trials met."""
        return self.trials[0].met

    @property
    def evaluated(self) -> IntArray:
        """How many rounds had been played at each evaluation, (n_evaluations,)."""
        return np.array([record.round + 1 for record in self.trials[0].evaluations])

    @property
    def metric(self) -> FloatArray:
        """The test metric, (n_seeds, n_evaluations)."""
        return np.array([[record.test_metric for record in trial.evaluations] for trial in self.trials])

    @property
    def loss(self) -> FloatArray:
        """The test loss, (n_seeds, n_evaluations)."""
        return np.array([[record.test_loss for record in trial.evaluations] for trial in self.trials])

    @property
    def energy(self) -> IntArray:
        """Energy spent up to each evaluation, (n_seeds, n_evaluations) [units]."""
        return np.array([trial.spent[self.evaluated - 1] for trial in self.trials])

    @property
    def counts(self) -> IntArray:
        """Participants n_t, (n_seeds, n_rounds)."""
        return np.array([trial.participation.counts for trial in self.trials])
