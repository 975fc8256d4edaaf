"""Policies by name, for the command line and specs."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from types import MappingProxyType

from ehfl.scheduling.always_on import AlwaysOn
from ehfl.scheduling.greedy import Greedy
from ehfl.scheduling.myopic import Myopic
from ehfl.scheduling.policy import Policy
from ehfl.scheduling.round_robin import RoundRobin
from ehfl.scheduling.uniform_random import UniformRandom
from ehfl.scheduling.view import Auto
from ehfl.validation import InvalidValue, closest

# How many clients a round is wanted, where a policy can be told.
Factory = Callable[[int | Auto], Policy]

POLICIES: Mapping[str, Factory] = MappingProxyType(
    {
        "myopic": lambda width: Myopic(target=width),
        "greedy": lambda _: Greedy(),
        "round-robin": lambda width: RoundRobin(per_round=width),
        "uniform-random": lambda width: UniformRandom(target=width),
        "always-on": lambda width: AlwaysOn(target=width),
    }
)
_WITHOUT_WIDTH = {"greedy"}


def make_policy(text: str, width: int | Auto = "auto") -> Policy:
    """Return the policy that a text names: "myopic", "round-robin:1" (its own width) or "package.module:Factory".

    >>> make_policy("myopic", 5), make_policy("round_robin:1", 5), make_policy("greedy")
    (Myopic(target=5), RoundRobin(per_round=1), Greedy())
    """
    name, _, detail = text.partition(":")
    if detail and not detail.isdecimal():
        return _imported(name, detail)
    key = name.strip().lower().replace("_", "-")
    if key not in POLICIES:
        allowed = f"one of {', '.join(POLICIES)} or package.module:Factory"
        raise InvalidValue("scheduler", allowed, f"{text}{closest(key, POLICIES)}")
    if detail and key in _WITHOUT_WIDTH:
        raise InvalidValue("scheduler", f"{key} without a width: it takes none", text)
    return POLICIES[key](int(detail) if detail else width)


def _imported(module: str, attribute: str) -> Policy:
    try:
        policy: Policy = getattr(importlib.import_module(module), attribute)()
    except Exception as error:  # whatever the user's own code raises
        raise InvalidValue(
            "scheduler", "importable as package.module:Factory", f"{module}:{attribute} ({error})"
        ) from error
    if not callable(getattr(policy, "select", None)):
        raise InvalidValue("scheduler", "a policy, with a method select(view)", f"{module}:{attribute}")
    return policy
