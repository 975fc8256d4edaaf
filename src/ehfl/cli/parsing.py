"""From the texts of options to values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from ehfl.validation import InvalidValue

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ehfl import Fleet, Policy
    from ehfl.experiment import Spec

SCHEDULERS = ["myopic", "round-robin", "greedy"]  # the paper's


@dataclass(frozen=True, slots=True)
class Setting:
    """A fleet and the schedulers to play it under."""

    fleet: Fleet
    policies: dict[str, Policy]
    target: int  # clients wanted a round


def read_setting(
    clients: int | None, rate: str, capacity: str, initial: int, cost: int, schedulers: list[str] | None, target: str
) -> Setting:
    """Return the fleet and policies that the options describe; a list of rates also says how many clients there are."""
    from ehfl import Bernoulli, Fleet, make_policy

    rates = read_rates(rate)
    n_clients = (rates.size if rates.ndim else 10) if clients is None else clients
    fleet = Fleet(n_clients, Bernoulli(rates), capacity=_read_capacity(capacity), initial=initial, cost=cost)
    width = _read_target(target, n_clients)
    names = schedulers or SCHEDULERS
    for name in names:
        _check_width(name, n_clients)
    policies = {name: make_policy(name, width) for name in names}
    return Setting(fleet, policies, fleet.sustainable if width == "auto" else width)


def spec_setting(spec: Spec) -> Setting:
    """Return the fleet and policies that a spec describes, by the labels of its arms."""
    from ehfl.experiment.building import fleet_of, policy_of, target_of

    return Setting(fleet_of(spec), {arm.label: policy_of(spec, arm) for arm in spec.schedulers}, target_of(spec))


def whole(text: str | int) -> int:
    """Return a whole number, or say what was given instead."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"must be a whole number, got {text}") from None


def read_rates(text: str) -> NDArray[np.float64]:
    """Return one rate (shape ()) or one per client, from "0.5", "0.1,0.9" or the name of a file of numbers.

    >>> read_rates("0.5").shape, read_rates("0.1, 0.9").tolist()
    ((), [0.1, 0.9])
    """
    import numpy as np

    try:
        numbers = _numbers(text)
    except ValueError:
        return np.array(_read_file(Path(text)))
    return np.array(numbers[0] if len(numbers) == 1 and "," not in text else numbers)


def _read_file(path: Path) -> list[float]:
    allowed = "a number, a list like 0.1,0.9 or a readable file of numbers"
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        numbers = _numbers(" ".join(line.partition("#")[0] for line in lines))
    except OSError as error:
        raise InvalidValue("rate", allowed, f"{path} ({error.strerror or error})") from None
    except ValueError as error:
        raise InvalidValue("rate", allowed, f"{path} ({error})") from None
    return numbers


def _numbers(text: str) -> list[float]:
    """Return the numbers in a text, separated by commas or white space; at least one."""
    numbers = [float(word) for word in text.replace(",", " ").split()]
    if not numbers:
        raise ValueError("no numbers")
    return numbers


def _read_capacity(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise InvalidValue("capacity", "inf or a whole number of units", text) from None
    return int(value) if math.isfinite(value) and value == int(value) else value


def _read_target(text: str, n_clients: int) -> int | Literal["auto"]:
    if text == "auto":
        return "auto"
    if not text.isdecimal() or not 1 <= int(text) <= n_clients:
        raise InvalidValue("target", f"auto or a whole number in [1, {n_clients}] (the clients)", text)
    return int(text)


def _check_width(name: str, n_clients: int) -> None:
    width = name.partition(":")[2]
    if width.isdecimal() and not 1 <= int(width) <= n_clients:
        raise InvalidValue("scheduler", f"given a width in [1, {n_clients}] (the clients)", name)
