"""Batteries that lose energy: values worked by hand, the balance, compiled beside plain, and drift."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ehfl.energy import Bernoulli, Fleet, Ledger
from ehfl.energy.battery import MAX_LEVEL, Place, Rounded, Storage, offsets, settle, settle_plain
from ehfl.randomness import TILE

LARGE = 2 * TILE + 77  # two whole tiles and a part of one: compiled


def as_levels(*levels: int) -> NDArray[np.int32]:
    return np.array(levels, dtype=np.int32)


def losses(efficiency: float = 1.0, leak: float = 0.0, drain: float = 0.0) -> Storage:
    return Storage.given(1, efficiency, leak, drain)


def test_whole_losses_are_taken_as_they_are() -> None:
    energy, storage = as_levels(100, 40, 3), losses(efficiency=0.5, leak=0.25, drain=2)
    settled = settle(
        energy, as_levels(0), as_levels(20), np.array([10, 8, 4]), as_levels(60), storage, Place(0, range(3))
    )

    # 80 left, 22 leak, 5 charged: 60 of 63; 40 - 12 + 4; 3 - 3 (of 2.75 + u, at most what is there) + 2
    assert energy.tolist()[:2] == [60, 32]
    assert energy[2] in (2, 3)
    assert settled.harvested == 22
    assert settled.wasted == 3
    assert 20 + energy.sum() + settled.wasted + settled.lost == 143 + 22


def test_a_battery_never_leaks_more_than_it_holds() -> None:
    energy = as_levels(0, 1, 5)
    settled = settle(energy, as_levels()[:0], as_levels(1), np.zeros(3, np.uint8), as_levels(9), losses(drain=50),
                           Place(3, range(3)))  # fmt: skip

    assert energy.tolist() == [0, 0, 0]
    assert settled.lost == 6


def test_without_losses_it_is_the_papers_battery() -> None:
    rng = np.random.default_rng(0)
    energy = rng.integers(1, 9, 50).astype(np.int32)
    units, clients = rng.integers(0, 4, 50).astype(np.uint8), as_levels(*range(0, 50, 3))
    lossy, plain = energy.copy(), energy.copy()

    found = settle(lossy, clients, as_levels(1), units, as_levels(9), losses(), Place(7, range(50)))
    expected = settle_plain(plain, clients, as_levels(1), units, as_levels(9))

    assert lossy.tolist() == plain.tolist()
    assert found == expected


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("kind", [np.uint8, np.int32])
def test_compiled_losses_are_the_plain_ones(each: bool, kind: type) -> None:
    rng = np.random.default_rng(5)
    size = LARGE if each else 1
    storage = Storage.given(LARGE, *(rng.uniform(low, high, size) if each else (low + high) / 2
                                  for low, high in ((0.5, 1), (0, 0.01), (0, 3))))  # fmt: skip
    energy = rng.integers(40, MAX_LEVEL // 2, LARGE).astype(np.int32)
    units: NDArray[Any] = rng.integers(0, 200, LARGE).astype(kind)
    costs, tops = (rng.integers(low, high, size).astype(np.int32) for low, high in ((1, 40), (50, MAX_LEVEL)))
    clients, at = np.flatnonzero(rng.random(LARGE) < 0.3).astype(np.int32), Place(11, range(TILE, TILE + LARGE))
    compiled, plain = energy.copy(), energy.copy()
    tops = np.maximum(tops, energy) if each else as_levels(MAX_LEVEL)

    found = settle(compiled, clients, costs, units, tops, storage, at)
    expected = settle_plain(plain, clients, costs, units, tops, storage, at)

    assert np.array_equal(compiled, plain)
    assert found == expected


@pytest.mark.parametrize("clients", [8, LARGE])
def test_a_client_that_cannot_pay_is_named(clients: int) -> None:
    energy = np.full(clients, 2, dtype=np.int32)
    energy[5] = 1
    settled = settle(energy, as_levels(3, 5, 7), as_levels(2), np.ones(clients, np.uint8), as_levels(9),
                           losses(leak=0.1), Place(0, range(clients)))  # fmt: skip

    assert (settled.unable, settled.held) == (5, 1)


@given(
    st.integers(1, 12),
    st.floats(0.01, 1),
    st.floats(0, 0.5),
    st.floats(0, 20),
    st.sampled_from([5, 37, 1000]),
    st.integers(0, 2**64 - 1),
)
@settings(max_examples=60, deadline=None)
def test_every_quantum_is_accounted_for(
    clients: int, efficiency: float, leak: float, drain: float, capacity: int, seed: int
) -> None:
    fleet = Fleet(clients, Bernoulli(0.7), capacity=capacity, efficiency=efficiency, leak=leak, drain=drain)
    ledger = Ledger(fleet, rounds=30, seed=seed)
    for t in range(30):
        ledger.settle(t, np.flatnonzero(ledger.energy >= 1).astype(np.int32)[t % 2 :])

    ledger.totals().check()
    assert ledger.energy.min() >= 0
    assert ledger.energy.max() <= capacity


def test_a_device_comes_to_the_level_that_the_fleet_has_for_it() -> None:
    fleet = Fleet(3, Bernoulli(0.9), capacity=50, initial=30, efficiency=[0.5, 0.7, 0.9], leak=0.03, drain=0.4)
    whole, last = Ledger(fleet, 20, seed=4), Ledger(fleet, 20, seed=4, clients=range(2, 3))
    for t in range(20):
        whole.settle(t, as_levels(2) if t % 3 == 0 else as_levels()[:0])
        last.settle(t, as_levels(0) if t % 3 == 0 else as_levels()[:0])

    assert whole.energy[2] == last.energy[0]


@pytest.mark.parametrize("share", [0.001, 0.1, 1 / 3, 0.5, 0.77, 0.999])
def test_rounding_does_not_drift(share: float) -> None:
    """For a constant amount the sum is off by the discrepancy of the Weyl sequence: at most 3 + log2 T."""
    rounds = 100_000
    sums = np.cumsum(np.floor(share + offsets(Rounded.LEAK, range(rounds), range(3))), axis=0)
    exact = share * np.arange(1, rounds + 1)[:, None]

    assert np.abs(sums - exact).max() <= 3 + np.log2(rounds)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"efficiency": 0}, "efficiency must be in (0, 1], got 0"),
        ({"efficiency": [1, 2]}, "efficiency must be in (0, 1], got 2 for client 1"),
        ({"leak": 1.0}, "leak must be in [0, 1), got 1"),
        ({"drain": -1}, "drain must be in [0, 1e9], got -1"),
        ({"drain": "much"}, "drain must be in [0, 1e9], got 'much'"),
    ],
)
def test_losses_that_cannot_be_are_refused(changes: dict[str, Any], fault: str) -> None:
    with pytest.raises(ValueError) as error:
        Fleet(2, Bernoulli(0.5), **changes)
    assert str(error.value).startswith(fault.removesuffix("got 0"))
