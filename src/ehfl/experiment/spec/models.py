"""What a comparison is. A `Setting` is the world of one arm, a `Spec` is a comparison of arms under seeds.

The defaults are those of the paper's fleet on digits. A run is (spec, arm, seed): one folder, one identity.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, PlainValidator, ValidationError, ValidationInfo, model_validator

from ehfl.experiment.spec import build, values
from ehfl.partition import PARTITIONS
from ehfl.registry import Table, is_user_class
from ehfl.runs import Facts, folder_name, identity_of, slug
from ehfl.scheduling import SCHEDULERS, SchedulerError
from ehfl.validation import InvalidValue, SpecError, UserError, closest, short, shown

Positive = Annotated[float, PlainValidator(values.number("[1e-30, 1e30]"))]  # float32 can hold it
NotNegative = Annotated[float, PlainValidator(values.number("[0, 1e30]"))]
Whole = Annotated[int, PlainValidator(values.whole())]
SchedulerTable = Annotated[Table, PlainValidator(values.made_by(SCHEDULERS, "scheduler"))]
PartitionTable = Annotated[Table, PlainValidator(values.made_by(PARTITIONS, "learning.partition"))]
StepSizeTable = Annotated[Table, PlainValidator(values.read_step_size)]
AggregationTable = Annotated[Table, PlainValidator(values.read_aggregation)]
TaskTable = Annotated[Table, PlainValidator(values.read_task)]
Joules = Annotated[Any, PlainValidator(values.amount("J"))]
PerClient = Annotated[Any, PlainValidator(values.per_client)]


class Section(BaseModel):
    """A part of a spec, with known keys and frozen values."""

    # Strict: "5" is not a number and 1 is not true.
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=True)


class FleetSpec(Section):
    """Who harvests what. Rate, capacity, initial and cost are a number, one per client, a file or {low, high}."""

    clients: Whole = 10
    # Both are None unless given, so that one that was given is known.
    harvest: Annotated[Any, PlainValidator(values.read_harvest)] = None  # a name or a table
    rate: PerClient = None  # the short form of { name = "bernoulli", rate = ... }
    capacity: PerClient = math.inf
    initial: PerClient = 0
    cost: PerClient = 1  # in joules also by devices and radios (`costing`)
    step_cost: PerClient = None  # what a local step less saves, of what a turn of learning.local_steps costs
    unit: str = "units"  # what energy is counted in
    # A fleet whose rounds have a length is one of real devices: energies are in joules then (docs/energy.md).
    round_length: Annotated[float | None, PlainValidator(values.amount("s"))] = None  # [s]
    quantum: Joules = None  # what energy is counted in [J]
    efficiency: PerClient = None  # share of a harvest that reaches the battery
    self_discharge: PerClient = None  # share that a battery loses in a month
    reserve: PerClient = None  # share of the capacity below which a device switches off
    health: PerClient = None  # share of the capacity that an aged battery still has
    standby: PerClient = None  # what a device draws, whether it takes part or not [W]
    arrival: Joules = None  # what a unit of a harvest brings [J]

    @model_validator(mode="before")
    @classmethod
    def _count_clients(cls, given: Any, info: ValidationInfo) -> Any:
        """Check units as written, and count the clients in lists and files of values unless their number is given."""
        if not isinstance(given, Mapping):
            return given
        values.check_joules(given)
        counted = 0 if "clients" in given else values.count_clients(given, info)
        return {**given, "clients": counted} if counted else given

    @model_validator(mode="after")
    def _check_one_harvest(self) -> FleetSpec:
        if self.harvest is not None and self.rate is not None:
            raise InvalidValue("fleet.rate", "left out where fleet.harvest is given", self.rate)
        return self

    def harvest_table(self) -> Table:
        """Return the harvest, of which `rate` is the short form."""
        if self.harvest is not None:
            return dict(self.harvest)
        return {"name": "bernoulli", "rate": 0.5 if self.rate is None else self.rate}


class LearningSpec(Section):
    """Who trains what, and how."""

    task: TaskTable = Field(default_factory=lambda: {"name": "digits"})
    data: Annotated[str | None, PlainValidator(values.read_data)] = None  # where the task's data lie
    local_steps: Whole = 5  # K
    local_epochs: Whole | None = None  # passes over a client's examples, in place of local_steps
    local: Annotated[Table | None, PlainValidator(values.read_local)] = None  # an optimiser; None is plain SGD
    # of the step size inside a turn
    local_decay: Annotated[float | None, PlainValidator(values.number("(0, 1]"))] = None
    buffers: Literal["mean", "local", "frozen"] | None = None  # what becomes of those that training changes; mean
    batch_size: Whole = 50
    step_size: StepSizeTable = Field(default_factory=lambda: values.read_step_size("nominal"))
    partition: PartitionTable = Field(default_factory=lambda: {"name": "iid"})
    order: Literal["random", "by-label"] = "random"  # by-label: low labels to the first clients
    aggregation: AggregationTable = Field(default_factory=lambda: {"name": "mean"})
    clip: Positive | None = None
    weight_decay: NotNegative = 0.0
    precision: Literal["float32", "bf16"] = "float32"
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"


class EvaluationSpec(Section):
    """How the model is judged."""

    every: Whole = 5  # rounds between evaluations
    goal: Annotated[Any, PlainValidator(values.auto_or_number)] = "auto"  # the metric's value to reach


class FlowerSpec(Section):
    """How a server treats real devices; only `ehfl flower` reads it. Times are in seconds."""

    # for an answer: a node that has sent none by then counts as absent
    deadline: Annotated[float, PlainValidator(values.number("[1, 86400]"))] = 60.0
    pace: Annotated[float, PlainValidator(values.number("[0, 86400]"))] = 0.0  # least time from round to round
    least_nodes: Whole = 1  # the server waits while fewer are connected
    spare: Annotated[int, PlainValidator(values.whole(0))] = 0  # clients that are asked beyond those that were chosen
    norm_limit: Positive | None = 100.0  # longest update, in median lengths of its round's; None for any


class Setting(Section):
    """The world of one arm: everything that a run depends on but its seed."""

    rounds: Annotated[int, PlainValidator(values.whole(1, values.MOST_ROUNDS))] = 100
    target: Annotated[int | str, PlainValidator(values.auto_or_whole)] = "auto"  # clients wanted a round
    checkpoint_every: Whole | None = None  # rounds; 10, and 1 on devices
    scheduler: SchedulerTable = Field(default_factory=lambda: {"name": "myopic", "target": "auto"})
    fleet: FleetSpec = FleetSpec()
    learning: LearningSpec = LearningSpec()
    evaluation: EvaluationSpec = EvaluationSpec()
    flower: FlowerSpec = FlowerSpec()

    @model_validator(mode="after")
    def _fits_together(self) -> Setting:
        build.check_fits(self)
        return self

    def user_classes(self) -> list[str]:
        """Return the user classes that are named here, as package.module:Class."""
        learning = self.learning
        tables = (self.scheduler, self.fleet.harvest_table(), learning.task, learning.partition, learning.step_size,
                  learning.aggregation)  # fmt: skip
        return [table["name"] for table in tables if is_user_class(table)]

    def facts(self) -> Facts:
        """Return every value spelled out, as TOML has it."""
        from ehfl.learning import AGGREGATIONS, TASKS

        facts: Facts = self.model_dump(mode="python")
        # One form for what can be written in two, so that equal settings have equal facts.
        # A turn's steps are learning.local_steps, and its time follows from its cost.
        turn = {name: value for name, value in build.turn_of(self).items() if name not in ("steps", "turn_time")}
        facts["fleet"] |= {"harvest": self.fleet.harvest_table(), "rate": None} | turn
        data = self.learning.data
        facts["learning"] |= {
            "data": None if data is None else str(Path(data).absolute()),  # what is written may be read from elsewhere
            "task": TASKS.spelled_out(self.learning.task, "learning.task"),
            "aggregation": AGGREGATIONS.spelled_out(self.learning.aggregation, "learning.aggregation"),
        }
        return cast(Facts, _plain(facts))


def placed(place: str, key: str, swept: Iterable[str] = ()) -> str:
    """Return a key of an arm with the arm's place; an item of `schedulers` is the scheduler itself.

    >>> placed("arms[2]", "scheduler.target"), placed("schedulers[2]", "scheduler.target")
    ('arms[2].scheduler.target', 'schedulers[2].target')
    >>> placed("arms[2]", "fleet.capacity", swept=["fleet.capacity"])
    'sweep.fleet.capacity'
    """
    if values.lies_within(key, *swept):
        return f"sweep.{key}"
    inner = key.removeprefix("scheduler").lstrip(".") if place.startswith("schedulers[") else key
    return f"{place}.{inner}".rstrip(".")


@dataclass(frozen=True, slots=True)
class Arm:
    """One side of a comparison: a label, and what it changes in the spec, by key."""

    label: str
    changes: Mapping[str, Any]  # dotted key -> value
    setting: Setting  # the spec's, with these changes
    place: str = "arms[1]"  # where it stands in the spec: "arms[2]", "schedulers[2]" or "scheduler"
    point: Mapping[str, Any] = field(default_factory=dict)  # of a sweep: key -> value, as labels and figures show it

    def key_of(self, key: str) -> str:
        """Return a key as the spec has it: under this arm's place where the arm changes it."""
        return placed(self.place, key, self.point) if values.lies_within(key, *self.changes) else key

    @property
    def heading(self) -> Facts:
        """What identifies the arm in a spec: its label and, in a sweep, its point."""
        return {"label": self.label} | ({"point": dict(self.point)} if self.point else {})

    @property
    def slug(self) -> str:
        """The label as part of a folder's name."""
        return slug(self.label)


