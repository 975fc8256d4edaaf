"""What a comparison is: fleet, learning, schedulers, rounds, seeds, evaluation. The defaults are the demo."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
    Strict,
    ValidationInfo,
    model_validator,
)

from ehfl.experiment.values import (
    auto_or_number,
    auto_or_whole,
    check_order,
    check_partition,
    folder_name,
    listed_seeds,
    named_arm,
    own_step_size,
    plain_label,
    read_rate,
    read_step_size,
    some_arms,
    whole_or_infinite,
)

Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Whole = Annotated[int, Field(ge=1)]
Step = Annotated[dict[str, Any], PlainValidator(read_step_size)]


class Section(BaseModel):
    """A part of a spec: its keys are known, its values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=True)


class FleetSpec(Section):
    """Who harvests what."""

    clients: Whole = 10
    rate: Annotated[Any, PlainValidator(read_rate)] = 0.5  # a number, one per client, or {low, high}: evenly spread
    capacity: Annotated[float, BeforeValidator(whole_or_infinite)] = math.inf  # [units]
    initial: Annotated[int, Field(ge=0)] = 0  # [units]
    cost: Whole = 1  # [units]


class LearningSpec(Section):
    """Who trains what, and how."""

    task: str = "digits"  # or "package.module:factory"
    data: str | None = None  # where the task's data lie
    local_steps: Whole = 5  # K
    batch_size: Whole = 50
    step_size: Step = Field(default_factory=lambda: read_step_size("nominal"))  # a rule, a number or {rule, options}
    partition: Annotated[str, BeforeValidator(check_partition)] = "iid"  # or dirichlet:ALPHA, shards:N
    order: Annotated[str, BeforeValidator(check_order)] = "random"  # by-label: low labels to the first clients
    weighted: bool = False  # the mean of models weighted by the clients' data
    clip: Positive | None = None
    weight_decay: NotNegative = 0.0
    device: Literal["auto", "cpu", "cuda", "mps"] = "auto"


class ArmSpec(Section):
    """A scheduler, with what sets its arm apart from the others."""

    policy: str  # "myopic", "round-robin:1" or "package.module:Class"
    label: Annotated[str, PlainValidator(plain_label)]
    step_size: Annotated[dict[str, Any] | None, PlainValidator(own_step_size)] = None

    @property
    def slug(self) -> str:
        """The label as part of a folder's name."""
        return re.sub(r"(?:[^\w.]|_)+", "-", self.label.lower()).strip("-.")


class EvaluationSpec(Section):
    """How the model is judged."""

    every: Whole = 5  # rounds between evaluations
    goal: Annotated[Any, PlainValidator(auto_or_number)] = "auto"  # the metric's value that rounds are counted to


class TheorySpec(Section):
    """The problem's constants (`ehfl bound --task TASK` estimates them), for theory's forecast."""

    smoothness: Positive
    variance: NotNegative
    gap: Positive


STORED = "a spec from a run folder"  # validation's context: schedulers of the user's own are not imported
DEMO = ("myopic", "round-robin", "greedy", "always-on")
Arms = Annotated[
    tuple[Annotated[ArmSpec, BeforeValidator(named_arm)], ...], BeforeValidator(some_arms), Strict(strict=False)
]
Seeds = Annotated[tuple[int, ...], BeforeValidator(listed_seeds), Strict(strict=False)]


class Spec(Section):
    """A whole comparison: every arm under every seed."""

    name: Annotated[str, PlainValidator(folder_name)] = "demo"
    rounds: Annotated[int, Field(ge=1, le=10_000_000)] = 100
    target: Annotated[int | str, PlainValidator(auto_or_whole)] = "auto"  # clients wanted a round
    seeds: Seeds = (0, 1, 2, 3, 4)  # a list, or how many
    schedulers: Arms = tuple(ArmSpec(policy=policy, label=policy) for policy in DEMO)
    fleet: FleetSpec = FleetSpec()
    learning: LearningSpec = LearningSpec()
    evaluation: EvaluationSpec = EvaluationSpec()
    theory: TheorySpec | None = None

    @model_validator(mode="after")
    def _fits_together(self, info: ValidationInfo) -> Spec:
        from ehfl.experiment.building import check_buildable

        slugs = [arm.slug for arm in self.schedulers]
        for slug in slugs:
            if not slug or slugs.count(slug) > 1:
                twins = [other.label for other in self.schedulers if other.slug == slug]
                raise ValueError(
                    f"schedulers must have labels that differ in letters or digits, got {' and '.join(twins)}"
                )
        check_buildable(self, with_policies=info.context != STORED)
        return self

    @property
    def arm(self) -> ArmSpec:
        """The only arm of a single run."""
        (arm,) = self.schedulers
        return arm

    @property
    def seed(self) -> int:
        """The only seed of a single run."""
        (seed,) = self.seeds
        return seed

    def runs(self) -> list[Spec]:
        """Return the single runs, a spec each; all arms of a seed before the next seed."""
        return [self.model_copy(update={"schedulers": (arm,), "seeds": (seed,)})
                for seed in self.seeds for arm in self.schedulers]  # fmt: skip

    def setting(self) -> dict[str, Any]:
        """Return what all runs of a comparison share of their identity."""
        return {key: value for key, value in self.identity().items() if key not in ("seeds", "schedulers")}

    def weather_and_data(self) -> dict[str, Any]:
        """Return what decides, with the seed, which weather, data and first model a run meets."""
        fleet, learning = self.fleet, self.learning
        return {"clients": fleet.clients, "rate": fleet.rate, "task": learning.task, "partition": learning.partition,
                "order": learning.order}  # fmt: skip

    def identity(self) -> dict[str, Any]:
        """Return what decides the numbers: not the name, nor where data lie, nor what is counted afterwards."""
        left_out: Any = {"name": True, "theory": True, "learning": {"data"}, "evaluation": {"goal"},
                    "schedulers": {"__all__": {"label"}}}  # fmt: skip
        return self.model_dump(mode="json", exclude=left_out)
