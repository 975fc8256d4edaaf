"""An account whose energy is read from the device: the balance holds whatever the meter reads."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from accounts import RUN, kept
from ehfl.energy import Bernoulli, EnergyTotals, Fleet
from ehfl.energy.ledger import LevelOverflow
from ehfl.flower.node.account import Account, CannotPay, Statement
from ehfl.validation import InvalidValue, UserError

pytestmark = pytest.mark.usefixtures("no_fsync")  # what is tested in this process would survive no power cut


@dataclass
class Dial:
    """A meter that is set by hand."""

    reading: Any

    def joules(self) -> float:
        if isinstance(self.reading, Exception):
            raise self.reading
        return float(self.reading)


def metered(folder: Path, dial: Any, **changes: Any) -> Account:
    fleet: dict[str, Any] = {"capacity": 9000, "cost": 500, "unit": "mJ"} | changes
    return Account(folder, RUN, Fleet(1, Bernoulli(0.5), **fleet), 0, 9, 0, meter=dial)


def test_a_meter_stands_in_the_place_of_the_weather(tmp_path: Path) -> None:
    dial = Dial(2.0005)
    node = metered(tmp_path, dial)

    assert node.at(3) == Statement(
        2000, EnergyTotals(initial=2000, harvested=0, spent=0, stored=2000, wasted=0, mains=0)
    )
    dial.reading = 2.3  # read again when it pays
    assert node.pay(3) == Statement(2300, EnergyTotals(2000, 300, 500, stored=1800, wasted=0, mains=0))
    dial.reading = 0.1  # while it trains nobody looks
    assert node.pay(3) == node.at(3) == Statement(2300, EnergyTotals(2000, 300, 500, 1800, 0, 0))
    dial.reading = 1.5  # 300 less than the payment explains
    assert node.at(4) == Statement(1500, EnergyTotals(2000, 300, 500, stored=1500, wasted=300, mains=0))
    dial.reading = 1000  # more than the battery is said to hold
    assert node.at(7) == Statement(9000, EnergyTotals(2000, 7800, 500, stored=9000, wasted=300, mains=0))
    assert node.pay(7, mains_powered=True).totals == EnergyTotals(2000, 7800, 500, 9000, 300, mains=500)


def test_a_battery_that_emptied_since_it_was_asked_cannot_pay_and_nothing_changes(tmp_path: Path) -> None:
    dial = Dial(0.6)
    metered(tmp_path, dial).at(0)
    before = kept(tmp_path)
    dial.reading = 0.499

    with pytest.raises(CannotPay, match="round 0 costs client 0 500 mJ, and it has 499"):
        metered(tmp_path, dial).pay(0)
    assert kept(tmp_path) == before


@given(st.lists(st.tuples(st.integers(0, 30), st.sampled_from([0, 1, 4]), st.booleans()), min_size=1, max_size=9))
def test_whatever_a_meter_reads_the_balance_holds(looks: list[tuple[int, int, bool]]) -> None:
    dial, t, payments = Dial(0), 0, set[int]()
    fleet = Fleet(1, Bernoulli(0.5), capacity=20, cost=3, unit="J")
    with TemporaryDirectory() as folder:
        for reading, forward, pays in looks:
            dial.reading, t = reading, min(t + forward, 8)
            node = Account(Path(folder), RUN, fleet, 0, 9, 0, meter=dial)
            said = node.at(t)
            if t not in payments:
                assert said.energy == min(reading, 20)
            if pays and (t in payments or said.energy >= 3):
                payments.add(t)
                said = node.pay(t)
            said.totals.check()
            assert said.totals.spent == 3 * len(payments)


def test_a_meter_that_cannot_be_read_leaves_the_account_as_it_was(tmp_path: Path) -> None:
    metered(tmp_path, Dial(1)).at(0)
    before = kept(tmp_path)

    with pytest.raises(UserError, match=r"Dial fails: OSError: no such sensor \(test_metered_account.py:\d+\)"):
        metered(tmp_path, Dial(OSError("no such sensor"))).at(1)
    assert kept(tmp_path) == before


def test_a_meter_is_of_no_use_where_units_are_no_joules(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"fleet.unit must be one of J, mJ, .* where a meter is read, got units"):
        metered(tmp_path, Dial(1), unit="units")


def test_an_endless_battery_has_no_more_than_can_be_counted(tmp_path: Path) -> None:
    with pytest.raises(LevelOverflow, match="the meter reads more than 1073741823 mJ: give a capacity, or count"):
        metered(tmp_path, Dial(1e300), capacity=math.inf).at(0)
