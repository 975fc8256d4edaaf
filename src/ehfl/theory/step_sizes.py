"""Step sizes eta_t as pure functions of the counts n_t. An empty round has step size 0.

`Theorem` is the step size of the paper's Theorem 1, `Nominal` the one of its experiment (section 4). `Nominal` and
`Linear` look at a whole window of rounds, its later ones included: the participation is known before training. Their
causal twins look at the past window instead, for a fleet that cannot see ahead. `Theorem` and `Constant` use no count
but their own round's, so they are their own twins; `Theorem` must know T, which is passed as `rounds`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike

from ehfl.arrays import FloatArray
from ehfl.registry import Registry
from ehfl.theory.counts import checked_counts, over_past_window, over_window
from ehfl.validation import positive_number, whole_number


class StepSize(Protocol):
    """A rule for step sizes.

    It may declare `causal: ClassVar[bool]`; True promises that, for the same `rounds`, later counts never change the
    step sizes of earlier rounds. Undeclared means that it may look ahead.
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
class Nominal:
    """c * sqrt(n_t), with c such that a window's non-empty rounds have the nominal value as their mean.

    The nominal value of round t is initial * decay^(t // every) (paper, section 4).

    >>> Nominal(initial=0.3)([1, 4, 0]).round(12).tolist()
    [0.2, 0.4, 0.0]
    """

    causal: ClassVar[bool] = False
    initial: float = 0.15
    decay: float = 0.99
    every: int = 10  # [rounds]
    window: int = 10  # [rounds]

    def __post_init__(self) -> None:
        _check_windowed(self)

    def __call__(self, counts: ArrayLike, rounds: int | None = None) -> FloatArray:
        """Return eta_t, shape (n_rounds,)."""
        n_t = checked_counts(counts)
        return _nominal_values(self, n_t.size) * over_window(np.sqrt(n_t), self.window)


@dataclass(frozen=True, slots=True)
class Linear:
    """c * n_t, with c as in `Nominal`.

    >>> Linear(initial=0.3)([1, 5, 0]).round(12).tolist()
    [0.1, 0.5, 0.0]
    """

    causal: ClassVar[bool] = False
    initial: float = 0.15
    decay: float = 0.99
    every: int = 10
    window: int = 10

    def __post_init__(self) -> None:
        _check_windowed(self)

    def __call__(self, counts: ArrayLike, rounds: int | None = None) -> FloatArray:
        """Return eta_t, shape (n_rounds,)."""
        n_t = checked_counts(counts)
        return _nominal_values(self, n_t.size) * over_window(n_t, self.window)


@dataclass(frozen=True, slots=True)
class NominalCausal:
    """`Nominal` with c from the last past window that was not empty; before there is one, the nominal value.

    >>> NominalCausal(initial=0.3, window=2)([1, 4, 0, 9, 4]).round(12).tolist()
    [0.3, 0.3, 0.0, 0.6, 0.2]
    """

    causal: ClassVar[bool] = True
    initial: float = 0.15
    decay: float = 0.99
    every: int = 10
    window: int = 10

    def __post_init__(self) -> None:
        _check_windowed(self)

    def __call__(self, counts: ArrayLike, rounds: int | None = None) -> FloatArray:
        """Return eta_t, shape (n_rounds,)."""
        n_t = checked_counts(counts)
        return _nominal_values(self, n_t.size) * over_past_window(np.sqrt(n_t), self.window)


@dataclass(frozen=True, slots=True)
class LinearCausal:
    """`Linear` with c from the last past window that was not empty; before there is one, the nominal value.

    >>> LinearCausal(initial=0.3, window=2)([1, 5, 0, 6, 3]).round(12).tolist()
    [0.3, 0.3, 0.0, 0.6, 0.15]
    """

    causal: ClassVar[bool] = True
    initial: float = 0.15
    decay: float = 0.99
    every: int = 10
    window: int = 10

    def __post_init__(self) -> None:
        _check_windowed(self)

    def __call__(self, counts: ArrayLike, rounds: int | None = None) -> FloatArray:
        """Return eta_t, shape (n_rounds,)."""
        n_t = checked_counts(counts)
        return _nominal_values(self, n_t.size) * over_past_window(n_t, self.window)


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


_Windowed = Nominal | Linear | NominalCausal | LinearCausal


def _check_windowed(rule: _Windowed) -> None:
    positive_number("initial", rule.initial)
    positive_number("decay", rule.decay)
    whole_number("every", rule.every, low=1)
    whole_number("window", rule.window, low=1)


def _nominal_values(rule: _Windowed, rounds: int) -> FloatArray:
    """Return initial * decay^(t // every), shape (n_rounds,)."""
    exponents = np.arange(rounds) // min(rule.every, rounds)
    return float(rule.initial) * np.power(float(rule.decay), exponents.astype(np.float64))
