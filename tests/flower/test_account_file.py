"""The file of an account: refused unless it is what was written, and no kill makes a difference."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from accounts import RUN, account, kept
from ehfl.flower.node import account as account_file
from ehfl.runs import InUse, sole_use
from ehfl.validation import InvalidValue, UserError
from waiting import Start

SCRIPT = Path(__file__).with_name("killed_account.py")
pytestmark = pytest.mark.usefixtures("no_fsync")  # what is tested in this process would survive no power cut


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


def test_a_full_disk_names_the_file_and_leaves_it_as_it_was(tmp_path: Path) -> None:
    account(tmp_path).at(1)
    before = kept(tmp_path)

    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10, limits[1]))
    try:
        with pytest.raises(OSError, match="File too large") as caught:
            account(tmp_path).pay(1)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
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


def test_processes_that_pay_at_once_are_charged_once(tmp_path: Path, start_process: Start) -> None:
    command = [sys.executable, str(SCRIPT), "race", str(tmp_path)]
    racers = [start_process(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(3)]
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
