"""Finished runs as data: a trial is an arm under one seed, an arm all its trials."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ehfl.analysis.devices import DeviceLog, device_log
from ehfl.arrays import FloatArray, IntArray
from ehfl.runs import Evaluation, Record, Traffic, evaluations_of, point_name
from ehfl.scheduling import Participation


@dataclass(frozen=True, eq=False)
class Trial:
    """One finished run: an arm under one seed."""

    arm: str
    seed: int
    participation: Participation
    records: Sequence[Record]
    local_steps: int = 1  # K
    aggregation: str = "mean"  # by name
    partition: str = "iid"  # by name, of how the data were dealt out
    scheduler: str = ""  # its registered name, such as "myopic"; empty for a user class
    fingerprint: str = ""  # the same for trials that differ in nothing but the seed
    # What the run met, given its seed. Trials of one seed whose texts agree can be compared pair by pair.
    weather: str = ""  # the same for those that harvested the same
    data: str = ""  # the same for those whose clients held the same examples
    first_model: str = ""  # the same for those that started from the same model
    # Of a task with classes: their names, and the training examples of each that clients hold, where that is known.
    classes: tuple[str, ...] = ()
    labels: IntArray | None = None  # (n_clients, n_classes)
    traffic: Traffic | None = None  # what a turn sends; None where the run's folder does not say
    spec: Mapping[str, Any] = field(default_factory=dict)  # every key spelled out; empty unless it was run by a spec

    @property
    def met(self) -> dict[str, str]:
        """What the run met, given its seed, by what it is called in sentences."""
        return {"weather": self.weather, "data": self.data, "first model": self.first_model}

    @cached_property  # a walk over all rounds, asked for by every figure
    def evaluations(self) -> tuple[Evaluation, ...]:
        """What the test set said of x_0, where it was evaluated, and of the models after it."""
        return evaluations_of(self.records)

    @property
    def steps(self) -> FloatArray:
        """Step sizes eta_t, (n_rounds,)."""
        return np.array([record.step_size for record in self.records])

    @cached_property
    def spent(self) -> FloatArray | IntArray:
        """Energy that training has taken after 0, 1, ... rounds, from batteries or the mains, (n_rounds + 1,).

        In joules where the size of a quantum is known, else in the fleet's unit.
        """
        quanta, size = np.append(0, self.participation.spent).cumsum(), self.participation.quantum
        return quanta if size is None else quanta * size

    @cached_property
    def devices(self) -> DeviceLog | None:
        """What the server saw of its devices; None where clients were trained in one process."""
        return device_log(self.records, self.participation)


@dataclass(frozen=True, slots=True)
class Missing:
    """A run that should be in a comparison and is not: it failed, or has not been run to its end."""

    arm: str
    seed: int
    error: str | None = None  # why it failed, in one line; None where it is not finished
    traceback: str = ""  # of the failure

    def __str__(self) -> str:
        why = "not finished" if self.error is None else f"failed: {self.error}"
        return f"{self.arm} seed {self.seed} ({why})"


@dataclass(frozen=True, eq=False, slots=True)
class Arm:
    """The runs under one label, one a seed, evaluated after the same rounds."""

    name: str
    trials: tuple[Trial, ...]

    @property
    def seeds(self) -> tuple[int, ...]:
        """The seeds, ascending."""
        return tuple(trial.seed for trial in self.trials)

    @property
    def scheduler(self) -> str:
        """The registered name of the scheduler, empty for a user class."""
        return self.trials[0].scheduler

    @property
    def point(self) -> Mapping[str, Any]:
        """Where the arm stands in a sweep: the value of each swept key; empty where it is of none."""
        point: Mapping[str, Any] = self.trials[0].spec.get("point", {})
        return point

    @property
    def line(self) -> str:
        """The label without the point: the same for an arm at all points of a sweep."""
        return self.name.replace(f"{point_name(self.point)}: ", "", 1)

    @property
    def traffic(self) -> Traffic | None:
        """What a turn sends; None unless it is known of all runs."""
        known = [trial.traffic for trial in self.trials]
        return None if None in known else known[0]

    @property
    def mains_powered(self) -> bool:
        """Whether participants drew from the mains instead of their batteries."""
        return self.trials[0].participation.mains_powered

    @property
    def rounds(self) -> int:
        """How many rounds its runs were trained for."""
        return len(self.trials[0].records)

    @property
    def round_length(self) -> float | None:
        """How long a round takes [s], where that is known."""
        return self.trials[0].participation.round_length

    @property
    def evaluated(self) -> IntArray:
        """How many rounds had been played at each evaluation, (n_evaluations,); it begins with 0 where x_0 is known."""
        return np.array([found.rounds for found in self.trials[0].evaluations])

    @property
    def metric(self) -> FloatArray:
        """The test metric, (n_seeds, n_evaluations)."""
        return np.array([[found.metric for found in trial.evaluations] for trial in self.trials])

    @property
    def loss(self) -> FloatArray:
        """The test loss, (n_seeds, n_evaluations)."""
        return np.array([[found.loss for found in trial.evaluations] for trial in self.trials])

    @property
    def energy(self) -> FloatArray | IntArray:
        """Energy spent up to each evaluation, (n_seeds, n_evaluations), as `Trial.spent` counts it."""
        return np.array([trial.spent[self.evaluated] for trial in self.trials])

    @property
    def mean_energy(self) -> FloatArray:
        """Energy spent up to each evaluation, mean over seeds, (n_evaluations,)."""
        mean: FloatArray = self.energy.mean(axis=0)
        return mean

    @property
    def counts(self) -> IntArray:
        """Participants n_t, (n_seeds, n_rounds)."""
        return np.array([trial.participation.counts for trial in self.trials])
