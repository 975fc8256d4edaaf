"""check_harvest(): tests that a user's harvest follows the interface."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import FloatArray, IntArray
from ehfl.energy.contract import HARVESTS, Harvest, InQuanta, PowerHarvest, fault_of, is_power, rates_of
from ehfl.randomness import MAX_CLIENTS, MAX_ROUNDS, check_seed
from ehfl.validation import FAILURES, BrokenRules, InvalidValue, blame, whole_number

# Sizes of the test: large enough to show faults, small enough for a slow harvest.
_ROUNDS, _CLIENTS, _SEEDS, _BLOCKS = 40, 12, 8, 10
_MOST = 100_000  # clients or rounds of a full check
_VARIED = 30  # with as many distinct draws, equal sequences are not a coincidence
_REMEDY = "draw chance from ehfl.randomness.words(seed, Purpose.HARVEST, rounds, clients), and remember nothing"


class _Fault(Exception):
    """A broken rule, with its first case; it ends the check."""


def check_harvest(
    harvest: Harvest | PowerHarvest | str | Mapping[str, Any],
    *,
    clients: int = 10,
    rounds: int = 1000,
    seed: int = 0,
    quick: bool = False,
) -> None:
    """Test a harvest on parts of its values; raise BrokenRules with a list of the faults.

    The check passes silently if: units have the right shape and are integers >= 0; any part, computed separately and in
    any order, equals that part of the full array; and mean_rates returns a finite number >= 0 per client. Unless
    `quick`, it also tests that the mean of the units over `rounds` rounds (use a multiple of the season) matches these
    rates, and that different seeds give independent draws.

    >>> class Moving:
    ...     def __init__(self):
    ...         self.rng = np.random.default_rng(0)
    ...     def units(self, seed, rounds, clients):
    ...         return self.rng.integers(0, 2, (len(rounds), len(clients)))
    ...     def mean_rates(self, n_clients):
    ...         return np.full(n_clients, 0.5)
    >>> check_harvest(Moving())  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ehfl.validation.BrokenRules: Moving breaks the rules:
      - is not a pure function of (seed, client, round): round 0, client 1 got 1 and 0 when asked again (draw ...
    """
    named = HARVESTS.make(harvest)
    # Construct a second instance if possible, as every process of a comparison does.
    twin = None if named is harvest else _counted(HARVESTS.make(harvest))
    made = _counted(named)
    whole_number("clients", clients, low=1, high=MAX_CLIENTS if quick else _MOST)
    whole_number("rounds", rounds, low=1, high=MAX_ROUNDS if quick else _MOST)
    seed = check_seed(seed)
    try:
        _check_parts(made, twin, clients, rounds, seed)
        rates = _rates(made, clients)
        if not quick:
            _check_means_and_seeds(made, rates, rounds, seed)
    except _Fault as fault:
        raise BrokenRules(type(named).__name__, [str(fault)]) from fault.__cause__


def _counted(harvest: Harvest | PowerHarvest) -> Harvest:
    """Return a harvest in integers; convert watts to millijoules with rounds of an hour."""
    return InQuanta(harvest, quantum=1e-3, round_length=3600) if is_power(harvest) else harvest  # type: ignore[return-value]


def _check_parts(harvest: Harvest, twin: Harvest | None, clients: int, rounds: int, seed: int) -> None:
    """Raise a fault unless any part, computed separately and in any order, equals that part of the full array."""
    everything = range(min(rounds, _ROUNDS)), range(min(clients, _CLIENTS))
    returned = _units(harvest, seed, *everything)
    whole = returned.copy()
    _units(harvest, _next(seed), *everything)
    if not np.array_equal(returned, whole):
        raise _Fault("changes what it has returned before: a later call wrote into the array of an earlier one")
    _check_same(whole, everything, _units(harvest, seed, *everything))
    for part in _parts(*everything):
        _units(harvest, _next(seed), *part)  # first with another seed, to detect a harvest that caches its first result
        _check_same(whole, everything, _units(harvest, seed, *part), part)
    if twin is not None and not np.array_equal(_units(twin, seed, *everything), whole):
        raise _Fault(f"differs whenever it is constructed from the same parameters ({_REMEDY})")
    last = range(max(0, rounds - 2), rounds), range(max(0, clients - 2), clients)
    alone = last[0][-1:], last[1][-1:]
    _check_same(_units(harvest, seed, *last), last, _units(harvest, seed, *alone), alone)


def _parts(rounds: range, clients: range) -> list[tuple[range, range]]:
    """Return parts of the full array, late ones first: a few rounds, a few clients, a corner, single draws."""
    some_rounds, some_clients = (
        [whole[i : i + 1] for i in dict.fromkeys((len(whole) - 1, len(whole) // 2, 0))] for whole in (rounds, clients)
    )
    corner = rounds[len(rounds) // 3 :], clients[len(clients) // 3 :]
    singles = list(zip(some_rounds, some_clients, strict=False))
    return [*((one, clients) for one in some_rounds), *((rounds, one) for one in some_clients), corner, *singles]


def _check_same(
    whole: IntArray, of: tuple[range, range], found: IntArray, part: tuple[range, range] | None = None
) -> None:
    """Raise a fault if a part differs from the full array; without a part, compare two full arrays."""
    rounds, clients = part or of
    expected = whole[rounds.start - of[0].start :, clients.start - of[1].start :][: len(rounds), : len(clients)]
    if not np.array_equal(expected, found):
        row, column = (int(one) for one in np.argwhere(expected != found)[0])
        where = f"round {rounds[row]}, client {clients[column]}"
        among = "when asked again" if part is None else f"as part of {_shown(*part)}"
        first = "" if part is None else f" as part of {_shown(*of)}"
        got = f"got {expected[row, column]}{first} and {found[row, column]} {among}"
        raise _Fault(f"is not a pure function of (seed, client, round): {where} {got} ({_REMEDY})")


def _units(harvest: Harvest, seed: int, rounds: range, clients: range) -> IntArray:
    """Return the units of a harvest; raise a fault if they are invalid."""
    asked = f"units({seed}, {_shown(rounds, clients)})"
    try:
        units: NDArray[Any] = np.asarray(harvest.units(seed, rounds, clients))
    except FAILURES as error:  # whatever user code raises
        raise _Fault(f"fails: {asked}, {blame(harvest, error)}") from error
    if fault := fault_of("units", units, rounds, clients):
        raise _Fault(f"{fault}: {asked}")
    return units


def _next(seed: int, by: int = 1) -> int:
    return (seed + by) % 2**64


def _shown(rounds: range, clients: range) -> str:
    return f"range({rounds.start}, {rounds.stop}), range({clients.start}, {clients.stop})"


def _rates(harvest: Harvest, clients: int) -> FloatArray:
    try:
        return rates_of(harvest, clients)
    except InvalidValue as error:
        raise _Fault(str(error).removeprefix("harvest.")) from error
    except FAILURES as error:  # whatever user code raises
        raise _Fault(f"fails: mean_rates({clients}), {blame(harvest, error)}") from error


def _check_means_and_seeds(harvest: Harvest, rates: FloatArray, rounds: int, seed: int) -> None:
    """Raise a fault unless the mean units match mean_rates and seeds are independent."""
    rates = rates[:_CLIENTS]
    some = range(rates.size)
    drawn = np.stack([_units(harvest, _next(seed, s), range(rounds), some) for s in range(_SEEDS)]).astype(np.float64)
    _check_independent(drawn, seed)
    if (drawn == drawn[0]).all():  # the harvest ignores the seed: count its draws once
        drawn = drawn[:1]
    means = drawn.mean(axis=(0, 1))
    over = np.abs(means - rates) - _tolerance(drawn, rates)
    if over.max() > 0:
        client = int(over.argmax())
        counted = f"in {rounds:,} rounds of {len(drawn)} seed{'s' if len(drawn) > 1 else ''}"
        got = f"client {client} has {rates[client]:.4g} and gets {means[client]:.4g} on average"
        raise _Fault(f"mean_rates are not what its units come to: {got} {counted} (rounds may be whole seasons)")


def _tolerance(drawn: FloatArray, rates: FloatArray) -> FloatArray:
    """Return the deviation of means from rates that chance exceeds once in 10^6 harvests, (n_clients,).

    The larger of two: Bernstein's inequality for independent draws in [0, u], with a variance of at most u * rate,
    which holds even if all draws are 0; and six standard errors of the means of blocks of rounds, which are larger for
    correlated draws, such as those within a day.
    """
    n_seeds, n_rounds, n_clients = drawn.shape
    draws, most, log = n_seeds * n_rounds, max(1.0, drawn.max()), math.log(2e6 * n_clients)
    bernstein = np.sqrt(2 * log * most * rates / draws) + 2 / 3 * log * most / draws
    n_blocks = min(_BLOCKS, n_rounds)
    blocks = np.stack([part.mean(axis=1) for part in np.array_split(drawn, n_blocks, axis=1)], axis=1)
    errors = blocks.std(axis=(0, 1)) / math.sqrt(max(1, n_seeds * n_blocks - 1))
    larger: FloatArray = np.maximum(bernstein, 6 * errors)
    return larger


def _check_independent(drawn: FloatArray, seed: int) -> None:
    """Raise a fault if a shifted seed repeats the draws of the next client or round (seed + client, seed + round)."""
    one, other = drawn[0], drawn[1]
    for what, axis in (("rounds", 0), ("clients", 1)):
        before, after = (np.delete(one, end, axis) for end in (-1, 0))
        varied = np.count_nonzero(before != after) >= _VARIED  # fewer may be equal by chance
        if varied and np.array_equal(after, np.delete(other, -1, axis)):
            same = f"seed {_next(seed)} gives {what} what seed {seed} gives the next ones"
            raise _Fault(f"seeds are not independent: {same} ({_REMEDY})")
