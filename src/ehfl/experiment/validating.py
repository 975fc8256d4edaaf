"""Facts of a spec against its models: the first thing that is wrong becomes one line with its key."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ehfl.experiment.spec import EvaluationSpec, FleetSpec, FlowerSpec, LearningSpec
from ehfl.run_folder import Facts
from ehfl.scheduling import SchedulerError
from ehfl.validation import InvalidValue, SpecError, UserError, closest, short, shown

Model = TypeVar("Model", bound=BaseModel)

SECTIONS: dict[str, type[BaseModel]] = {
    "fleet": FleetSpec,
    "learning": LearningSpec,
    "evaluation": EvaluationSpec,
    "flower": FlowerSpec,
}
_KINDS = {"model_type": "a table of keys", "string_type": "a text"}  # what pydantic calls otherwise


def validated(model: type[Model], facts: Facts, folder: Path | None) -> Model:
    """Return the model of these facts; the first thing that is wrong becomes one line, typing errors before others."""
    # Misspelt keys come first: pydantic would name what is missing, which is only what follows from them.
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
    """Return what pydantic found wrong; where one of our things refused a value, it has said it already."""
    key = ".".join(str(part) for part in error["loc"])
    cause = error.get("ctx", {}).get("error")  # the exception that a validator of ours raised
    if isinstance(cause, InvalidValue):
        return _refused(cause)
    if isinstance(cause, UserError):
        return SpecError("scheduler" if isinstance(cause, SchedulerError) else key or "spec", f"cannot be run: {cause}")
    if error["type"] == "missing":
        return SpecError(key, "must be given")
    given = short(repr(error["input"]))
    if error["type"] in _KINDS:
        return SpecError(key, f"must be {_KINDS[error['type']]}, got {given}")
    allowed = error["msg"].removeprefix("Value error, ").replace("Input should", "must")
    return SpecError(key, f"{allowed}, got {given}")


def _refused(error: InvalidValue) -> SpecError:
    return SpecError(error.name, f"must be {error.allowed}, got {shown(error.given)}")
