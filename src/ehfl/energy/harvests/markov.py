"""On/off energy: a two-state Markov chain per client (Gilbert-Elliott)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ehfl.arrays import FloatArray, IntArray, PerClient, describe, refuse_unequal
from ehfl.energy.battery import MAX_LEVEL
from ehfl.energy.harvests.bernoulli import blocks, harvest_words
from ehfl.validation import whole_number

_WORDS = 2.0**32
_FORGOTTEN = 2.0**-33  # a correlation below the resolution of a 32-bit word
_LEAST_CHANGE = 1e-6  # distance of stay_on + stay_off from 0 and 2, where a chain alternates or never changes

States = NDArray[np.bool_]


@dataclass(frozen=True, eq=False)
class Markov:
    """A_i(t) = size while client i is on, else 0; on stays on with chance `stay_on`, off stays off with `stay_off`.

    The chain of Gilbert (Bell Syst. Tech. J. 39, 1960) and Elliott (42, 1963), used for harvests by Zou, Gidmark,
    Charalambous and Johansson ("Optimal radio frequency energy harvesting with limited energy arrival knowledge").
    Runs are geometric: 1 / (1 - stay_on) rounds on, 1 / (1 - stay_off) off, on average. The share of rounds on is

        c = (1 - stay_off) / (2 - stay_on - stay_off),

    and states n rounds apart have correlation r^n, r = stay_on + stay_off - 1, which may be negative. Both are one
    number for all clients or one per client; `size` is an integer [units].

    **A round's state without walking from round 0.** States at the rounds that are multiples of 2^L are drawn from c
    alone, L the first level with |r|^(2^L) < 2^-33: a word of 32 bits could not show that they remember each other.
    Then midpoints are filled in, from the widest gap to the narrowest: given the states x and y that lie n rounds
    before and after, the state between them is on with probability

        P^n(x, on) P^n(on, y) / P^2n(x, y),   P^n(on, on) = c + (1 - c) r^n,   P^n(off, on) = c (1 - r^n).

    Round t has one word, and is drawn once: at the level of the largest power of two that divides t. This is exact. A
    Markov chain that is observed every 2n rounds is one with kernel P^2n, and given these states those halfway between
    are independent, each with the law above: so if the states 2n rounds apart have the joint law of the stationary
    chain, those n rounds apart do, down to n = 1. Any round asks for at most L + 2 words, many in a row for one each.

    >>> harvest = Markov(stay_on=0.9, stay_off=0.8)
    >>> harvest.units(seed=0, rounds=range(24), clients=range(1)).T.tolist()
    [[0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1]]
    >>> harvest.mean_rates(1).round(4).tolist()
    [0.6667]
    """

    per_client: ClassVar[tuple[str, ...]] = ("stay_on", "stay_off")
    stay_on: ArrayLike
    stay_off: ArrayLike
    size: int = 1  # harvest of a round that is on [units]
    _stays: tuple[PerClient, PerClient] = field(init=False, repr=False)  # on, off
    _levels: int = field(init=False, repr=False)  # L of the client with the longest memory

    def __post_init__(self) -> None:
        on, off = (PerClient.of(name, getattr(self, name), "[0, 1]") for name in self.per_client)
        refuse_unequal(on, off)
        both, low, high = on.numbers + off.numbers, _LEAST_CHANGE, 2 - _LEAST_CHANGE
        allowed = f"in [{low:g}, 2 - {low:g}] together with stay_on: else it only alternates, or never changes"
        PerClient("stay_off", both, each=on.each or off.each).refuse((both < low) | (both > high), allowed)
        object.__setattr__(self, "size", whole_number("size", self.size, low=1, high=MAX_LEVEL))
        object.__setattr__(self, "_stays", (on, off))
        object.__setattr__(self, "_levels", _levels(float(np.abs(both - 1).max())))

    def units(self, seed: int, rounds: range, clients: range) -> IntArray:
        """Return `size` where a client is on in a round, else 0, shape (len(rounds), len(clients))."""
        kind = np.uint8 if self.size < 256 else np.int32
        if len(rounds) == 0 or len(clients) == 0:
            return np.zeros((len(rounds), len(clients)), kind)
        on, off = (stay.part(clients) for stay in self._stays)
        chain = _Chain(seed, clients, share=_share(on, off), memory=on + off - 1, levels=self._levels)
        first, last = min(rounds[0], rounds[-1]), max(rounds[0], rounds[-1])
        units: IntArray = chain.states(0, first, last)[np.asarray(rounds) - first].astype(kind) * kind(self.size)
        return units

    def mean_rates(self, n_clients: int) -> FloatArray:
        """Return the share of rounds that are on times the size, shape (n_clients,)."""
        on, off = (stay.of_fleet(n_clients) for stay in self._stays)
        return self.size * _share(on, off)

    def __repr__(self) -> str:
        return f"Markov({describe(*self._stays)}, size={self.size})"


def _share(on: FloatArray, off: FloatArray) -> FloatArray:
    return (1 - off) / ((1 - on) + (1 - off))


def _levels(memory: float) -> int:
    """Return the first L with memory^(2^L) below the resolution of a word."""
    levels = 0
    while memory >= _FORGOTTEN:
        memory, levels = memory * memory, levels + 1
    return levels


@dataclass(frozen=True, slots=True)
class _Chain:
    """The states of some clients."""

    seed: int
    clients: range
    share: FloatArray  # of rounds that are on, c; shape (1,) or (n_clients,)
    memory: FloatArray  # r, of the same shape
    levels: int  # L

    def states(self, level: int, first: int, last: int) -> States:
        """Return whether they are on in the rounds first * 2^level, ..., last * 2^level, one row per round."""
        if level == self.levels:
            return self._words(level, range(first, last + 1)) < self.share * _WORDS  # (n_places, n_clients)
        low, high = first // 2, -(-last // 2)
        ends = self.states(level + 1, low, high)
        states = np.empty((2 * (high - low) + 1, len(self.clients)), bool)
        states[::2] = ends
        states[1::2] = self._between(level, range(2 * low + 1, 2 * high, 2), ends[:-1], ends[1:])
        return states[first - 2 * low : last + 1 - 2 * low]

    def _between(self, level: int, places: range, before: States, after: States) -> States:
        """Return whether they are on halfway between states that lie 2^level rounds before and after."""
        both_on, both_off, mixed = self._chances(level)
        states = np.empty((len(places), len(self.clients)), bool)
        for rows in blocks(*states.shape):
            x, y = before[rows], after[rows]
            words = self._words(level, places[rows]).astype(np.float64)
            # Equals np.where, but several times faster.
            same = (x & y & (words < both_on)) | (~(x | y) & (words < both_off))
            states[rows] = same | ((x ^ y) & (words < mixed))
        return states

    def _chances(self, level: int) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return the chance of being on between two that are on, two that are off, and one of each, times 2^32."""
        memory, share = self.memory, self.share  # r^n from here on, n = 2^level
        for _ in range(level):
            memory = memory * memory  # squares are bit-identical on every machine, powers are not
        on_off, off_on = (1 - share) * (1 - memory), share * (1 - memory)
        there_and_back = on_off * off_on
        with np.errstate(invalid="ignore"):  # 0 / 0 where r = 0, which is replaced below
            both_on = (1 - on_off) ** 2 / ((1 - on_off) ** 2 + there_and_back)
            both_off = there_and_back / ((1 - off_on) ** 2 + there_and_back)
        mixed = (1 - on_off) / (1 + memory)
        # A client without memory at this level draws from its share, as if its chain had no higher level.
        forgot = np.abs(memory) < _FORGOTTEN
        on, off, between = (np.where(forgot, share, chance) * _WORDS for chance in (both_on, both_off, mixed))
        return on, off, between

    def _words(self, level: int, places: range) -> NDArray[np.uint32]:
        gap = 2**level
        return harvest_words(self.seed, range(places.start * gap, places.stop * gap, places.step * gap), self.clients)
