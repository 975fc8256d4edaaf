"""The metric of a model; the record of each round, on devices too; the traffic between server and clients."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ehfl.validation import InvalidValue, is_label, is_number, printable, short, whole_number

if TYPE_CHECKING:
    from ehfl.scheduling import Participation

LARGEST = 1e100  # magnitude of a loss or a metric: the squares of larger ones overflow in means and deviations
LONGEST_REASON = 200  # characters, of a client's lost update
_BYTES_A_WEIGHT = 4  # float32
_MB = 1e6
_TRAFFIC_KEYS = {"model_weights": "weights", "models_down": "down", "models_up": "up"}  # of meta.json


@dataclass(frozen=True, slots=True)
class Metric:
    """The metric that evaluates the model.

    >>> Metric("accuracy", bounds=(0, 1)).is_share, Metric("gap", lower_is_better=True).sign
    (True, -1)
    """

    name: str  # such as "accuracy"
    lower_is_better: bool = False
    bounds: tuple[float | None, float | None] = (None, None)  # the least and the largest possible value

    def __post_init__(self) -> None:
        if not is_label(self.name, most=40) or not self.name.strip():  # it is shown in terminals, figures and pages
            raise InvalidValue("metric.name", "at most 40 printable characters", short(repr(self.name)))
        if not -math.inf < self._ends[0] < self._ends[1] < math.inf:
            allowed = "the least and the largest value, in this order, each a finite number or None"
            raise InvalidValue("metric.bounds", allowed, short(repr(self.bounds)))

    @property
    def sign(self) -> int:
        """1 where more is better, else -1."""
        return -1 if self.lower_is_better else 1

    @property
    def is_share(self) -> bool:
        """Whether values are fractions, which are shown in percent."""
        return self.bounds == (0, 1)

    def within(self, value: float) -> float:
        """Return the nearest allowed value; NaN stays NaN."""
        least, most = self._ends
        return min(max(value, least), most)

    def allows(self, value: float) -> bool:
        """Return whether a value is finite and in the bounds, up to rounding.

        >>> accuracy = Metric("accuracy", bounds=(0, 1))
        >>> accuracy.allows(1.0000001), accuracy.allows(87.5), accuracy.allows(float("nan"))
        (True, False, False)
        """
        return math.isfinite(value) and math.isclose(self.within(value), value, rel_tol=1e-6, abs_tol=1e-6)

    @property
    def range(self) -> str:
        """The possible values, as text."""
        least, most = self._ends
        return f"a finite number in [{least:g}, {most:g}], the bounds of {self.name}"

    @property
    def _ends(self) -> tuple[float, float]:
        least, most = self.bounds
        return -LARGEST if least is None else least, LARGEST if most is None else most

    def check_goal(self, goal: float) -> None:
        """Raise an error for a goal outside the bounds."""
        if not is_number(goal) or not math.isfinite(goal) or self.within(goal) != goal:
            raise InvalidValue("goal", self.range, f"{goal:g}" if is_number(goal) else repr(goal))


@dataclass(frozen=True, slots=True)
class Devices:
    """A round as a server with real devices sees it.

    >>> seen = Devices(energy=(2, None, 1, 0), asked=(0, 2), lost={2: "no reply in 30 s"}, spent=(5, 3, 4, 4))
    >>> seen.online, seen.took_part
    ((0, 2, 3), (0,))
    """

    energy: tuple[int | None, ...]  # E_i(t) as each client reported it, (n_clients,); None where it did not answer
    asked: tuple[int, ...]  # clients that were sent the model, ascending
    lost: Mapping[int, str]  # those of them whose update does not count, with the reason
    spent: tuple[int, ...]  # each client's reported payments since the first round, (n_clients,)

    @property
    def online(self) -> tuple[int, ...]:
        """The clients that reported their energy, ascending."""
        return tuple(client for client, level in enumerate(self.energy) if level is not None)

    @property
    def took_part(self) -> tuple[int, ...]:
        """The clients whose updates were aggregated, ascending."""
        return tuple(client for client in self.asked if client not in self.lost)

    def facts(self) -> dict[str, Any]:
        """Return the values by name, ready for JSON, whose keys are strings."""
        lost = {str(client): self.lost[client] for client in sorted(self.lost)}
        return {"energy": list(self.energy), "asked": list(self.asked), "lost": lost, "spent": list(self.spent)}

    @staticmethod
    def read(facts: Mapping[str, Any]) -> Devices:
        """Return what `facts` returned; digests vouch for it."""
        lost = {int(client): reason for client, reason in facts["lost"].items()}
        return Devices(tuple(facts["energy"]), tuple(facts["asked"]), lost, tuple(facts["spent"]))


def as_reason(text: str) -> str:
    r"""Return the text of a device or an error as a reason for a record: one printable line, cut off if long.

    >>> as_reason("too\n hot"), as_reason("")
    ('too hot', 'no reason given')
    """
    return short(printable(text), LONGEST_REASON) or "no reason given"


STOP = "stop"  # what on_round returns to end a run after the round
Accuracies = tuple[float | None, ...]  # of classes or clients; None for those without test examples


@dataclass(frozen=True, slots=True)
class Record:
    """One round. Timing does not count in comparisons of records: a resumed run takes other times."""

    round: int  # t
    participants: int  # n_t
    step_size: float  # eta_t
    train_loss: float | None  # mean over the participants' minibatches; None in an empty round
    test_loss: float | None = None  # of x_{t+1}, where it was evaluated
    test_metric: float | None = None
    losses: tuple[float, ...] | None = None  # of each participant, where the scheduler chooses by them
    steps: tuple[int, ...] | None = None  # that each participant took, where the scheduler chooses how many
    first_loss: float | None = None  # of x_0, the model before the first round, in that round's record alone
    first_metric: float | None = None
    devices: Devices | None = None  # where the clients are real devices
    # Of x_{t+1}, where it was evaluated and the task has classes: the share of right predictions.
    by_class: Accuracies | None = None  # (n_classes,); None for a class without test examples
    by_client: Accuracies | None = None  # under each client's own mixture of labels, (n_clients,)
    first_by_class: Accuracies | None = None  # of x_0, in the first round's record alone
    # What the noise scale is measured from; None in an empty round, and of runs from before these were recorded.
    start_loss: float | None = None  # mean over the participants' first minibatches: an estimate of f(x_t)
    update_square: float | None = None  # |m|^2, where m is the mean of the updates Delta_i = x_{t,K}^i - start
    update_spread: float | None = None  # sum of |Delta_i - m|^2, divided by n_t - 1; None for one participant, too
    seconds: float = field(default=0.0, compare=False)  # for training in this round [s]
    eval_seconds: float = field(default=0.0, compare=False)  # for its evaluation [s]

    def facts(self) -> dict[str, Any]:
        """Return the values by name, ready for JSON; fields that few records have are left out where they are None."""
        found = ((name, getattr(self, name)) for name in _NAMES)  # asdict would copy each value of each line
        facts = {name: value for name, value in found if value is not None or name not in _SELDOM}
        return facts if self.devices is None else facts | {"devices": self.devices.facts()}


_NAMES = tuple(one.name for one in fields(Record))
_SELDOM = {
    "losses", "steps", "first_loss", "first_metric", "devices", "by_class", "by_client", "first_by_class",
    "start_loss", "update_square", "update_spread",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Loss and metric of the model on the test set after a number of rounds."""

    rounds: int  # played; 0 is x_0
    loss: float
    metric: float
    by_class: Accuracies | None = field(default=None, repr=False)  # as in the record, where the task has classes
    by_client: Accuracies | None = field(default=None, repr=False)

    def worst_class(self, classes: Sequence[str]) -> tuple[str, float] | None:
        """Return the class with the lowest accuracy, and that accuracy; None without classes."""
        found = zip(classes, self.by_class or (), strict=False)
        known = [(name, share) for name, share in found if share is not None]
        return min(known, key=lambda one: one[1]) if known else None


