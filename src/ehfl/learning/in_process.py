"""Clients that train in this process, along a participation or in lockstep with its scheduler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ehfl.arrays import Clients, IntArray
from ehfl.history import Devices, Record
from ehfl.learning.aggregation import Aggregation, Assign, Update, wants_weights
from ehfl.learning.aggregation.scheduled import no_weights
from ehfl.learning.device import pick_device
from ehfl.learning.engine import Engine
from ehfl.learning.first_model import initial_model
from ehfl.learning.known_by import described
from ehfl.learning.local_sgd import LocalSgd, step_sizes
from ehfl.learning.server import Server
from ehfl.learning.tasks import Task, label_counts
from ehfl.learning.training import Training
from ehfl.machine import check_time
from ehfl.partition import Partition
from ehfl.partition import deal as deal_targets
from ehfl.randomness import check_seed
from ehfl.scheduling import Lockstep, Participation, brings_steps, brings_weights, course_of, wants_losses
from ehfl.theory import StepSize
from ehfl.validation import InvalidValue


class InProcess:
    """Clients that are trained here, one after the other."""

    def __init__(self, played: Participation | Lockstep, engine: Engine) -> None:
        # Asked round by round, because a scheduler in lockstep decides a round only after the one before.
        self._course, self._engine = course_of(played), engine
        self.rounds, self.n_clients = played.rounds, played.n_clients
        self.keeps_losses = isinstance(played, Lockstep) and wants_losses(played.scheduler)
        self.keeps_steps = has_steps(played)
        self.labels = label_counts(engine.task, engine.parts)

    def clients(self, t: int) -> Clients:
        """Return the participants of round t."""
        return self._course.clients(t)

    def updates(self, assign: Assign, clients: Clients, t: int, eta: float) -> Iterator[Update]:
        """Train each client when its update is asked for; a scheduler may have said how much it counts."""
        weights = self._course.weights(t)
        updates = self._engine.updates(assign, clients, t, eta, self._course.steps(t))
        return updates if weights is None else map(_weighted, updates, weights.tolist())

    def report(self, t: int, losses: Sequence[float]) -> Devices | None:
        """Hand the losses to a scheduler that may want them; there are no devices to be seen."""
        self._course.report(t, losses)
        return None

    def again(self, record: Record) -> int:
        """Decide a past round again, from the losses that were reported then: it costs no training."""
        count = self._course.clients(record.round).size
        self._course.report(record.round, record.losses or ())
        return count

    def participation(self) -> Participation:
        """Return all rounds."""
        return self._course.participation()


def training_in_process(
    task: Task,
    played: Participation | Lockstep,
    *,
    rule: LocalSgd,
    step_size: StepSize,
    aggregation: Aggregation,
    partition: Partition,
    seed: int = 0,
    eval_every: int = 10,
    device: str = "auto",
    identity: Mapping[str, Any] | None = None,
) -> Training:
    """Return a run that is ready to start: data dealt out, first model made, step sizes checked.

    `identity` is what its checkpoints are known by, unless what is given here is enough.
    """
    seed, place = check_seed(seed), pick_device(device)
    course_of(played)  # refuses what is neither
    _check_weights(aggregation, played)
    _check_steps(rule, played)
    turns = played.offsets[-1] if isinstance(played, Participation) else played.rounds
    check_time("local_steps", rule.local_steps, rule.seconds(int(turns)))
    # Where participation is known, all step sizes are too: some rules look at later rounds of their window.
    etas = step_sizes(step_size, played) if isinstance(played, Participation) else None
    parts = deal(task, played.n_clients, partition, seed)
    model = initial_model(task, seed, place)
    engine = Engine(task, model, parts, rule, seed=seed, device=place)
    server = Server(model, aggregation, played.n_clients)
    return Training(
        task,
        server,
        InProcess(played, engine),
        step_size=step_size,
        etas=etas,
        eval_every=eval_every,
        # Described only when asked for, because it goes through all data.
        identity=identity or (lambda: described(engine, aggregation, played, step_size, etas)),
    )


def _weighted(update: Update, weight: float) -> Update:
    return replace(update, weight=weight)


def _check_weights(aggregation: Aggregation, played: Participation | Lockstep) -> None:
    """Refuse an aggregation that goes by the scheduler's weights where there are none."""
    there = brings_weights(played.scheduler) if isinstance(played, Lockstep) else played.weights is not None
    if wants_weights(aggregation) and not there:
        raise no_weights(aggregation, str(played.scheduler))


def has_steps(played: Participation | Lockstep) -> bool:
    """Return whether turns may have fewer than K local steps."""
    if isinstance(played, Participation):
        return played.steps is not None
    return brings_steps(played.scheduler) and played.fleet.step_costs is not None


def _check_steps(rule: LocalSgd, played: Participation | Lockstep) -> None:
    """Refuse turns of more steps than participants are to take at most."""
    if not has_steps(played):
        return
    if isinstance(played, Participation):
        most = int(played.steps.max(initial=1)) if played.steps is not None else 1
    else:
        most = played.fleet.steps or 1
    if most > rule.local_steps:
        raise InvalidValue("local_steps", f"at least the {most} steps that turns of the fleet have", rule.local_steps)


def deal(task: Task, n_clients: int, partition: Partition, seed: int) -> list[IntArray]:
    """Return each client's example numbers; a deal that breaks the rules is refused."""
    return deal_targets(partition, task.training.targets.cpu().numpy(), n_clients, seed)