@dataclass(frozen=True, slots=True)
class Spec:
    """A whole comparison: every arm under every seed."""

    name: str
    seeds: tuple[int, ...]
    base: Setting  # what arms share unless they change it
    arms: tuple[Arm, ...]
    code: str | None = None  # the folder in which user classes are looked for

    def runs(self) -> list[Run]:
        """Return the single runs; all arms of a seed before the next seed."""
        return [Run(self, arm, seed) for seed in self.seeds for arm in self.arms]

    def facts(self) -> Facts:
        """Return the comparison, every value spelled out, as TOML has it: what is written can be run again."""
        base = self.base.facts()
        arms = [arm.heading | _differing(arm, base) for arm in self.arms]
        heading: Facts = _plain({"name": self.name, "seeds": self.seeds, "code": self.code})
        return heading | base | {"arms": arms}


@dataclass(frozen=True, slots=True)
class Run:
    """An arm under one seed."""

    spec: Spec
    arm: Arm
    seed: int

    @property
    def setting(self) -> Setting:
        """The world that it runs in."""
        return self.arm.setting

    @property
    def folder_name(self) -> str:
        """Its folder in that of the comparison."""
        return folder_name(self.arm.label, self.seed)

    def facts(self) -> Facts:
        """Return the run as a spec of its own, with a single arm that changes nothing."""
        # What the arm changes stands in the setting itself, so the run's arm is a label alone.
        heading: Facts = _plain({"name": self.spec.name, "seeds": [self.seed], "code": self.spec.code})
        return heading | self.setting.facts() | {"arms": [self.arm.heading]}

    def identity(self) -> Facts:
        """Return what decides its numbers."""
        return identity_of(self.facts())


