"""The oracle: eq. (2) and every scheduler in lists and for loops, written from their docstrings.

The streams themselves are part of the definition (who wins a tie, who harvests), so `words` and `generator` are taken
from `ehfl.randomness`, whose known answers are tested on their own. Nothing else of ehfl is.
"""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache

from ehfl.randomness import Purpose, generator, words

Rows = Sequence[Sequence[int]]
Loss = Callable[[int, int], float]  # (round, client) -> the loss that it reports


@dataclass
class Played:
    """What the loop has to tell; totals have the names of ehfl's."""

    participants: list[list[int]] = field(default_factory=list)
    levels: list[list[int]] = field(default_factory=list)  # E_i(t) for t = 0..T
    paid: list[int] = field(default_factory=list)  # what the participants of each round paid, mains power included
    harvested: int = 0
    spent: int = 0
    wasted: int = 0
    mains: int = 0

    @property
    def final_energy(self) -> list[int]:
        return self.levels[-1]


@dataclass(frozen=True)
class Setting:
    """What a choice depends on besides the round: the fleet, how many are wanted, and chance."""

    clients: int
    width: int
    cost: Sequence[int]  # one per client
    seed: int = 0
    rates: Sequence[float] = ()  # what each client harvests a round
    capacity: Sequence[float] = ()  # one per client


@dataclass(frozen=True)
class Seen:
    """A round as a scheduler sees it."""

    t: int
    energy: list[int]
    last_turn: list[int]  # -1 before the first
    losses: list[float]  # of the last turn, infinite before the first


Choice = Callable[[Seen], list[int]]


def bernoulli_rows(rates: Sequence[float], rounds: int, seed: int) -> Rows:
    """A_i(t) = 1 where the client's word is below rate * 2^32."""
    drawn = words(seed, Purpose.HARVEST, range(rounds), range(len(rates))).tolist()
    return [[int(word < rate * 2**32) for word, rate in zip(row, rates, strict=True)] for row in drawn]


def play_plainly(
    choose: Choice,
    arrivals: Rows,
    initial: Sequence[int],
    capacity: Sequence[float],
    cost: Sequence[int],
    *,
    mains_powered: bool = False,
    loss: Loss | None = None,
) -> Played:
    """Play eq. (2) client by client; on mains power participants take nothing from their batteries."""
    played = Played(levels=[list(initial)])
    last_turn = [-1] * len(initial)
    losses = [math.inf] * len(initial)
    for t, row in enumerate(arrivals):
        energy = list(played.levels[-1])
        chosen = sorted(choose(Seen(t, list(energy), list(last_turn), list(losses))))
        for i in chosen:
            energy[i] -= 0 if mains_powered else cost[i]
            assert energy[i] >= 0
            last_turn[i] = t
            losses[i] = math.inf if loss is None else loss(t, i)
        for i, units in enumerate(row):
            level = energy[i] + units
            energy[i] = level if level <= capacity[i] else int(capacity[i])
            played.harvested += units
            played.wasted += level - energy[i]
        played.participants.append(chosen)
        played.levels.append(energy)
        played.paid.append(sum(cost[i] for i in chosen))
    played.mains = sum(played.paid) if mains_powered else 0
    played.spent = sum(played.paid) - played.mains
    return played


def schedule_words(setting: Setting, t: int) -> list[int]:
    """Return what breaks ties among queues and draws samples: the smaller word goes first."""
    row: list[int] = words(setting.seed, Purpose.SCHEDULE, range(t, t + 1), range(setting.clients))[0].tolist()
    return row


def drawn_order(setting: Setting, t: int) -> list[int]:
    """Return what breaks ties among other keys (View.first): the client with the smaller number goes first."""
    order: list[int] = generator(setting.seed, Purpose.TIES, round_=t).permutation(setting.clients).tolist()
    return order


def able(setting: Setting, seen: Seen) -> list[int]:
    return [i for i in range(setting.clients) if seen.energy[i] >= setting.cost[i]]


def greedy(setting: Setting) -> Choice:
    return lambda seen: able(setting, seen)


def myopic(setting: Setting) -> Choice:
    """The longest queues by energy alone, then those of them that can pay what it costs each."""

    def choose(seen: Seen) -> list[int]:
        word = schedule_words(setting, seen.t)
        order = sorted(range(setting.clients), key=lambda i: (-seen.energy[i], word[i], i))
        return [i for i in order[: setting.width] if seen.energy[i] >= setting.cost[i]]

    return choose


def round_robin(setting: Setting) -> Choice:
    def choose(seen: Seen) -> list[int]:
        turn = [(seen.t * setting.width + k) % setting.clients for k in range(setting.width)]
        return [i for i in turn if seen.energy[i] >= setting.cost[i]]

    return choose


def always_on(setting: Setting) -> Choice:
    def choose(seen: Seen) -> list[int]:
        word = schedule_words(setting, seen.t)
        return sorted(range(setting.clients), key=lambda i: (word[i], i))[: setting.width]

    return choose


def uniform_random(setting: Setting) -> Choice:
    sample = always_on(setting)
    return lambda seen: [i for i in sample(seen) if seen.energy[i] >= setting.cost[i]]


def oldest_first(setting: Setting) -> Choice:
    """Of those who can pay, the ones whose last turn lies farthest back."""

    def choose(seen: Seen) -> list[int]:
        tie = drawn_order(setting, seen.t)
        return sorted(able(setting, seen), key=lambda i: (seen.last_turn[i], tie[i]))[: setting.width]

    return choose


