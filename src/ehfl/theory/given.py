"""What a user may give as a step size: a number, a name, a table or a function of the counts."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from numpy.typing import ArrayLike

from ehfl.arrays import FloatArray
from ehfl.registry import Table
from ehfl.theory.step_sizes import STEP_SIZES, StepSize
from ehfl.validation import InvalidValue, is_number, positive_number


@dataclass(frozen=True, slots=True)
class PlainFunction:
    """A plain function of the counts as a rule: it does not get T, and looks ahead unless it declares `causal`."""

    function: Callable[[ArrayLike], FloatArray]

    @property
    def causal(self) -> bool:
        """Whether a prefix of the counts gives a prefix of the step sizes."""
        return bool(getattr(self.function, "causal", False))

    def __call__(self, counts: ArrayLike, rounds: int | None = None) -> FloatArray:
        """Return what the function returns."""
        return self.function(counts)


def step_size_of(given: object, key: str = "step_size") -> StepSize:
    """Return the rule that a number (a constant step size), a name or a table stands for; a callable is one already.

    >>> step_size_of(0.1), step_size_of("theorem:0.5")
    (Constant(value=0.1), Theorem(eta=0.5))
    """
    own = callable(given) and not isinstance(given, type)
    rule = STEP_SIZES.make(given if own else step_size_table(given, key), key)
    return rule if _takes_rounds(rule) else PlainFunction(cast(Callable[[ArrayLike], FloatArray], rule))


def step_size_table(given: object, key: str = "step_size") -> Table:
    """Return a number, a name, a table or an instance as the registry's table.

    >>> step_size_table(0.1), step_size_table("nominal:0.3")
    ({'name': 'constant', 'value': 0.1}, {'name': 'nominal', 'initial': 0.3})
    """
    if isinstance(given, str | Mapping) or (callable(given) and not isinstance(given, type)):
        return STEP_SIZES.table(given, key)
    if is_number(given):
        return {"name": "constant", "value": positive_number(key, given)}
    allowed = f"a number, one of {', '.join(STEP_SIZES.members)} or package.module:Class, or a table with such a name"
    raise InvalidValue(key, allowed, repr(given))


def check_causal(rule: StepSize, key: str, given: object, why: str) -> None:
    """Refuse a rule that may look at rounds to come, where nobody knows yet who will take part in them."""
    if not getattr(rule, "causal", False):
        raise InvalidValue(key, f"one that looks at past rounds alone, such as nominal-causal, since {why}", given)


def _takes_rounds(rule: Callable[..., object]) -> bool:
    try:
        inspect.signature(rule).bind([0], rounds=1)
    except (TypeError, ValueError):  # without such a parameter; a function of C that tells no signature
        return False
    return True
