"""check_harvest(): whether a harvest of your own keeps the rules."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import FloatArray, IntArray
from ehfl.energy.harvest import HARVESTS, Harvest, rates_of
from ehfl.energy.power import InQuanta, PowerHarvest, is_power
from ehfl.energy.weather import fault_of
from ehfl.randomness import MAX_CLIENTS, MAX_ROUNDS, check_seed
from ehfl.validation import FAILURES, BrokenRules, InvalidValue, blame, whole_number

# What is looked at: enough to see a fault, and little enough for a harvest that is slow.
_ROUNDS, _CLIENTS, _SEEDS, _BLOCKS = 40, 12, 8, 10
_MOST = 100_000  # clients or rounds of a full check
_VARIED = 30  # draws that differ from their neighbours: so many are not met again by chance
_REMEDY = "draw chance from ehfl.randomness.words(seed, Purpose.HARVEST, rounds, clients), and remember nothing"


class _Fault(Exception):
    """A rule that is broken, and the first case; what would be looked at next would only tell the same again."""


def check_harvest(
    harvest: Harvest | PowerHarvest | str | Mapping[str, Any],
    *,
    clients: int = 10,
    rounds: int = 1000,
    seed: int = 0,
    quick: bool = False,
) -> None:
    """Try a harvest on parts of its weather; raise BrokenRules that says plainly what is wrong.

    Checked: that units have their shape and are whole numbers, none negative; that any part of them, computed alone, in
    any order and after anything else, is that part of the whole; that no generator is asked that other code moves; that
    mean_rates has a finite number >= 0 for each client. Unless it shall be `quick`, also that the units come to these
    rates over so many rounds (give it whole seasons) and that seeds share no draws. Silence means that it passed.

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
      - is no pure function of (seed, client, round): round 0, client 1 got 1 and 0 when asked again (draw ...
    """
    named = HARVESTS.make(harvest)
    # Made again where that can be, as every process of a comparison does.
    twin = None if named is harvest else _counted(HARVESTS.make(harvest))
    made = _counted(named)
    whole_number("clients", clients, low=1, high=MAX_CLIENTS if quick else _MOST)
    whole_number("rounds", rounds, low=1, high=MAX_ROUNDS if quick else _MOST)
    seed = check_seed(seed)
    faults: list[str] = []
    with _generators_watched(faults):
        try:
            _check_parts(made, twin, clients, rounds, seed)
            rates = _rates(made, clients)
            if not quick:
                _check_means_and_seeds(made, rates, rounds, seed)
        except _Fault as fault:
            faults.append(str(fault))
    if faults:
        raise BrokenRules(type(named).__name__, faults)


def _counted(harvest: Harvest | PowerHarvest) -> Harvest:
    """Return a harvest in whole numbers: one in watts as thousandths of a joule, an hour a round."""
    return InQuanta(harvest, quantum=1e-3, round_length=3600) if is_power(harvest) else harvest  # type: ignore[return-value]


@contextmanager
def _generators_watched(faults: list[str]) -> Iterator[None]:
    """Put a fault first if Python's or NumPy's global generator was moved inside; both are as before afterwards."""
    python, numpy = random.getstate(), np.random.get_state(legacy=False)  # noqa: NPY002  # to see who else asks it
    yield
    now = np.random.get_state(legacy=False)  # noqa: NPY002
    moved = {"Python's": random.getstate() != python, "NumPy's": repr(now) != repr(numpy)}
    random.setstate(python)
    np.random.set_state(numpy)  # noqa: NPY002
    for whose in (name for name in moved if moved[name]):
        faults.insert(0, f"asks {whose} global generator, which all other code moves too ({_REMEDY})")


def _check_parts(harvest: Harvest, twin: Harvest | None, clients: int, rounds: int, seed: int) -> None:
    """Any part computed alone, in any order and after anything else, is that part of the whole."""
    everything = range(min(rounds, _ROUNDS)), range(min(clients, _CLIENTS))
    returned = _units(harvest, seed, *everything)
    whole = returned.copy()
    _units(harvest, _next(seed), *everything)
    if not np.array_equal(returned, whole):
        raise _Fault("changes what it has returned before: a later call wrote into the array of an earlier one")
    _check_same(whole, everything, _units(harvest, seed, *everything))
    for part in _parts(*everything):
        _units(harvest, _next(seed), *part)  # before its own seed: a harvest that keeps the first answer is found
        _check_same(whole, everything, _units(harvest, seed, *part), part)
    if twin is not None and not np.array_equal(_units(twin, seed, *everything), whole):
        raise _Fault(f"is another one whenever it is made from the same parameters ({_REMEDY})")
    last = range(max(0, rounds - 2), rounds), range(max(0, clients - 2), clients)
    alone = last[0][-1:], last[1][-1:]
    _check_same(_units(harvest, seed, *last), last, _units(harvest, seed, *alone), alone)


def _parts(rounds: range, clients: range) -> list[tuple[range, range]]:
    """Return parts of a whole, late ones first: a few rounds, a few clients, a corner, single draws."""
    some_rounds, some_clients = (
        [whole[i : i + 1] for i in dict.fromkeys((len(whole) - 1, len(whole) // 2, 0))] for whole in (rounds, clients)
    )
    corner = rounds[len(rounds) // 3 :], clients[len(clients) // 3 :]
    singles = list(zip(some_rounds, some_clients, strict=False))
    return [*((one, clients) for one in some_rounds), *((rounds, one) for one in some_clients), corner, *singles]


def _check_same(
    whole: IntArray, of: tuple[range, range], found: IntArray, part: tuple[range, range] | None = None
) -> None:
    """Refuse units that are others than the same ones of the whole; without a part, the whole was asked for again."""
    rounds, clients = part or of
    expected = whole[rounds.start - of[0].start :, clients.start - of[1].start :][: len(rounds), : len(clients)]
    if not np.array_equal(expected, found):
        row, column = (int(one) for one in np.argwhere(expected != found)[0])
        where = f"round {rounds[row]}, client {clients[column]}"
        among = "when asked again" if part is None else f"as part of {_shown(*part)}"
        first = "" if part is None else f" as part of {_shown(*of)}"
        got = f"got {expected[row, column]}{first} and {found[row, column]} {among}"
        raise _Fault(f"is no pure function of (seed, client, round): {where} {got} ({_REMEDY})")


def _units(harvest: Harvest, seed: int, rounds: range, clients: range) -> IntArray:
    """Return what a harvest returns, if it is as it must be."""
    asked = f"units({seed}, {_shown(rounds, clients)})"
    try:
        units: NDArray[Any] = np.asarray(harvest.units(seed, rounds, clients))
    except FAILURES as error:  # whatever the user's own code raises
        raise _Fault(f"fails: {asked}, {blame(harvest, error)}") from error
    if fault := fault_of(units, rounds, clients):
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
    except FAILURES as error:  # whatever the user's own code raises
        raise _Fault(f"fails: mean_rates({clients}), {blame(harvest, error)}") from error


def _check_means_and_seeds(harvest: Harvest, rates: FloatArray, rounds: int, seed: int) -> None:
    """Units come to mean_rates over many rounds and seeds, and no seed gives what another does to its neighbours."""
    rates = rates[:_CLIENTS]
    some = range(rates.size)
    drawn = np.stack([_units(harvest, _next(seed, s), range(rounds), some) for s in range(_SEEDS)]).astype(np.float64)
    _check_independent(drawn, seed)
    if (drawn == drawn[0]).all():  # it does not look at the seed: what was drawn is drawn once
        drawn = drawn[:1]
    means = drawn.mean(axis=(0, 1))
    over = np.abs(means - rates) - _tolerance(drawn, rates)
    if over.max() > 0:
        client = int(over.argmax())
        counted = f"in {rounds:,} rounds of {len(drawn)} seed{'s' if len(drawn) > 1 else ''}"
        got = f"client {client} has {rates[client]:.4g} and gets {means[client]:.4g} on average"
        raise _Fault(f"mean_rates are not what its units come to: {got} {counted} (rounds may be whole seasons)")


def _tolerance(drawn: FloatArray, rates: FloatArray) -> FloatArray:
    """Return by how much means may differ from rates by chance alone, once in 10^6 harvests, (n_clients,).

    The larger of two: Bernstein's inequality for independent draws in [0, u], whose variance is at most u * rate, which
    holds where nothing was drawn at all; and six standard errors of the means of blocks of rounds, which grow where
    draws hang together, as those of a day do.
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
    """Refuse seeds that are added to a client's or a round's number: their draws would meet again."""
    one, other = drawn[0], drawn[1]
    for what, axis in (("rounds", 0), ("clients", 1)):
        before, after = (np.delete(one, end, axis) for end in (-1, 0))
        varied = np.count_nonzero(before != after) >= _VARIED  # else they are alike by chance
        if varied and np.array_equal(after, np.delete(other, -1, axis)):
            same = f"seed {_next(seed)} gives {what} what seed {seed} gives the next ones"
            raise _Fault(f"seeds are not independent: {same} ({_REMEDY})")
