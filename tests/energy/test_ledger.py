"""The ledger: what a round costs and brings, by hand, conserved, and the same however the clients are split up."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehfl.arrays import IntArray
from ehfl.energy import Bernoulli, EnergyTotals, Fleet, Ledger, Replay
from ehfl.energy.battery import MAX_LEVEL
from ehfl.energy.ledger import LevelOverflow
from ehfl.randomness import TILE
from ehfl.validation import UserError

LARGE = 2 * TILE + 77
NOBODY = np.empty(0, np.int32)


def places(*clients: int) -> IntArray:
    return np.array(clients, dtype=np.int32)


# by hand


def test_participants_pay_their_own_cost_and_full_batteries_waste_what_comes() -> None:
    arrivals = [[2, 2, 2], [1, 0, 5], [0, 0, 0]]
    fleet = Fleet(3, Replay(arrivals), capacity=[3, math.inf, 4], initial=[0, 1, 4], cost=[1, 2, 4])
    ledger = Ledger(fleet, rounds=3, seed=0)

    assert ledger.energy.tolist() == [0, 1, 4]
    ledger.settle(0, places(2))
    assert ledger.energy.tolist() == [2, 3, 2]
    ledger.settle(1, places(0, 1))
    assert ledger.energy.tolist() == [2, 1, 4]  # 3 of 5 units did not fit
    ledger.settle(2, places(0))
    assert ledger.totals() == EnergyTotals(initial=5, harvested=12, spent=4 + 1 + 2 + 1, stored=6, wasted=3, mains=0)


def test_on_mains_power_batteries_pay_nothing_and_what_was_drawn_stands_apart() -> None:
    ledger = Ledger(Fleet(2, Replay([[1, 1], [1, 1]]), capacity=1, cost=[2, 5]), rounds=2, seed=0)
    ledger.settle(0, places(0, 1), mains_powered=True)
    ledger.settle(1, places(1), mains_powered=True)

    assert ledger.energy.tolist() == [1, 1]
    assert ledger.totals() == EnergyTotals(initial=0, harvested=4, spent=0, stored=2, wasted=2, mains=12)


@pytest.mark.parametrize(("cost", "price"), [(3, 6), ([1, 2, 4], 5)])
def test_the_price_of_a_round_is_what_its_participants_pay_together(cost: int | list[int], price: int) -> None:
    ledger = Ledger(Fleet(3, Bernoulli(0.5), cost=cost, initial=9), rounds=3, seed=0)
    paid = []
    for t, (clients, mains_powered) in enumerate([(places(0, 2), False), (NOBODY, False), (places(0, 2), True)]):
        ledger.settle(t, clients, mains_powered=mains_powered)
        paid.append(ledger.paid)

    assert paid == [price, 0, price]


def test_a_price_beyond_32_bits_is_counted() -> None:
    dear = Fleet(4, Bernoulli(0.0), cost=[MAX_LEVEL] * 4, initial=MAX_LEVEL)

    ledger = Ledger(dear, rounds=1, seed=0)
    ledger.settle(0, places(0, 1, 2, 3))

    assert ledger.paid == ledger.totals().spent == 4 * MAX_LEVEL


def test_a_client_that_cannot_pay_is_told_and_the_round_does_not_count() -> None:
    ledger = Ledger(Fleet(2, Replay([[1, 1]]), initial=[3, 1], cost=[1, 2]), rounds=1, seed=0)
    settled = ledger.settle(0, places(0, 1))

    assert (settled.unable, settled.held) == (1, 1)
    totals = ledger.totals()
    assert (totals.harvested, totals.spent, totals.wasted, totals.mains) == (0, 0, 0, 0)


def test_levels_are_shown_and_cannot_be_written_to() -> None:
    ledger = Ledger(Fleet(2, Replay([[1, 2]])), rounds=1, seed=0)
    energy = ledger.energy
    ledger.settle(0, NOBODY)

    assert energy.tolist() == [1, 2]  # it follows
    with pytest.raises(ValueError, match="read-only"):
        energy[0] = 9


# conserved, and the same however it is split up


@dataclass(frozen=True)
class Account:
    """A fleet whose clients all differ, who takes part when, and where the fleet is cut into parts."""

    rates: list[float]
    capacity: list[float]
    initial: list[int]
    cost: list[int]
    wishes: list[list[bool]]  # (n_rounds, n_clients): who would take part, if it can pay
    cuts: list[int]
    seed: int

    def fleet(self) -> Fleet:
        rates = Bernoulli(self.rates)
        return Fleet(len(self.rates), rates, capacity=self.capacity, initial=self.initial, cost=self.cost)

    def parts(self) -> list[range]:
        ends = [0, *sorted(set(self.cuts)), len(self.rates)]
        return [range(start, stop) for start, stop in pairwise(ends)]


@st.composite
def accounts(draw: st.DrawFn) -> Account:
    clients = draw(st.integers(1, 9))
    capacity = draw(st.lists(st.sampled_from([0, 1, 2, 5, math.inf]), min_size=clients, max_size=clients))
    row = st.lists(st.booleans(), min_size=clients, max_size=clients)
    return Account(
        rates=draw(st.lists(st.sampled_from([0.0, 0.3, 0.7, 1.0]), min_size=clients, max_size=clients)),
        capacity=capacity,
        initial=[draw(st.integers(0, int(min(top, 4)))) for top in capacity],
        cost=draw(st.lists(st.integers(1, 3), min_size=clients, max_size=clients)),
        wishes=draw(st.lists(row, min_size=1, max_size=12)),
        cuts=draw(st.lists(st.integers(1, clients - 1))) if clients > 1 else [],
        seed=draw(st.integers(0, 2**64 - 1)),
    )


def large_account(seed: int, cuts: list[int]) -> Account:
    chance = np.random.default_rng(seed)
    return Account(
        rates=chance.random(LARGE).tolist(),
        capacity=chance.choice([2.0, 3.0, math.inf], LARGE).tolist(),
        initial=chance.integers(0, 3, LARGE).tolist(),
        cost=chance.integers(1, 4, LARGE).tolist(),
        wishes=(chance.random((6, LARGE)) < 0.5).tolist(),
        cuts=cuts,
        seed=seed,
    )


def assert_parts_are_the_whole(account: Account) -> None:
    fleet, rounds, parts = account.fleet(), len(account.wishes), account.parts()
    whole = Ledger(fleet, rounds, account.seed)
    kept = [Ledger(fleet, rounds, account.seed, clients=part) for part in parts]
    for t, wishes in enumerate(account.wishes):
        picked = np.flatnonzero(np.array(wishes) & (whole.energy >= fleet.costs))
        settled = whole.settle(t, picked)
        shares = [
            ledger.settle(t, picked[(picked >= part.start) & (picked < part.stop)] - part.start)
            for ledger, part in zip(kept, parts, strict=True)
        ]
        assert settled.harvested == sum(share.harvested for share in shares)
        assert settled.wasted == sum(share.wasted for share in shares)
        assert np.array_equal(whole.energy, np.concatenate([ledger.energy for ledger in kept]))
    totals, sums = whole.totals(), [ledger.totals() for ledger in kept]
    for name in ("initial", "harvested", "spent", "stored", "wasted", "mains"):
        assert getattr(totals, name) == sum(getattr(one, name) for one in sums)
    assert totals.initial + totals.harvested == totals.spent + totals.stored + totals.wasted


@given(account=accounts())
@settings(max_examples=80)
def test_a_fleets_ledger_is_the_ledgers_of_its_parts(account: Account) -> None:
    assert_parts_are_the_whole(account)


@given(account=accounts())
def test_a_fleets_ledger_is_that_of_its_clients_kept_one_by_one(account: Account) -> None:
    assert_parts_are_the_whole(replace(account, cuts=list(range(1, len(account.rates)))))


@pytest.mark.parametrize("cuts", [[TILE], [TILE - 1, TILE + 5], [7, 8, LARGE - 1], [LARGE - TILE - 1]])
def test_a_large_fleets_ledger_is_the_ledgers_of_its_parts(cuts: list[int]) -> None:
    """Parts of more than a tile are computed by kernels, others plainly."""
    assert_parts_are_the_whole(large_account(3, cuts))


# levels that cannot be counted


@pytest.mark.parametrize("clients", [3, LARGE])
def test_an_infinite_battery_that_outgrows_its_counter_says_so(clients: int) -> None:
    fleet = Fleet(clients, Bernoulli(1.0), initial=MAX_LEVEL, unit="nJ")
    ledger = Ledger(fleet, rounds=1, seed=0)

    with pytest.raises(LevelOverflow, match=f"a battery passed {MAX_LEVEL} nJ: give a capacity, or count in larger"):
        ledger.settle(0, places(0))


def test_one_infinite_battery_among_others_that_outgrows_its_counter_says_so() -> None:
    fleet = Fleet(3, Bernoulli(1.0), capacity=[1, math.inf, 5], initial=[1, MAX_LEVEL, 0])

    with pytest.raises(LevelOverflow, match=f"a battery passed {MAX_LEVEL} units"):
        Ledger(fleet, rounds=1, seed=0).settle(0, NOBODY)


def test_the_overflow_is_the_users_to_put_right_and_an_overflow_for_python() -> None:
    assert issubclass(LevelOverflow, UserError)
    assert issubclass(LevelOverflow, OverflowError)


def test_full_batteries_beside_infinite_ones_are_no_overflow() -> None:
    ledger = Ledger(Fleet(2, Bernoulli(1.0), capacity=[1, math.inf], initial=[1, 7]), rounds=1, seed=0)

    assert ledger.settle(0, NOBODY).wasted == 1
    assert ledger.energy.tolist() == [1, 8]


def test_an_infinite_battery_at_the_highest_level_has_not_passed_it() -> None:
    fleet = Fleet(2, Replay([[0, 1]]), capacity=[math.inf, 1], initial=[MAX_LEVEL, 1])

    assert Ledger(fleet, rounds=1, seed=0).settle(0, NOBODY).wasted == 1


@pytest.mark.parametrize("clients", [3, LARGE])
def test_a_harvest_too_large_to_count_is_refused(clients: int) -> None:
    fleet = Fleet(clients, Replay(np.full((1, clients), 2**32 + 1)), capacity=5)

    with pytest.raises(ValueError, match=rf"units must be in \[0, {MAX_LEVEL}\], got 4294967297"):
        Ledger(fleet, rounds=1, seed=0).settle(0, NOBODY)


@pytest.mark.parametrize("clients", [range(3, 3), range(9, 12), range(-1, 2), range(0, 4, 2), [1]])
def test_clients_that_are_not_the_fleets_are_refused(clients: Any) -> None:
    with pytest.raises(ValueError, match="clients must be a range of clients from 0 to 9, got"):
        Ledger(Fleet(10, Bernoulli(0.5)), rounds=1, seed=0, clients=clients)


def test_a_device_that_cannot_pay_keeps_its_level() -> None:
    device = Ledger(Fleet(1, Bernoulli(1.0), cost=2, initial=1), rounds=2, seed=0)

    assert device.settle(0, places(0)).unable == 0
    assert device.energy.tolist() == [1]
    assert device.totals() == EnergyTotals(initial=1, harvested=0, spent=0, stored=1, wasted=0, mains=0)


# put away and taken up again


@given(account=accounts(), mains_powered=st.booleans())
def test_an_account_that_is_put_away_after_every_round_is_the_one_that_went_through(
    account: Account, mains_powered: bool
) -> None:
    fleet, rounds = account.fleet(), len(account.wishes)
    for client in range(fleet.clients):
        own = range(client, client + 1)
        through = Ledger(fleet, rounds, account.seed, clients=own)
        kept = through.totals()
        for t, wishes in enumerate(account.wishes):
            again = Ledger(fleet, rounds, account.seed, clients=own, totals=kept)
            assert again.energy.tolist() == through.energy.tolist()
            able = mains_powered or through.energy[0] >= fleet.costs[min(client, fleet.costs.size - 1)]
            payer = places(0) if wishes[client] and able else NOBODY
            assert again.settle(t, payer, mains_powered=mains_powered) == through.settle(
                t, payer, mains_powered=mains_powered
            )
            kept = again.totals()
            assert kept == through.totals()


def test_a_taken_up_account_goes_on_from_its_balance() -> None:
    fleet = Fleet(2, Replay([[9, 9], [9, 9], [5, 1]]), capacity=[4, math.inf], cost=[2, 3])
    kept = EnergyTotals(initial=1, harvested=6, spent=2, stored=3, wasted=2, mains=8)
    device = Ledger(fleet, rounds=3, seed=0, clients=range(1), totals=kept)
    device.settle(2, places(0))

    # 3 - 2 + 5 = 6, of which 4 fit
    assert device.totals() == EnergyTotals(initial=1, harvested=11, spent=4, stored=4, wasted=4, mains=8)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"stored": 5, "harvested": 5}, "totals.stored must be at most the capacity 4, got 5"),
        ({"stored": 3}, "totals must be balanced: initial + harvested = spent + stored + wasted + lost, got 4 and 3"),
        ({"spent": -1, "harvested": 3}, "totals.spent must be a whole number >= 0, got -1"),
        ({"stored": 4.0}, "totals.stored must be a whole number >= 0, got 4.0"),
        ({"mains": True}, "totals.mains must be a whole number >= 0, got True"),
    ],
)
def test_a_balance_that_cannot_be_is_not_taken_up(changes: dict[str, Any], fault: str) -> None:
    kept = replace(EnergyTotals(initial=0, harvested=4, spent=0, stored=4, wasted=0, mains=0), **changes)

    with pytest.raises(ValueError, match=re.escape(fault)):
        Ledger(Fleet(1, Bernoulli(0.5), capacity=4), rounds=1, seed=0, totals=kept)


def test_an_infinite_battery_is_taken_up_below_the_highest_level_alone() -> None:
    fleet = Fleet(2, Bernoulli(0.5), capacity=[math.inf, 1])
    full, more = (EnergyTotals(level, 0, 0, level, 0, 0) for level in (MAX_LEVEL, MAX_LEVEL + 1))

    assert Ledger(fleet, rounds=1, seed=0, clients=range(1), totals=full).energy.tolist() == [MAX_LEVEL]
    with pytest.raises(
        ValueError, match=f"totals.stored must be at most the capacity {MAX_LEVEL}, got {MAX_LEVEL + 1}"
    ):
        Ledger(fleet, rounds=1, seed=0, clients=range(1), totals=more)


def test_totals_of_several_clients_are_not_taken_up() -> None:
    kept = EnergyTotals(0, 2, 0, 2, 0, 0)

    with pytest.raises(ValueError, match="totals must be left out, or those of a single client, got 3 clients"):
        Ledger(Fleet(3, Bernoulli(0.5)), rounds=1, seed=0, totals=kept)
