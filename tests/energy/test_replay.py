"""Replay: given arrivals, from Python or from a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ehfl.energy import HARVESTS, Fleet, Replay
from ehfl.scheduling import Greedy, simulate


def rows_of(harvest: Replay) -> list[list[int]]:
    rounds, clients = harvest._units.shape
    rows: list[list[int]] = harvest.units(0, range(rounds), range(clients)).tolist()
    return rows


def written(folder: Path, text: str, name: str = "arrivals.csv") -> Path:
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


# from Python


def test_replay_gives_back_what_it_was_given() -> None:
    harvest = Replay([[1, 0, 3], [0, 2, 0]])

    assert harvest.units(99, range(2), range(3)).tolist() == [[1, 0, 3], [0, 2, 0]]
    assert harvest.units(0, range(1, 2), range(1, 3)).tolist() == [[2, 0]]
    assert harvest.mean_rates(3).tolist() == [0.5, 1.0, 1.5]


def test_replay_keeps_a_copy_of_its_own() -> None:
    given_arrivals = np.array([[1, 1]])
    harvest = Replay(given_arrivals)
    given_arrivals[:] = 7

    assert harvest.units(0, range(1), range(2)).tolist() == [[1, 1]]


@pytest.mark.parametrize(
    ("arrivals", "message"),
    [
        ([[1, -1]], "arrivals must be at least 0, got -1"),
        ([[0.5, 1.0]], "arrivals must be whole numbers, got an array of float64"),
        ([[True, False]], "arrivals must be whole numbers, got an array of bool"),
        ([[1, 0], [1]], "arrivals must be rows of equal length, one a round, got rows that differ"),
        ([1, 0], r"arrivals must be of shape \(n_rounds, n_clients\), got shape \(2,\)"),
        ([[]], r"arrivals must be of shape \(n_rounds, n_clients\), got shape \(1, 0\)"),
        (5, r"arrivals must be of shape \(n_rounds, n_clients\), got shape \(\)"),
    ],
)
def test_replay_refuses_what_cannot_have_arrived(arrivals: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Replay(arrivals)


def test_replay_refuses_more_rounds_than_it_has_and_says_how_many_were_asked_for() -> None:
    fleet = Fleet(clients=10, harvest=Replay(np.ones((5, 10), dtype=int)))

    with pytest.raises(ValueError, match=r"rounds must be at most 5 \(as recorded\), got 1000"):
        simulate(fleet, Greedy(), rounds=1000)


# from a file


@pytest.mark.parametrize(
    "text",
    [
        "1,0,3\n0,2,0\n",
        "1, 0, 3\n0, 2, 0",  # no line's end
        "1 0 3\n0\t2 0\n",
        "1.0,0.0,3.0\n0,2e0,0\n",  # as spreadsheets and NumPy write whole numbers
        "roof,window,attic\n1,0,3\n0,2,0\n",
        "# recorded in May\nclient 0,client 1,client 2\n1,0,3  # sunny\n\n0,2,0\n",
        "\ufeffroof,window,attic\r\n1,0,3\r\n0,2,0\r\n",  # as a spreadsheet of Windows writes it
    ],
)
def test_a_text_file_has_a_row_a_round_and_a_column_a_client(tmp_path: Path, text: str) -> None:
    assert rows_of(Replay(written(tmp_path, text))) == [[1, 0, 3], [0, 2, 0]]


@pytest.mark.parametrize("kind", [np.uint8, np.int64, np.float64])
def test_a_file_of_numpys_is_read_too(tmp_path: Path, kind: type[np.generic]) -> None:
    np.save(tmp_path / "arrivals.npy", np.array([[1, 0, 3], [0, 2, 0]]).astype(kind))

    assert rows_of(Replay(tmp_path / "arrivals.npy")) == [[1, 0, 3], [0, 2, 0]]


def test_a_file_may_be_named_by_a_text(tmp_path: Path) -> None:
    path = written(tmp_path, "1,0\n")

    assert rows_of(Replay(str(path))) == [[1, 0]]
    assert repr(Replay(str(path))) == "Replay(1 rounds, 2 clients)"


def test_a_file_is_found_in_the_folder_of_the_spec_that_names_it(tmp_path: Path) -> None:
    path = written(tmp_path, "1,0\n0,1\n")
    table = HARVESTS.table("replay:arrivals.csv", folder=tmp_path)

    assert table == {"name": "replay", "arrivals": str(path.resolve())}
    made = HARVESTS.make(table)
    assert isinstance(made, Replay)
    assert rows_of(made) == [[1, 0], [0, 1]]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,0\n0\n", r"arrivals must be a readable file of numbers.*, got .*arrivals\.csv \("),
        ("1,0\n0,x\n", r"arrivals\.csv \(could not convert string to float: 'x'\)"),
        ("roof,window\n", r"arrivals\.csv \(could not convert string to float: 'roof'\)"),
        ("", r"arrivals\.csv \(no numbers\)"),
        ("# nothing yet\n\n", r"arrivals\.csv \(no numbers\)"),
        ("1,-2\n", "arrivals must be at least 0, got -2"),
        ("1,0.5\n", "arrivals must be whole numbers, got an array of float64"),
        ("1,nan\n", "arrivals must be whole numbers, got an array of float64"),
        ("1,inf\n", "arrivals must be whole numbers, got an array of float64"),
    ],
)
def test_a_file_of_what_cannot_have_arrived_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Replay(written(tmp_path, text))


def test_a_file_with_a_number_for_each_round_alone_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "flat.npy", np.array([1, 0, 1]))

    with pytest.raises(ValueError, match=r"arrivals must be of shape \(n_rounds, n_clients\), got shape \(3,\)"):
        Replay(tmp_path / "flat.npy")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"arrivals must be .*, got .*absent\.csv \(No such file or directory\)"):
        Replay(tmp_path / "absent.csv")


def test_a_number_too_large_to_count_is_refused_as_such(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"arrivals must be .*, got .*1e\+19"):
        Replay(written(tmp_path, "1e19,0\n"))


def test_an_empty_cell_is_not_passed_over(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="arrivals must be"):
        Replay(written(tmp_path, "1,,3\n,5,6\n"))
