"""A node's account: what it has is what the fleet in one process has, and it pays once."""

from __future__ import annotations

import math
import subprocess
import sys
from dataclasses import astuple, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from accounts import RUN, account, kept
from ehfl.energy import Bernoulli, EnergyTotals, Fleet, Replay
from ehfl.flower.node.account import Account, CannotPay, Stale, Statement
from ehfl.flower.node.setup import with_own_harvest
from ehfl.scheduling import Play
from ehfl.validation import InvalidValue

pytestmark = pytest.mark.usefixtures("no_fsync")  # what is tested in this process would survive no power cut


# by hand


def test_rounds_are_settled_when_a_later_one_is_reached(tmp_path: Path) -> None:
    own = account(tmp_path)

    assert own.at(0) == Statement(1, EnergyTotals(1, 0, 0, stored=1, wasted=0, mains=0))
    assert own.at(1) == Statement(3, EnergyTotals(1, 2, 0, stored=3, wasted=0, mains=0))
    assert own.pay(1) == Statement(3, EnergyTotals(1, 2, 2, stored=1, wasted=0, mains=0))
    # dark in round 2; 1 + 0, then 1 + 5 of which 4 fit
    assert own.at(3) == Statement(4, EnergyTotals(1, 7, 2, stored=4, wasted=2, mains=0))
    assert own.pay(3, mains_powered=True) == Statement(4, EnergyTotals(1, 7, 2, stored=4, wasted=2, mains=2))
    assert own.at(4) == Statement(4, EnergyTotals(1, 8, 2, stored=4, wasted=3, mains=2))


def test_a_round_is_paid_once_however_often_it_is_asked(tmp_path: Path) -> None:
    first = account(tmp_path).pay(1)

    assert first.totals.spent == 2
    assert account(tmp_path).pay(1) == account(tmp_path).pay(1, mains_powered=True) == account(tmp_path).at(1) == first


def test_a_round_that_is_over_is_stale_and_nothing_changes(tmp_path: Path) -> None:
    account(tmp_path).at(2)
    before = kept(tmp_path)

    for ask in (account(tmp_path).at, account(tmp_path).pay):
        with pytest.raises(Stale) as caught:
            ask(1)
        assert str(caught.value) == "round 1 is over: the account of client 1 stands at round 2"
    assert kept(tmp_path) == before


def test_what_is_not_there_cannot_be_paid_and_nothing_changes(tmp_path: Path) -> None:
    account(tmp_path).at(0)
    before = kept(tmp_path)

    with pytest.raises(CannotPay) as caught:
        account(tmp_path).pay(0)

    assert str(caught.value) == "round 0 costs client 1 2 units, and it has 1"
    assert kept(tmp_path) == before
    assert account(tmp_path).pay(0, mains_powered=True).totals.mains == 2


def test_the_file_says_whose_it_is_and_what_is_there(tmp_path: Path) -> None:
    account(tmp_path / "state" / "node").pay(1)

    facts = kept(tmp_path / "state" / "node")
    assert len(facts.pop("sha256")) == 64
    assert facts == {
        "run": RUN, "client": 1, "seed": 7, "round": 1, "paid": True, "energy": 3,
        "totals": {"initial": 1, "harvested": 2, "spent": 2, "stored": 1, "wasted": 0, "mains": 0, "lost": 0},
    }  # fmt: skip


def test_runs_have_files_of_their_own(tmp_path: Path) -> None:
    account(tmp_path).pay(1)

    assert account(tmp_path, run="another1").at(1).totals.spent == 0
    assert account(tmp_path).at(1).totals.spent == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{RUN}.json", "another1.json"]


def test_a_trace_of_the_nodes_own_is_its_harvest_whichever_client_it_is(tmp_path: Path) -> None:
    (tmp_path / "sun.csv").write_text("harvest\n3\n0\n2\n")
    fleet = with_own_harvest(Fleet(3, Bernoulli(0.5), cost=[1, 1, 2]), f"replay:{tmp_path / 'sun.csv'}")
    node = Account(tmp_path / "state", RUN, fleet, 2, rounds=3, seed=0)

    assert [node.at(0).energy, node.pay(1).energy, node.at(2).energy, node.at(3).energy] == [0, 3, 1, 3]


def test_a_node_takes_its_own_column_of_a_trace_of_all(tmp_path: Path) -> None:
    fleet = with_own_harvest(Fleet(2, Bernoulli(0.5)), Replay([[1, 5], [2, 6]]))

    assert Account(tmp_path, RUN, fleet, 1, rounds=2, seed=0).at(2).energy == 11
    with pytest.raises(InvalidValue, match=r"arrivals must be one column per client \(3\), got 2 columns"):
        with_own_harvest(Fleet(3, Bernoulli(0.5)), Replay([[1, 5], [2, 6]]))


