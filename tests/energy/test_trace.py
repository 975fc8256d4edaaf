"""Traces as a harvest: nothing is lost, whatever the rounds; clients differ where they shall."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehfl.energy.traces.reader import DAY, Cumulated
from ehfl.energy.traces.trace import Trace
from ehfl.validation import InvalidValue

powers = st.floats(0, 1e3, allow_subnormal=False)


def made(folder: Path, power: Any, step: float = 3600.0, **options: Any) -> Trace:
    """Write rows of power, (n_rows, n_columns), and play them."""
    rows = np.atleast_2d(np.asarray(power, dtype=float).T).T
    heading = "time," + ",".join(f"site {place}" for place in range(rows.shape[1]))
    lines = [",".join([repr(k * step), *map(repr, row.tolist())]) for k, row in enumerate(rows)]
    path = folder / "trace.csv"
    path.write_text("\n".join([heading, *lines, ""]), encoding="utf-8")
    return Trace(path, **options)


def test_a_round_has_the_mean_power_of_the_rows_that_it_covers(tmp_path: Path) -> None:
    trace = made(tmp_path, [[1, 0], [3, 2], [5, 4]], step=10)

    assert trace.watts(0, range(3), range(2), 10).tolist() == [[1, 0], [3, 2], [5, 4]]
    assert trace.watts(0, range(2), range(2), 15).tolist() == [[5 / 3, 2 / 3], [13 / 3, 10 / 3]]
    assert trace.watts(0, range(4), range(1), 5).ravel().tolist() == [1, 1, 3, 3]
    assert trace.mean_watts(3).tolist() == [3, 2, 3]  # the third client has the first column again


def test_after_its_end_it_begins_again_or_is_refused(tmp_path: Path) -> None:
    trace = made(tmp_path, [1, 3, 5], step=10)

    assert trace.watts(0, range(6), range(1), 10).ravel().tolist() == [1, 3, 5, 1, 3, 5]
    assert trace.watts(0, range(1), range(1), 75).ravel() == pytest.approx([(2 * 90 + 10 + 15) / 75])
    once = made(tmp_path, [1, 3, 5], step=10, beyond="refuse")
    assert once.watts(0, range(2), range(1), 15).size == 2
    with pytest.raises(InvalidValue, match=r"rounds must be at most 2 of 15 s: the record ends there, .* got 3"):
        once.watts(0, range(2, 3), range(1), 15)


@settings(max_examples=60, deadline=None)
@given(
    watts=st.lists(powers, min_size=2, max_size=20),
    steps=st.data(),
    round_length=st.floats(0.05, 300),
    first=st.integers(0, 10**6),
)
def test_rounds_of_any_length_add_up_to_the_energy_of_the_record(
    watts: list[float], steps: Any, round_length: float, first: int
) -> None:
    """A sum of m rounds telescopes; each difference of E errs by some 1e-16 of the record's energy."""
    lengths = steps.draw(st.lists(st.floats(0.5, 20), min_size=len(watts), max_size=len(watts)))
    times = np.concatenate([[0.0], np.cumsum(lengths)])
    energy = Cumulated.of(times, np.array(watts)[:, None])
    rounds = int(np.ceil(2 * times[-1] / round_length))
    edges = np.arange(first, first + rounds + 1) * round_length

    together = energy.between(edges, np.array([0])).sum()
    at_once = energy.between(edges[[0, -1]], np.array([0])).sum()

    late = edges[-1] * 2e-16 * 4 * max(watts)  # the ends of late rounds are known to a bit of their time
    assert together == pytest.approx(at_once, rel=1e-9, abs=1e-9 + rounds * late)


def test_whole_records_add_up_whatever_the_round(tmp_path: Path) -> None:
    watts = np.abs(np.sin(np.arange(500) * 0.37))[:, None] * [1.0, 0.2]
    trace = made(tmp_path, watts, step=7)

    for rounds in (1, 3, 10, 499, 500, 501, 4096):
        length = trace.record.duration / rounds
        energy = trace.watts(0, range(rounds), range(2), length).sum(axis=0) * length
        assert energy == pytest.approx(watts.sum(axis=0) * 7, rel=1e-12)


@pytest.mark.parametrize("shift", ["none", "even", "random", "days"])
def test_any_part_computed_alone_is_that_part_of_the_whole(shift: str, tmp_path: Path) -> None:
    trace = made(tmp_path, np.random.default_rng(0).random((73, 3)), shift=shift)
    whole = trace.watts(5, range(300), range(20), 1234.5)

    for rounds, clients in ((range(7, 9), range(3, 17)), (range(299, 0, -13), range(19, 2, -4)), (range(0), range(4))):
        assert np.array_equal(trace.watts(5, rounds, clients, 1234.5), whole[np.ix_(rounds, clients)])
    assert whole.min() >= 0
    assert np.array_equal(trace.watts(6, range(300), range(20), 1234.5), whole) == (shift in ("none", "even"))