def power_of_choice(setting: Setting) -> Choice:
    """Twice as many candidates as are wanted, drawn from those who can pay; of these the largest losses."""

    def choose(seen: Seen) -> list[int]:
        chance = generator(setting.seed, Purpose.SCHEDULE, round_=seen.t)
        candidates = chance.permutation(able(setting, seen)).tolist()[: 2 * setting.width]
        tie = drawn_order(setting, seen.t)
        return sorted(candidates, key=lambda i: (-seen.losses[i], tie[i]))[: setting.width]

    return choose


def f3ast(setting: Setting) -> Choice:
    """Of those who can pay, the ones with the smallest r, a mean over past rounds that forgets 1 % with each."""
    rates = [setting.width / setting.clients] * setting.clients

    def choose(seen: Seen) -> list[int]:
        tie = drawn_order(setting, seen.t)
        chosen = sorted(able(setting, seen), key=lambda i: (rates[i], tie[i]))[: setting.width]
        turns = set(chosen)
        rates[:] = [(1 - 0.01) * rate + (0.01 if i in turns else 0) for i, rate in enumerate(rates)]
        return chosen

    return choose


def energy_cycles(setting: Setting) -> Choice:
    """One turn in each stretch of ceil(cost / rate) rounds, from a drawn round of it on, as soon as it can be paid."""
    pairs = zip(setting.rates, setting.cost, strict=True)
    lengths = [max(1, math.ceil(cost / Fraction(str(rate)))) if rate else None for rate, cost in pairs]
    drawn = cache(lambda begin: schedule_words(setting, begin))

    def choose(seen: Seen) -> list[int]:
        chosen = []
        for i, length in enumerate(lengths):
            if length is None:
                continue
            begin = seen.t // length * length
            due = begin + drawn(begin)[i] * length // 2**32
            if seen.t >= due and seen.last_turn[i] < begin and seen.energy[i] >= setting.cost[i]:
                chosen.append(i)
        return chosen

    return choose


def most_rounds_left(setting: Setting) -> Choice:
    """Of those who can pay, the ones with the largest energy / cost, in fractions; the words of queues break ties."""

    def choose(seen: Seen) -> list[int]:
        return richest(setting, seen, able(setting, seen))[: setting.width]

    return choose


def richest(setting: Setting, seen: Seen, clients: list[int]) -> list[int]:
    word = schedule_words(setting, seen.t)
    return sorted(clients, key=lambda i: (-Fraction(seen.energy[i], setting.cost[i]), word[i], i))


def threshold(setting: Setting) -> Choice:
    """Of those who could pay for one more round after this one, the richest."""

    def choose(seen: Seen) -> list[int]:
        keep = [i for i in range(setting.clients) if seen.energy[i] >= 2 * setting.cost[i]]
        return richest(setting, seen, keep)[: setting.width]

    return choose


def lyapunov(setting: Setting) -> Choice:
    """The richest by e - theta, one by one while v times what sqrt(n) gains makes up for what e lacks of theta."""
    room = [min(most / cost, 20) for most, cost in zip(setting.capacity, setting.cost, strict=True)]
    v = math.sqrt(setting.width) * statistics.median(room)
    theta = [min(1 + v, most) for most in room]

    def choose(seen: Seen) -> list[int]:
        word = schedule_words(setting, seen.t)
        gain = {i: seen.energy[i] / setting.cost[i] - theta[i] for i in able(setting, seen)}
        chosen: list[int] = []
        for i in sorted(gain, key=lambda i: (-gain[i], word[i], i)):
            if v * (math.sqrt(len(chosen) + 1) - math.sqrt(len(chosen))) + gain[i] < -1e-9 * (1 + v):
                break
            chosen.append(i)
        return chosen

    return choose


def forecast(setting: Setting) -> Choice:
    """The richest m, found by halving: the largest up to the width that a fluid fleet bears for 24 rounds."""

    def bears(m: int, energy: list[int]) -> bool:
        # Clients that are alike stay alike: (level, harvest, room), all in rounds, and how many there are.
        alike = zip(energy, setting.rates, setting.cost, setting.capacity, strict=True)
        fluid = Counter((held / cost, rate / cost, most / cost) for held, rate, cost, most in alike)
        for _ in range(24):
            there = math.fsum(min(level, 1) * many for (level, _, _), many in fluid.items())
            if there < m - 1e-9:
                return False
            share, after = min(m / there, 1), Counter[tuple[float, float, float]]()
            for (level, coming, room), many in fluid.items():
                after[min(level - share * min(level, 1) + coming, room), coming, room] += many
            fluid = after
        return True

    def choose(seen: Seen) -> list[int]:
        low, high = 1, setting.width
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if bears(middle, seen.energy) else (low, middle - 1)
        return richest(setting, seen, able(setting, seen))[:low]

    return choose


PLAIN: dict[str, Callable[[Setting], Choice]] = {
    "myopic": myopic,
    "greedy": greedy,
    "round-robin": round_robin,
    "uniform-random": uniform_random,
    "always-on": always_on,
    "oldest-first": oldest_first,
    "power-of-choice": power_of_choice,
    "f3ast": f3ast,
    "energy-cycles": energy_cycles,
    "most-rounds-left": most_rounds_left,
    "threshold": threshold,
    "lyapunov": lyapunov,
    "forecast": forecast,
    "adaptive-steps": most_rounds_left,  # where nobody says what a step costs; test_steps.py has the rest
}


def sustainable(rates: Sequence[float], cost: Sequence[int], capacity: Sequence[float]) -> int:
    """Return floor(sum of min(rate / cost, 1)), at least 1, in fractions of the rates as they are written.

    It is over the clients that can ever pay: those whose battery holds the cost.
    """
    able = [(rate, each) for rate, each, most in zip(rates, cost, capacity, strict=True) if most >= each]
    return max(1, math.floor(sum(min(Fraction(str(rate)) / each, Fraction(1)) for rate, each in able)))
