"""Step sizes eta_t as pure functions of the counts n_t. An empty round has step size 0.

`Theorem` is the step size of the paper's Theorem 1, `Nominal` the one of its experiment (section 4). `Nominal` and
`Linear` look at a whole window of rounds, its later ones included: the participation is known before training. Their
causal twins look at the past window instead, for a fleet that cannot see ahead. `Theorem` and `Constant` use no count
but their own round's, so they are their own twins; `Theorem` must know T, which is passed as `rounds`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol, cast

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import FloatArray
from ehfl.registry import Registry, Table
from ehfl.theory.participants import checked_counts
from ehfl.validation import InvalidValue, is_number, positive_number, whole_number


class StepSize(Protocol):
    """A rule for step sizes.

    It may declare `causal: ClassVar[bool]`; True promises that, for the same `rounds`, later counts never change the
    step sizes of earlier rounds. The default is False: it may use later rounds.
    """

    def __call__(self, counts: ArrayLike, rounds: int | None = None) -> FloatArray:
        """Return eta_t of the rounds counted so far; `rounds` is T, the whole run's length (default: no more come)."""
        ...


@dataclass(frozen=True, slots=True)
class Theorem:
    """eta * sqrt(n_t / T) (paper, Theorem 1).

    >>> Theorem(eta=0.5)([4, 0, 1, 4]).tolist()
    [0.5, 0.0, 0.25, 0.5]
    >>> Theorem(eta=0.5)([4, 0], rounds=4).tolist()
    [0.5, 0.0]
    """

    causal: ClassVar[bool] = True
    eta: float = 1.0

    def __post_init__(self) -> None:
        positive_number("eta", self.eta)

    def __call__(self, counts: ArrayLike, rounds: int | None = None) -> FloatArray:
        """Return eta_t, shape (n_rounds,)."""
        n_t = checked_counts(counts)
        T = n_t.size if rounds is None else whole_number("rounds", rounds, low=n_t.size)
        return float(self.eta) * np.sqrt(n_t / T)


@dataclass(frozen=True, slots=True)
class Constant:
    """The same step size in every round that is not empty.

    >>> Constant(0.5)([3, 0, 1]).tolist()
    [0.5, 0.0, 0.5]
    """

    causal: ClassVar[bool] = True
    value: float = 0.15

    def __post_init__(self) -> None:
        positive_number("value", self.value)

    def __call__(self, counts: ArrayLike, rounds: int | None = None) -> FloatArray:
        """Return eta_t, shape (n_rounds,)."""
        return np.where(checked_counts(counts) > 0, float(self.value), 0.0)


@dataclass(frozen=True, slots=True)
class _Windowed:
    """initial * decay^(t // every) times n_t, or its root, over the mean of a window; the rules below say which."""

    causal: ClassVar[bool]
    of_root: ClassVar[bool]
    initial: float = 0.15
    decay: float = 0.99
    every: int = 10  # [rounds]
    window: int = 10  # [rounds]

    def __post_init__(self) -> None:
        positive_number("initial", self.initial)
        positive_number("decay", self.decay)
        whole_number("every", self.every, low=1)
        whole_number("window", self.window, low=1)

    def __call__(self, counts: ArrayLike, rounds: int | None = None) -> FloatArray:
        """Return eta_t, shape (n_rounds,)."""
        n_t = checked_counts(counts)
        # `every` may exceed the run by any amount, which an array of exponents could not represent.
        exponents = (np.arange(n_t.size) // min(self.every, n_t.size)).astype(np.float64)
        weights = np.sqrt(n_t) if self.of_root else n_t
        return float(self.initial) * float(self.decay) ** exponents * self._over_means(weights)

    def _over_means(self, weights: FloatArray) -> FloatArray:
        """Return the weights over the mean of their window's non-empty rounds, or of the last past window that has any.

        Before there is such a past window they are 1, and 0 in empty rounds.
        """
        window = np.arange(weights.size) // min(self.window, weights.size)  # of each round
        filled = np.bincount(window, weights > 0)
        means = np.bincount(window, weights) / np.maximum(filled, 1)
        if not self.causal:
            return weights / np.where(means > 0, means, 1.0)[window]
        latest = np.maximum.accumulate(np.where(means > 0, np.arange(means.size), -1))  # last non-empty window so far
        past = np.concatenate([[-1], latest[:-1]])[window]
        return np.where(past >= 0, weights / np.where(past >= 0, means[past], 1.0), np.where(weights > 0, 1.0, 0.0))


@dataclass(frozen=True, slots=True)
class Nominal(_Windowed):
    """c * sqrt(n_t), with c such that a window's non-empty rounds have the nominal value as their mean.

    The nominal value of round t is initial * decay^(t // every) (paper, section 4).

    >>> Nominal(initial=0.3)([1, 4, 0]).round(12).tolist()
    [0.2, 0.4, 0.0]
    """

    causal: ClassVar[bool] = False
    of_root: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class Linear(_Windowed):
    """c * n_t, with c as in `Nominal`.

    >>> Linear(initial=0.3)([1, 5, 0]).round(12).tolist()
    [0.1, 0.5, 0.0]
    """

    causal: ClassVar[bool] = False
    of_root: ClassVar[bool] = False


@dataclass(frozen=True, slots=True)
class NominalCausal(_Windowed):
    """`Nominal` with c from the last past window that was not empty; before there is one, the nominal value.

    >>> NominalCausal(initial=0.3, window=2)([1, 4, 0, 9, 4]).round(12).tolist()
    [0.3, 0.3, 0.0, 0.6, 0.2]
    """

    causal: ClassVar[bool] = True
    of_root: ClassVar[bool] = True


@dataclass(frozen=True, slots=True)
class LinearCausal(_Windowed):
    """`Linear` with c from the last past window that was not empty; before there is one, the nominal value.

    >>> LinearCausal(initial=0.3, window=2)([1, 5, 0, 6, 3]).round(12).tolist()
    [0.3, 0.3, 0.0, 0.6, 0.15]
    """

    causal: ClassVar[bool] = True
    of_root: ClassVar[bool] = False


_HERE = "ehfl.theory.step_sizes"

STEP_SIZES: Registry[StepSize] = Registry(
    "step_size",
    {
        "theorem": f"{_HERE}:Theorem",
        "nominal": f"{_HERE}:Nominal",
        "linear": f"{_HERE}:Linear",
        "constant": f"{_HERE}:Constant",
        "nominal-causal": f"{_HERE}:NominalCausal",
        "linear-causal": f"{_HERE}:LinearCausal",
    },
    methods=("__call__",),
)


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
    """Return the rule of a number (a constant step size), a name or a table; a callable is returned as a rule.

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
    """Raise an error for a rule that may use later rounds if their participants are not known yet."""
    if not getattr(rule, "causal", False):
        raise InvalidValue(key, f"one that looks at past rounds alone, such as nominal-causal, since {why}", given)


def _takes_rounds(rule: Callable[..., object]) -> bool:
    try:
        inspect.signature(rule).bind([0], rounds=1)
    except (TypeError, ValueError):  # no such parameter, or a C function without a signature
        return False
    return True
