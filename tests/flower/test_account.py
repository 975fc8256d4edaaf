"""A node's account: what it has is what the fleet in one process has, it pays once, and no kill makes a difference."""

from __future__ import annotations

import errno
import json
import math
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import astuple, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehfl.energy import Bernoulli, EnergyTotals, Fleet, Replay
from ehfl.energy.ledger import LevelOverflow
from ehfl.files import InUse, sole_use
from ehfl.flower import account_file
from ehfl.flower.account import Account, CannotPay, Stale, Statement
from ehfl.flower.traces import with_own_harvest
from ehfl.scheduling import play
from ehfl.validation import InvalidValue, UserError

RUN = "0123abcd"
SCRIPT = Path(__file__).with_name("killed_account.py")


@pytest.fixture(autouse=True)
def no_waiting_for_the_disk(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is tested in this process would survive no power cut, and is quick; processes that are killed sync."""
    monkeypatch.setattr(os, "fsync", lambda handle: None)


def account(folder: Path, **changes: Any) -> Account:
    fleet = Fleet(2, Replay([[9, 2], [9, 0], [9, 5], [9, 1]]), capacity=[99, 4], initial=[0, 1], cost=[1, 2])
    given: dict[str, Any] = {"run": RUN, "fleet": fleet, "client": 1, "rounds": 4, "seed": 7} | changes
    return Account(folder, **given)


def kept(folder: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((folder / f"{RUN}.json").read_text())
    return facts


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
        "totals": {"initial": 1, "harvested": 2, "spent": 2, "stored": 1, "wasted": 0, "mains": 0},
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
    played, levels = play(fleet, scheduler, rounds, seed), fleet.start()
    while True:
        try:
            now = next(played)
        except StopIteration as end:
            whole = end.value.totals()
            break
        for client in np.flatnonzero(awake[now.index]):
            assert nodes[client].at(now.index).energy == levels[client]
        for client in now.clients:
            assert nodes[client].pay(now.index, mains_powered=scheduler == "always-on:2").energy == levels[client]
        levels = now.energy_after.copy()

    ends = [node.at(rounds) for node in nodes]
    assert [end.energy for end in ends] == levels.tolist()
    assert tuple(np.sum([astuple(end.totals) for end in ends], axis=0)) == astuple(whole)


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


# with a meter


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

    with pytest.raises(UserError, match=r"Dial fails: OSError: no such sensor \(test_account.py:\d+\)"):
        metered(tmp_path, Dial(OSError("no such sensor"))).at(1)
    assert kept(tmp_path) == before


def test_a_meter_is_of_no_use_where_units_are_no_joules(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=r"fleet.unit must be one of J, mJ, .* where a meter is read, got units"):
        metered(tmp_path, Dial(1), unit="units")


def test_an_endless_battery_has_no_more_than_can_be_counted(tmp_path: Path) -> None:
    with pytest.raises(LevelOverflow, match="the meter reads more than 1073741823 mJ: give a capacity, or count"):
        metered(tmp_path, Dial(1e300), capacity=math.inf).at(0)


# bad arguments and bad files


@pytest.mark.parametrize(
    "run", ["", "short", "UPPER123", "../../etc", "a" * 65, "with space", "0123abcd\n", "ümlaut12", 12345678, None]
)
def test_a_token_that_could_name_another_file_is_refused(tmp_path: Path, run: Any) -> None:
    with pytest.raises(InvalidValue, match="run must be a token of 8 to 64 digits and small letters, got "):
        account(tmp_path, run=run)


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"client": 2}, r"client must be a whole number in \[0, 1\], got 2"),
        ({"rounds": 0}, r"rounds must be a whole number in \[1, "),
        ({"seed": -1}, "seed must be "),
        ({"fleet": 3}, "fleet must be of the kind Fleet, got 3"),
        ({"meter": "barometer"}, "meter must be one of battery, file, command or package.module:Class, got barometer"),
    ],
)
def test_an_account_that_cannot_be_is_refused(tmp_path: Path, changes: dict[str, Any], fault: str) -> None:
    with pytest.raises(InvalidValue, match=fault):
        account(tmp_path, **changes)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("t", [-1, 5, 1.0, True])
def test_a_round_that_the_run_does_not_have_is_refused(tmp_path: Path, t: Any) -> None:
    with pytest.raises(InvalidValue, match=r"t must be a whole number in \[0, 4\], got"):
        account(tmp_path).at(t)
    with pytest.raises(InvalidValue, match=r"t must be a whole number in \[0, 3\], got 4"):
        account(tmp_path).pay(4)


@pytest.mark.parametrize(
    ("changes", "whose"),
    [({"client": 0}, "client 1, not to client 0"), ({"seed": 8}, "seed 7, not to seed 8")],
)
def test_the_file_of_another_client_or_seed_is_refused(tmp_path: Path, changes: dict[str, Any], whose: str) -> None:
    account(tmp_path).pay(1)
    before = kept(tmp_path)

    with pytest.raises(UserError) as caught:
        account(tmp_path, **changes).at(2)
    path = tmp_path / f"{RUN}.json"
    assert str(caught.value) == f"{path} belongs to {whose}: give every node a state folder of its own"
    assert kept(tmp_path) == before


def test_a_file_that_was_renamed_is_refused(tmp_path: Path) -> None:
    account(tmp_path).pay(1)
    (tmp_path / f"{RUN}.json").rename(tmp_path / "another1.json")

    with pytest.raises(UserError, match=f"belongs to run {RUN}, not to run another1"):
        account(tmp_path, run="another1").at(2)


DAMAGES: dict[str, Callable[[str], str]] = {
    "empty": lambda text: "",
    "cut": lambda text: text[: len(text) // 2],
    "number": lambda text: text.replace('"spent": 2', '"spent": 0'),
    "mark": lambda text: text.replace('"paid": true', '"paid": false'),
    "no digest": lambda text: "{}",
    "no facts": lambda text: "[1]",
    "no text": lambda text: "\udcff\x00",
    "said twice": lambda text: text.replace("{", '{"round": 1,', 1),
}


@pytest.mark.parametrize("kind", DAMAGES)
def test_a_damaged_file_is_refused_and_never_begun_anew(tmp_path: Path, kind: str) -> None:
    account(tmp_path).pay(1)
    path = tmp_path / f"{RUN}.json"
    path.write_text(DAMAGES[kind](path.read_text()), encoding="utf-8", errors="surrogateescape")
    before = path.read_bytes()

    for ask in (account(tmp_path).at, account(tmp_path).pay):
        with pytest.raises(UserError) as caught:
            ask(2)
        message = str(caught.value)
        assert message.startswith(f"{path} is damaged (")
        assert message.endswith("): put a copy back, or delete it to begin this client's account of the run anew")
        assert "\n" not in message
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    "changes",
    [{"totals": {}}, {"totals": None}, {"round": -1}, {"round": "1"}, {"paid": 1}, {"energy": 0}, {"energy": None}],
)
def test_facts_that_cannot_be_are_refused_whatever_their_digest_says(tmp_path: Path, changes: dict[str, Any]) -> None:
    account(tmp_path).pay(1)
    facts = kept(tmp_path) | changes
    facts.pop("sha256")
    sealed = facts | {"sha256": account_file._digest(facts)}
    (tmp_path / f"{RUN}.json").write_text(json.dumps(sealed))

    with pytest.raises(UserError, match="is damaged"):
        account(tmp_path).at(2)


def test_a_folder_in_the_place_of_the_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / f"{RUN}.json").mkdir()

    with pytest.raises(UserError, match=r"cannot be read \(Is a directory\): put a copy back"):
        account(tmp_path).at(0)


def test_whatever_bit_of_the_file_flips_no_other_balance_is_believed(tmp_path: Path) -> None:
    paid = account(tmp_path).pay(1)
    path = tmp_path / f"{RUN}.json"
    whole = path.read_bytes()
    for place in range(len(whole)):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 1 << place % 8]) + whole[place + 1 :])
        try:
            assert account(tmp_path).at(1) == paid  # a blank became another one
        except UserError as error:
            assert str(error).startswith(f"{path} is damaged (")


def test_a_full_disk_names_the_file_and_leaves_it_as_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    account(tmp_path).at(1)
    before = kept(tmp_path)

    def full(path: Path, content: bytes) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(OSError, match="No space left on device") as caught:
        account(tmp_path).pay(1)
    assert caught.value.filename == str(tmp_path / f"{RUN}.json")
    assert kept(tmp_path) == before
    assert len(list(tmp_path.iterdir())) == 1


# several processes, and killed ones


def test_a_process_that_never_ends_is_not_waited_for_without_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(account_file, "_PATIENCE_SECONDS", 0.1)

    with sole_use(tmp_path), pytest.raises(InUse, match="is in use by another process"):
        account(tmp_path).pay(1)


def test_processes_that_pay_at_once_are_charged_once(tmp_path: Path) -> None:
    command = [sys.executable, str(SCRIPT), "race", str(tmp_path)]
    racers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.close()
    for racer in racers:
        with racer:
            assert racer.wait(timeout=60) == 0

    facts = kept(tmp_path)
    assert (facts["round"], facts["totals"]["spent"]) == (10, 10)


def test_killed_at_every_instant_an_account_has_the_old_standing_or_the_new_one(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "sweep", str(tmp_path)], capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr
    # 4 answers of `at` and 2 payments; each write can be killed before it, half way through, and before its file, its
    # name and its folder are on the disk
    assert json.loads(done.stdout) == {"instants": (4 + 2) * 5, "different": []}


def test_a_query_needs_no_heavy_library() -> None:
    heavy = ["torch", "flwr", "numba", "psutil", "pydantic", "scipy", "ehfl.learning", "ehfl.scheduling"]
    rooms = "ehfl.flower.account, ehfl.flower.meters, ehfl.flower.traces"
    check = f"import {rooms}, sys; print([m for m in {heavy} if m in sys.modules])"

    out = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)

    assert out.stdout == "[]\n"
