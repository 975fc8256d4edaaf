"""What a harvest brings in a day and a year: harvests whose answers are known."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ehfl.energy import Bernoulli, Replay, Trace
from ehfl.energy.study.survey import DAY, survey

ROOF = Path(__file__).with_name("roof.csv")


@dataclass(frozen=True)
class Summer:
    """One watt for client 0 and two for client 1 from 6 to 18 h, April to September; a tenth in other months."""

    first_day: int = 0

    def watts(self, seed: int, rounds: range, clients: range, round_length: float) -> NDArray[np.float64]:
        time = (np.asarray(rounds) + 0.5) * round_length
        day, hour = (time // DAY + self.first_day) % 365, time % DAY / 3600
        light = ((hour > 6) & (hour < 18)) * np.where((day >= 90) & (day < 273), 1.0, 0.1)
        found: NDArray[np.float64] = light[:, None] * (np.asarray(clients) + 1.0)
        return found

    def mean_watts(self, n_clients: int) -> NDArray[np.float64]:
        return (np.arange(n_clients) + 1.0) * (183 + 18.2) / 365 / 2


def test_a_year_of_power() -> None:
    found = survey(Summer(), clients=2, round_length=3600)

    assert found.means == pytest.approx(found.stated)
    assert (found.without, found.longest_without()) == (0.5, 12 * 3600)
    assert found.days.shape == (365, 2) and found.days[100].tolist() == [12 * 3600, 24 * 3600]
    assert found.leanest(7) == pytest.approx(0.1 * 1.5 * 12 * 3600)
    assert [round(month["mean"], 6) for month in found.months()] == [0.075] * 3 + [0.75] * 6 + [0.075] * 3
    assert [month["without"] for month in found.months()] == [0.5] * 12


def test_months_go_by_the_day_that_a_harvest_begins_at() -> None:
    months = survey(Summer(first_day=90), clients=1, round_length=900).months()

    assert [round(month["mean"], 6) for month in months] == [0.05] * 3 + [0.5] * 6 + [0.05] * 3
    assert all(abs(month["without"] - 0.5) < 0.01 for month in months)


def test_units_are_counted_by_round_hour_and_day() -> None:
    found = survey(Bernoulli([1.0, 0.0]), clients=2, round_length=1800)

    assert (found.in_watts, found.steps.shape, found.without) == (False, (365, 24, 2), 0.5)
    assert found.days[0].tolist() == [48, 0] and found.longest_without() == 365 * DAY
    assert found.months() == []


@pytest.mark.parametrize("round_length", [7 * 3600.0, 1000.0, 86_400.0])
def test_rounds_that_do_not_divide_an_hour_are_counted_in_the_part_of_day_that_they_lie_in(round_length: float) -> None:
    found = survey(Bernoulli(1.0), clients=1, round_length=round_length)

    assert (found.steps == 1).all() and len(found.steps) >= 364
    assert found.days == pytest.approx(DAY / round_length)


def test_records_are_looked_at_as_far_as_they_go() -> None:
    replay = survey(Replay([[1, 0], [2, 0]]), clients=2, round_length=3600)
    once = survey(Trace(ROOF, beyond="refuse"), clients=2, round_length=3600)
    again = survey(Trace(ROOF), clients=2, round_length=3600)

    assert (replay.cycle, replay.means.tolist(), replay.days.size) == (7200, [1.5, 0], 0)
    assert once.steps.shape == (3, 24, 2) and math.isnan(once.leanest(7))
    assert again.steps.shape == (365, 24, 2) and np.allclose(again.steps[:3], once.steps)


def test_a_record_of_less_than_a_day_is_shown_in_full(tmp_path: Path) -> None:
    path = tmp_path / "rf.txt"
    path.write_text("".join(f"{ms}\t{3 if ms < 500 else 0}\n" for ms in range(1000)), encoding="utf-8")
    found = survey(Trace(path), clients=1, round_length=0.1)

    assert (found.cycle, found.steps.shape, found.without) == (1.0, (1, 250, 1), 0.5)
    assert found.steps[0, :125].min() == pytest.approx(3e-4) and not found.steps[0, 125:].any()


def test_of_large_fleets_some_clients_are_looked_at_and_progress_is_told() -> None:
    parts: list[object] = []
    found = survey(Summer(), clients=1001, round_length=3600, on_part=parts.append)

    assert (found.clients, found.clients_text()) == (167, "167 of 1,001 clients") and len(parts) == 48
    assert found.stated == pytest.approx(found.means)
