"""The oracle: eq. (2) and every policy in lists and for loops, written from DESIGN.md and nothing of ehfl but `words`.

The stream numbers themselves are part of the definition (who wins a tie, who harvests), so they are taken from
`ehfl.randomness.words`, whose known answers are tested on their own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from ehfl.randomness import Purpose, words

Rows = Sequence[Sequence[int]]
Choice = Callable[[int, list[int]], list[int]]  # (round, energy) -> participants


@dataclass
class Played:
    """What the loop has to tell; totals have the names of ehfl's."""

    participants: list[list[int]] = field(default_factory=list)
    levels: list[list[int]] = field(default_factory=list)  # E_i(t) for t = 0..T
    harvested: int = 0
    spent: int = 0
    wasted: int = 0
    mains: int = 0

    @property
    def final_energy(self) -> list[int]:
        return self.levels[-1]


@dataclass(frozen=True)
class Setting:
    """What a choice depends on besides round and energy."""

    clients: int
    width: int
    cost: int = 1
    seed: int = 0


def bernoulli_rows(rates: Sequence[float], rounds: int, seed: int) -> Rows:
    """A_i(t) = 1 where the client's word is below rate * 2^32."""
    drawn = words(seed, Purpose.HARVEST, range(rounds), range(len(rates))).tolist()
    return [[int(word < rate * 2**32) for word, rate in zip(row, rates, strict=True)] for row in drawn]


def play_plainly(choose: Choice, arrivals: Rows, initial: list[int], capacity: float, cost: int, price: int) -> Played:
    """Play eq. (2); `price` is what a participant takes from its battery: the cost, or 0 on mains power."""
    played = Played(levels=[list(initial)])
    for t, row in enumerate(arrivals):
        energy = list(played.levels[-1])
        chosen = sorted(choose(t, list(energy)))
        for i in chosen:
            energy[i] -= price
            assert energy[i] >= 0
        for i, units in enumerate(row):
            level = energy[i] + units
            energy[i] = level if level <= capacity else int(capacity)
            played.harvested += units
            played.wasted += level - energy[i]
        played.participants.append(chosen)
        played.levels.append(energy)
        played.spent += price * len(chosen)
        played.mains += (cost - price) * len(chosen)
    return played


def schedule_words(setting: Setting, t: int) -> list[int]:
    row: list[int] = words(setting.seed, Purpose.SCHEDULE, range(t, t + 1), range(setting.clients))[0].tolist()
    return row


def greedy(setting: Setting) -> Choice:
    def choose(_: int, energy: list[int]) -> list[int]:
        return [i for i in range(setting.clients) if energy[i] >= setting.cost]

    return choose


def myopic(setting: Setting) -> Choice:
    def choose(t: int, energy: list[int]) -> list[int]:
        word = schedule_words(setting, t)
        order = sorted(range(setting.clients), key=lambda i: (-energy[i], word[i], i))
        return [i for i in order[: setting.width] if energy[i] >= setting.cost]

    return choose


def round_robin(setting: Setting) -> Choice:
    def choose(t: int, energy: list[int]) -> list[int]:
        turn = [(t * setting.width + k) % setting.clients for k in range(setting.width)]
        return [i for i in turn if energy[i] >= setting.cost]

    return choose


def always_on(setting: Setting) -> Choice:
    def choose(t: int, _: list[int]) -> list[int]:
        word = schedule_words(setting, t)
        return sorted(range(setting.clients), key=lambda i: (word[i], i))[: setting.width]

    return choose


def uniform_random(setting: Setting) -> Choice:
    sample = always_on(setting)

    def choose(t: int, energy: list[int]) -> list[int]:
        return [i for i in sample(t, energy) if energy[i] >= setting.cost]

    return choose


PLAIN: dict[str, Callable[[Setting], Choice]] = {
    "myopic": myopic,
    "greedy": greedy,
    "round-robin": round_robin,
    "uniform-random": uniform_random,
    "always-on": always_on,
}


def sustainable(rates: Sequence[float], cost: int) -> int:
    """Return floor(sum of rates / cost), at least 1 (DESIGN.md), forgiving the last bits of the sum."""
    return min(max(1, math.floor(math.fsum(rates) / cost + 1e-9)), len(rates))