def test_shifts_move_clients_along_the_record(tmp_path: Path) -> None:
    watts = np.random.default_rng(1).random((72, 2))
    plain = made(tmp_path, watts).watts(0, range(72), range(8), 3600)
    even = made(tmp_path, watts, shift="even").watts(0, range(72), range(8), 3600)
    days = made(tmp_path, watts, shift="days").watts(0, range(72), range(40), 3600)
    anywhere = made(tmp_path, watts, shift="random").watts(0, range(72), range(40), 3600)

    assert np.array_equal(even[:, :2], plain[:, :2])  # the first client of each column
    assert len({tuple(column) for column in even.T}) == 8 and len({tuple(column) for column in anywhere.T}) == 40
    for client, column in enumerate(days.T):
        turned = [np.roll(plain[:, client % 2], -24 * day) for day in range(3)]
        assert sum(np.allclose(column, one) for one in turned) == 1
    assert len({column.tobytes() for column in days.T.round(9)}) == 6  # three days of two columns
    for shifted in (even, days, anywhere):  # a whole turn has the whole record's energy
        means = watts.mean(axis=0)[np.arange(shifted.shape[1]) % 2]
        assert shifted.mean(axis=0) == pytest.approx(means, rel=1e-12)


def test_what_is_expected_is_the_mean_at_the_same_time_of_day(tmp_path: Path) -> None:
    watts = np.random.default_rng(2).random((96, 2))
    by_hour = watts.reshape(4, 24, 2).mean(axis=0)

    assert made(tmp_path, watts).expected(range(48), range(2), 3600) == pytest.approx(np.tile(by_hour, (2, 1)))
    halves = made(tmp_path, watts, shift="days").expected(range(3, 5), range(2), 1800)
    assert halves == pytest.approx(by_hour[[1, 2]])
    for trace in (made(tmp_path, watts[:30]), made(tmp_path, watts, shift="random")):
        means = trace.record.watts.mean(axis=0)
        assert trace.expected(range(5), range(2), 3600) == pytest.approx(np.tile(means, (5, 1)))


def test_what_is_expected_keeps_to_the_clock_of_a_record_of_part_days(tmp_path: Path) -> None:
    trace = made(tmp_path, np.arange(60.0))  # two days and a half: round 60 is the record's first hour again
    by_hour = (np.arange(24) + np.arange(24, 48)) / 2

    assert trace.expected(range(60), range(1), 3600).ravel() == pytest.approx(by_hour[np.arange(60) % 24])
    assert trace.expected(range(60, 64), range(1), 3600).ravel() == pytest.approx(by_hour[:4])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"watts": -1}, r"watts must be in \[0, 1e\+12\], got -1"),
        ({"watts": "2 W"}, "watts must be in .* got '2 W'"),
        ({"assign": "twice"}, "assign must be cycle or each, got 'twice'"),
        ({"beyond": "stop"}, "beyond must be repeat or refuse, got 'stop'"),
        ({"shift": "some"}, "shift must be none or even or random or days, got 'some'"),
        ({"shift": "even", "beyond": "refuse"}, "shift must be none with beyond refuse: a client .* got even"),
        ({"shift": "days"}, "shift must be none, even or random: the record is shorter than two days, got days"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match=message):
        made(tmp_path, [1, 2], **options)


def test_a_column_for_each_client_is_kept_to(tmp_path: Path) -> None:
    trace = made(tmp_path, [[1, 2], [3, 4]], assign="each")

    assert trace.mean_watts(2).tolist() == [2, 3]
    with pytest.raises(InvalidValue, match=r"assign must be cycle, or .* column for each of 3 clients, got each and 2"):
        trace.mean_watts(3)


def test_clients_may_have_panels_of_their_own(tmp_path: Path) -> None:
    trace = made(tmp_path, [[1, 2], [3, 4]], watts=[1, 10, 100])

    assert trace.watts(0, range(2), range(1, 3), 3600).tolist() == [[20, 100], [40, 300]]
    assert trace.mean_watts(3).tolist() == [2, 30, 200]
    assert trace.expected(range(1), range(3), 3600).tolist() == [[2, 30, 200]]
    with pytest.raises(InvalidValue, match=r"watts must be one number or one per client \(2\), got a list of 3"):
        trace.mean_watts(2)


def test_a_trace_says_what_it_is(tmp_path: Path) -> None:
    assert repr(made(tmp_path, np.ones((48, 3)))) == "Trace(trace.csv, 3 columns, 2 d)"
    assert made(tmp_path, np.ones(48)).record.duration == 2 * DAY