def evaluations_of(records: Iterable[Record]) -> tuple[Evaluation, ...]:
    """Return the evaluations that records hold, x_0's first.

    >>> evaluations_of([Record(0, 1, 0.1, 2.0, first_loss=3.0, first_metric=0.1), Record(1, 1, 0.1, 1.0, 0.5, 0.8)])
    (Evaluation(rounds=0, loss=3.0, metric=0.1), Evaluation(rounds=2, loss=0.5, metric=0.8))
    """
    found = []
    for record in records:
        if record.first_loss is not None and record.first_metric is not None:
            found.append(Evaluation(record.round, record.first_loss, record.first_metric, record.first_by_class))
        if record.test_loss is not None and record.test_metric is not None:
            served = record.by_class, record.by_client
            found.append(Evaluation(record.round + 1, record.test_loss, record.test_metric, *served))
    return tuple(found)


@dataclass(frozen=True, slots=True)
class Traffic:
    """The number and the size of the models that one turn of a client transfers.

    >>> Traffic(weights=250_000, down=1, up=2).uploaded(turns=10)
    20.0
    """

    weights: int  # of the model
    down: int = 1  # models that the client gets
    up: int = 1  # models that it sends back

    def __post_init__(self) -> None:
        for key, name in _TRAFFIC_KEYS.items():
            whole_number(key, getattr(self, name), low=0)

    def downloaded(self, turns: int) -> float:
        """Return what clients download in n turns [MB]."""
        return turns * self.down * self.weights * _BYTES_A_WEIGHT / _MB

    def uploaded(self, turns: int) -> float:
        """Return what they upload [MB]."""
        return turns * self.up * self.weights * _BYTES_A_WEIGHT / _MB

    def facts(self) -> dict[str, int]:
        """Return the values as meta.json has them."""
        return {key: getattr(self, name) for key, name in _TRAFFIC_KEYS.items()}

    @staticmethod
    def read(meta: Mapping[str, Any]) -> Traffic | None:
        """Return what `facts` returned; None where a run of an older version does not say."""
        if not _TRAFFIC_KEYS.keys() <= meta.keys():
            return None
        return Traffic(**{name: meta[key] for key, name in _TRAFFIC_KEYS.items()})