def test_a_trace_that_ends_before_the_run_is_refused_in_the_first_round(tmp_path: Path) -> None:
    fleet = with_own_harvest(Fleet(3, Bernoulli(0.5)), Replay([[1], [1]]))

    with pytest.raises(InvalidValue, match=r"rounds must be at most 2 \(as recorded\), got 9"):
        Account(tmp_path, RUN, fleet, 0, rounds=9, seed=0).at(0)
    assert list(tmp_path.iterdir()) == []


# the same as the fleet in one process


@pytest.mark.parametrize("scheduler", ["myopic", "greedy", "always-on:2", "round-robin"])
@pytest.mark.parametrize("capacity", [3, math.inf, [2, 4, math.inf, 9]])
def test_nodes_that_are_often_dark_have_what_the_fleet_in_one_process_has(
    tmp_path: Path, scheduler: str, capacity: Any
) -> None:
    rounds, seed = 25, 11
    fleet = Fleet(4, Bernoulli([0.2, 0.5, 0.9, 0.6]), capacity=capacity, initial=[0, 2, 1, 0], cost=[1, 2, 1, 2])
    nodes = [Account(tmp_path / str(client), RUN, fleet, client, rounds, seed) for client in range(4)]
    awake = np.random.default_rng(0).random((rounds, 4)) < 0.5
    played, levels = Play(fleet, scheduler, rounds, seed), fleet.start()
    for now in played:
        for client in np.flatnonzero(awake[now.index]):
            assert nodes[client].at(now.index).energy == levels[client]
        for client in now.clients:
            assert nodes[client].pay(now.index, mains_powered=scheduler == "always-on:2").energy == levels[client]
        levels = now.energy_after.copy()

    ends = [node.at(rounds) for node in nodes]
    assert [end.energy for end in ends] == levels.tolist()
    assert tuple(np.sum([astuple(end.totals) for end in ends], axis=0)) == astuple(played.ledger.totals())


# against a plain model


@dataclass
class Plain:
    """An account in whole numbers, without a disk."""

    arrivals: list[int]
    capacity: float
    cost: int
    level: int
    round: int = 0
    paid: int | None = None  # what was taken from the battery for this round; None: it was not paid
    sums: dict[str, int] = field(default_factory=lambda: {"harvested": 0, "spent": 0, "wasted": 0, "mains": 0})

    def ask(self, kind: str, t: int) -> Any:
        if t < self.round:
            return Stale
        for missed in range(self.round, t):
            had = self.level - (self.paid or 0) + self.arrivals[missed]
            self.level, self.paid = int(min(had, self.capacity)), None
            self.sums["harvested"] += self.arrivals[missed]
            self.sums["wasted"] += had - self.level
            self.round = missed + 1
        if kind != "at" and self.paid is None:
            if kind == "pay" and self.level < self.cost:
                return CannotPay
            self.paid = self.cost if kind == "pay" else 0
            self.sums["spent" if kind == "pay" else "mains"] += self.cost
        return self.level, self.level - (self.paid or 0), dict(self.sums)


Step = tuple[str, int, bool]  # what is asked, how far from the last round, whether by a new process


@given(
    arrivals=st.lists(st.integers(0, 4), min_size=8, max_size=8),
    capacity=st.sampled_from([0, 1, 5, math.inf]),
    cost=st.integers(1, 3),
    steps=st.lists(
        st.tuples(st.sampled_from(["at", "pay", "mains"]), st.sampled_from([-1, 0, 0, 1, 1, 3]), st.booleans())
    ),
)
@settings(max_examples=150)
def test_whatever_is_asked_in_whatever_order_the_answer_is_the_plain_models(
    arrivals: list[int], capacity: float, cost: int, steps: list[Step]
) -> None:
    fleet = Fleet(1, Replay([[units] for units in arrivals]), capacity=capacity, cost=cost)
    plain = Plain(arrivals, capacity, cost, level=0)
    with TemporaryDirectory() as folder:
        node = Account(Path(folder), RUN, fleet, 0, 8, 0)
        for kind, forward, restarted in steps:
            node = Account(Path(folder), RUN, fleet, 0, 8, 0) if restarted else node
            t = min(max(plain.round + forward, 0), 8 if kind == "at" else 7)
            assert answer(node, kind, t) == plain.ask(kind, t)


def answer(node: Account, kind: str, t: int) -> Any:
    try:
        said = node.at(t) if kind == "at" else node.pay(t, mains_powered=kind == "mains")
    except (Stale, CannotPay) as error:
        return type(error)
    said.totals.check()
    sums = {name: getattr(said.totals, name) for name in ("harvested", "spent", "wasted", "mains")}
    return said.energy, said.totals.stored, sums


def test_a_query_needs_no_heavy_library() -> None:
    heavy = ["torch", "flwr", "numba", "psutil", "pydantic", "scipy", "ehfl.learning", "ehfl.scheduling"]
    rooms = "ehfl.flower.node.account, ehfl.flower.node.meters"
    check = f"import {rooms}, sys; print([m for m in {heavy} if m in sys.modules])"

    out = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)

    assert out.stdout == "[]\n"
