"""Bernoulli and Markov models fitted to on/off rounds, and their goodness of fit."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import FloatArray, IntArray
from ehfl.energy.traces.reader import DAY
from ehfl.energy.traces.trace import Trace
from ehfl.quantities import as_time
from ehfl.validation import InvalidValue, number_in

Model = Literal["bernoulli", "markov"]
State = Literal["on", "off"]
LEAST_ROUNDS = 20  # of a record: what is fitted to fewer means nothing
_MOST_ROUNDS = 10_000_000
_HOURS = 24
CLEAR = 10.0  # of a difference in BIC: "very strong" (Kass and Raftery, "Bayes factors", JASA 90, 1995)
_FEW_RUNS = 10


@dataclass(frozen=True, slots=True)
class Fitted:
    """A maximum-likelihood parameter and its standard error; both are NaN without data."""

    value: float
    error: float


@dataclass(frozen=True, eq=False, slots=True)
class Fit:
    """Both models fitted to a column, or to several as if they were one.

    With n_ab transitions from state a to b, all rounds but the first of each column:
    rate = (n_11 + n_01) / n,   stay_on = n_11 / (n_11 + n_10),   stay_off = n_00 / (n_00 + n_01),
    each a share p of m rounds with error sqrt(p (1 - p) / m); the rate's is multiplied by sqrt((1 + r) / (1 - r)), r =
    stay_on + stay_off - 1, since neighbouring rounds repeat each other (T. W. Anderson and L. A. Goodman, "Statistical
    inference about Markov chains", Annals of Mathematical Statistics 28, 1957).
    """

    name: str
    rounds: int  # n
    rate: Fitted
    stay_on: Fitted
    stay_off: Fitted
    log_likelihood: dict[Model, float]
    on_runs: IntArray  # lengths of runs whose beginning and end were seen [rounds], ascending
    off_runs: IntArray
    time_of_day: float  # share of the variance of on and off that it explains beyond chance; NaN where unknown
    energy: float  # mean of a round [J]

    @property
    def arrival(self) -> float:
        """The energy of an on round with which the mean energy equals the record's [J]."""
        return self.energy / self.rate.value if self.rate.value else math.nan

    def bic(self, model: Model) -> float:
        """Return Schwarz's criterion, k ln n - 2 ln L with k parameters: the lower, the better."""
        return (1 if model == "bernoulli" else 2) * math.log(self.rounds) - 2 * self.log_likelihood[model]

    def chance_to_go_on(self, model: Model, state: State) -> float:
        """Return the probability that a run continues; its length is geometric with mean 1 / (1 - probability)."""
        if model == "bernoulli":
            return self.rate.value if state == "on" else 1 - self.rate.value
        return (self.stay_on if state == "on" else self.stay_off).value

    def distance(self, model: Model, state: State) -> float:
        """Return the Kolmogorov distance between the distributions of measured and fitted run lengths.

        NaN with too few runs.
        """
        lengths = self.on_runs if state == "on" else self.off_runs
        go_on = self.chance_to_go_on(model, state)
        if lengths.size < _FEW_RUNS or math.isnan(go_on):
            return math.nan
        at = np.arange(1, int(lengths.max()) + 1)
        measured = np.searchsorted(lengths, at, side="right") / lengths.size
        return float(np.abs(measured - (1 - go_on**at)).max())

    def misses(self, model: Model) -> float:
        """Return the larger of the distances of on and off runs; NaN if neither is known."""
        found = [self.distance(model, "on"), self.distance(model, "off")]
        return max((one for one in found if not math.isnan(one)), default=math.nan)

    @property
    def better(self) -> Model:
        """The model to take: Bernoulli, unless Markov's BIC is clearly lower."""
        return "markov" if self.bic("bernoulli") - self.bic("markov") > CLEAR else "bernoulli"


@dataclass(frozen=True, eq=False, slots=True)
class Fits:
    """Fits to each column of a trace and to all of them together."""

    together: Fit
    columns: tuple[Fit, ...]
    unit: float  # minimum energy of an on round [J]
    round_length: float  # [s]
    spread: float  # standard deviation over mean of the energy of on rounds, which both models have at 0


def fit_trace(trace: Trace, round_length: float, unit: float | None = None) -> Fits:
    """Return both models fitted to a trace's rounds; a round of at least `unit` [J] is on (default: half the mean)."""
    number_in("round_length", round_length, "(0, 1e9]")
    rounds = int(trace.record.duration / round_length * (1 + 1e-12))
    if not LEAST_ROUNDS <= rounds <= _MOST_ROUNDS:
        few = rounds < LEAST_ROUNDS
        number = f"{LEAST_ROUNDS} rounds or more" if few else f"{_MOST_ROUNDS:,} rounds at most"
        lasts = f"the trace, which lasts {as_time(trace.record.duration)}"
        allowed = f"so {'short' if few else 'long'} that {lasts}, has {number}"
        raise InvalidValue("round_length", allowed, f"{as_time(round_length)} ({rounds:,})")
    names = trace.record.names
    energy = trace.watts(0, range(rounds), range(len(names)), round_length) * round_length
    least = energy.mean() / 2 if unit is None else number_in("unit", unit, "(0, 1e12]")
    on = energy >= least
    if least == 0:
        raise InvalidValue("file", "a trace with some power in it", f"{trace.record.path.name} with none")
    bins = _bins(trace.record.start, rounds, round_length)
    columns = tuple(fit(on[:, [at]], name, bins, energy[:, at]) for at, name in enumerate(names))
    bright = energy[on]
    spread = float(bright.std() / bright.mean()) if bright.size else math.nan
    return Fits(fit(on, "all", bins, energy), columns, float(least), round_length, spread)


def fit(on: NDArray[np.bool_], name: str, bins: IntArray | None = None, energy: FloatArray | None = None) -> Fit:
    """Return both models fitted to rounds that were on or off, shape (n_rounds, n_columns).

    `bins` says which part of the day each round belongs to.

    >>> found = fit(np.array([[1, 1, 0, 0, 0, 1, 1, 1, 0]], dtype=bool).T, "roof")
    >>> found.rate.value, found.stay_on.value, round(found.stay_off.value, 3), found.on_runs.tolist()
    (0.5, 0.6, 0.667, [3])
    """
    before, after = on[:-1], on[1:]
    stayed_on, went_on = int((before & after).sum()), int((~before & after).sum())
    stayed_off, went_off = int((~before & ~after).sum()), int((before & ~after).sum())
    n, ones = after.size, stayed_on + went_on
    stay_on, stay_off = _share(stayed_on, stayed_on + went_off), _share(stayed_off, stayed_off + went_on)
    likelihood: dict[Model, float] = {
        "bernoulli": _log(ones, n) + _log(n - ones, n),
        "markov": _log(stayed_on, stayed_on + went_off)
        + _log(went_off, stayed_on + went_off)
        + _log(stayed_off, stayed_off + went_on)
        + _log(went_on, stayed_off + went_on),
    }
    runs = [run for column in on.T for run in _runs(column)]
    return Fit(
        name=name,
        rounds=n,
        rate=_repeated(_share(ones, n), stay_on.value + stay_off.value - 1),
        stay_on=stay_on,
        stay_off=stay_off,
        log_likelihood=likelihood,
        on_runs=np.sort([length for is_on, length in runs if is_on]).astype(np.int64),
        off_runs=np.sort([length for is_on, length in runs if not is_on]).astype(np.int64),
        time_of_day=math.nan if bins is None else _explained(on, bins),
        energy=math.nan if energy is None else float(energy.mean()),
    )


def _share(count: int, of: int) -> Fitted:
    if not of:
        return Fitted(math.nan, math.nan)
    share = count / of
    return Fitted(share, math.sqrt(share * (1 - share) / of))


def _repeated(rate: Fitted, correlation: float) -> Fitted:
    """Return a rate with its standard error corrected for the correlation of neighbouring rounds."""
    known = math.isfinite(correlation) and correlation < 1
    return Fitted(rate.value, rate.error * math.sqrt((1 + correlation) / (1 - correlation))) if known else rate


def _log(count: int, of: int) -> float:
    """Return count ln(count / of), 0 for a count of 0."""
    return count * math.log(count / of) if count else 0.0


def _runs(column: NDArray[np.bool_]) -> Sequence[tuple[bool, int]]:
    """Return state and length of each run except the first and the last, which are truncated by the record."""
    changes = np.flatnonzero(np.diff(column)) + 1
    return [(bool(column[at]), int(length)) for at, length in zip(changes[:-1], np.diff(changes), strict=True)]


def _bins(start: float, rounds: int, round_length: float) -> IntArray | None:
    """Return the part of day (at most hourly) of each round's middle; None for records under two days."""
    parts = min(_HOURS, int(DAY / round_length))
    if parts < 2 or rounds * round_length < 2 * DAY:
        return None
    middle = (start + (np.arange(rounds) + 0.5) * round_length) % DAY
    return (middle * (parts / DAY)).astype(np.int64)


def _explained(on: NDArray[np.bool_], bins: IntArray) -> float:
    """Return the share of the variance within columns that the hour of day explains, corrected for chance."""
    values, parts = on.astype(np.float64), int(bins.max()) + 1
    counts = np.bincount(bins, minlength=parts)[:, None]
    sums = np.stack([np.bincount(bins, column, parts) for column in values.T], axis=1)  # (n_parts, n_columns)
    centre = values.mean(axis=0)
    total = float(((values - centre) ** 2).sum())
    if not total:
        return math.nan
    between = float((counts * (sums / np.maximum(counts, 1) - centre) ** 2).sum())
    chance = (parts - 1) / (len(values) - 1)
    return max(0.0, (between / total - chance) / (1 - chance))