def _differing(arm: Arm, base: Facts) -> Facts:
    """Return the resolved values in which an arm differs from the base, by key, and its scheduler if it was given."""
    facts, found = arm.setting.facts(), {}
    if facts["scheduler"] != base["scheduler"] or any(key.startswith("scheduler") for key in arm.changes):
        found["scheduler"] = facts["scheduler"]
    found |= {key: facts[key] for key in ("rounds", "target") if facts[key] != base[key]}
    for section in ("fleet", "learning", "evaluation", "flower"):
        mine, theirs = facts[section], base[section]
        found |= {f"{section}.{key}": mine[key] for key in mine if mine[key] != theirs.get(key)}
        found |= {f"{section}.{key}": "none" for key in theirs if key not in mine}
    return found


def _plain(value: Any) -> Any:
    """Return facts in TOML's types, which have neither tuples nor None."""
    if isinstance(value, Mapping):
        return {key: _plain(inner) for key, inner in value.items() if inner is not None}
    return [_plain(inner) for inner in value] if isinstance(value, list | tuple) else value


Model = TypeVar("Model", bound=BaseModel)

SECTIONS: dict[str, type[BaseModel]] = {
    "fleet": FleetSpec,
    "learning": LearningSpec,
    "evaluation": EvaluationSpec,
    "flower": FlowerSpec,
}
_KINDS = {"model_type": "must be a table of keys", "string_type": "must be a text"}  # instead of pydantic's messages


def validated(model: type[Model], facts: Facts, folder: Path | None) -> Model:
    """Return the model of these facts, or raise the first error as one line; misspelt keys come first."""
    for section, inner in SECTIONS.items():
        if isinstance(facts.get(section), dict):
            check_known(facts[section], section, list(inner.model_fields))
    try:
        return model.model_validate(facts, context={} if folder is None else {"folder": folder})
    except ValidationError as error:
        raise _spec_error(error.errors()[0]) from None


def check_known(facts: Facts, section: str, known: Sequence[str]) -> None:
    """Refuse keys that a section does not have, and suggest the one that was probably meant."""
    for key in facts:
        if key not in known:
            inside = f" of {section}" if section else ""
            name = f"{section}.{key}".lstrip(".")
            raise SpecError(name, f"is not a key{inside} ({', '.join(known)}){closest(key, known)}")


def _spec_error(error: Any) -> SpecError:
    """Return the first of pydantic's errors; one that a validator of ours raised keeps its message."""
    key = ".".join(str(part) for part in error["loc"])
    cause = error.get("ctx", {}).get("error")  # raised by a validator of ours
    given = short(repr(error["input"]))
    if isinstance(cause, SpecError):
        return cause
    if isinstance(cause, InvalidValue):  # without a name it is about the value as given
        return SpecError(
            cause.name or key, f"must be {cause.allowed}, got {shown(cause.given if cause.name else given)}"
        )
    if isinstance(cause, UserError):
        return SpecError("scheduler" if isinstance(cause, SchedulerError) else key or "spec", f"cannot be run: {cause}")
    default = error["msg"].removeprefix("Value error, ").replace("Input should", "must")
    return SpecError(key, f"{_KINDS.get(error['type'], default)}, got {given}")