@dataclass(frozen=True, eq=False, slots=True)
class History:
    """All rounds of a run and the model it ended with."""

    records: tuple[Record, ...]
    metric: Metric  # what test_metric is
    weights: NDArray[np.float32]  # x_T, (n_params,), in the order of the model's parameters()
    participation: Participation  # who took part
    classes: tuple[str, ...] = ()  # their names, where the task has classes
    labels: NDArray[np.integer[Any]] | None = None  # clients' examples of each class, (n_clients, n_classes), if known
    traffic: Traffic | None = None  # what a turn sends

    @property
    def evaluations(self) -> tuple[Evaluation, ...]:
        """The evaluations of x_0 and of later models."""
        return evaluations_of(self.records)

    @property
    def final_metric(self) -> float | None:
        """The test metric of the last evaluation, None if there was none."""
        return self.evaluations[-1].metric if self.evaluations else None

    @property
    def by_class(self) -> dict[str, float | None]:
        """The accuracy of each class in the last evaluation, by its name; empty for a task without classes."""
        shares = self.evaluations[-1].by_class if self.evaluations else None
        return dict(zip(self.classes, shares or (), strict=True)) if shares else {}

    @property
    def worst_class(self) -> tuple[str, float] | None:
        """The last model's lowest accuracy of a class, with the class; None for a task without classes."""
        return self.evaluations[-1].worst_class(self.classes) if self.evaluations else None
