"""A participation: its compact form, and its figures worked by hand."""

import json
import math

import numpy as np
import pytest

from ehfl.arrays import IntArray
from ehfl.energy import Bernoulli, Fleet, Replay
from ehfl.scheduling import Greedy, Participation, View, simulate
from ehfl.scheduling.participation import jain


class AllButOne:
    """Greedy, but client 1 never takes part."""

    def select(self, view: View) -> IntArray:
        able = np.flatnonzero(view.energy >= view.cost)
        others: IntArray = able[able != 1]
        return others

    def __repr__(self) -> str:
        return "AllButOne()"


@pytest.fixture
def worked() -> Participation:
    """Three clients, capacity 2; N_t = {}, {0, 2}, {0}, {2}, and 0, 2, 0 units are left."""
    arrivals = [[1, 0, 1], [1, 0, 0], [0, 2, 1], [0, 3, 0]]
    fleet = Fleet(clients=3, harvest=Replay(arrivals), capacity=2)
    return simulate(fleet, AllButOne(), rounds=4, seed=9)


# form


def test_rounds_are_kept_as_offsets_and_indices(worked: Participation) -> None:
    assert worked.offsets.tolist() == [0, 0, 2, 3, 4]
    assert worked.indices.tolist() == [0, 2, 0, 2]
    assert worked.counts.tolist() == [0, 2, 1, 1]
    assert [worked.clients(t).tolist() for t in range(4)] == [[], [0, 2], [0], [2]]
    assert worked.turns().tolist() == [2, 0, 2]
    assert (worked.rounds, worked.n_clients) == (4, 3)
    assert worked.spent.tolist() == [0, 2, 1, 1]


def test_numbers_are_held_in_four_bytes(worked: Participation) -> None:
    arrays = (worked.offsets, worked.indices, worked.counts, worked.clients(1), worked.final_energy)

    assert [array.dtype for array in arrays] == [np.dtype(np.int32)] * 5


@pytest.mark.parametrize("t", [-1, 4])
def test_a_round_that_was_not_played_is_refused(worked: Participation, t: int) -> None:
    with pytest.raises(IndexError, match=rf"round must be in \[0, 3\], got {t}"):
        worked.clients(t)


def test_energy_is_accounted_for(worked: Participation) -> None:
    totals = worked.totals

    assert (totals.initial, totals.harvested, totals.spent, totals.stored, totals.wasted) == (0, 9, 4, 2, 3)
    assert worked.final_energy.tolist() == [0, 2, 0]


# figures


def test_the_summary_is_what_comes_out_by_hand(worked: Participation) -> None:
    figures = worked.summary(target=2)

    assert figures.as_dict() == {
        "scheduler": "AllButOne()",
        "clients": 3,
        "rounds": 4,
        "target": 2,
        "mean": 1.0,
        "std": pytest.approx(math.sqrt(0.5)),
        "min": 0,
        "max": 2,
        "empty_rounds": 1,
        "on_target": 0.25,
        "worst_streak": 2,  # the last two rounds, of 1 each
        "shortfall": 1.0,  # (2 + 0 + 1 + 1) / 4
        "waste": pytest.approx(3 / 9),
        "lost": 0.0,
        "used": pytest.approx(4 / 9),
        "fairness": pytest.approx(16 / (3 * 8)),  # turns 2, 0, 2
        "chi_square": pytest.approx(3 * (1 / 36 + 1 / 9 + 1 / 36)),  # weights 1/2, 0, 1/2
        "least_weight": 0.0,
        "most_weight": pytest.approx(1.5),
    }


def test_shortfall_is_against_the_target_given(worked: Participation) -> None:
    assert [worked.summary(target=n).shortfall for n in (1, 2, 3)] == [0.25, 1.0, 2.0]
    assert [worked.summary(target=n).on_target for n in (1, 2, 3)] == [0.75, 0.25, 0.0]


def test_the_target_is_the_one_that_was_played_for_unless_another_is_given(worked: Participation) -> None:
    assert worked.summary().target == 2  # floor of 2/4 + min(5/4, 1) + 2/4
    fleet = Fleet(clients=3, harvest=Bernoulli(0.5))
    assert simulate(fleet, Greedy(), rounds=2, target=3).summary().target == 3


@pytest.mark.parametrize("target", [0, 4])
def test_a_target_that_the_fleet_cannot_have_is_refused(worked: Participation, target: int) -> None:
    with pytest.raises(ValueError, match=rf"target must be a whole number in \[1, 3\], got {target}"):
        worked.summary(target=target)


def test_jains_index_goes_from_one_for_all_to_one_for_one() -> None:
    assert jain(np.array([3, 3, 3])) == 1.0
    assert jain(np.array([0, 5, 0, 0, 0])) == pytest.approx(0.2)
    assert jain(np.array([1, 2, 3])) == pytest.approx(36 / 42)
    assert jain(np.array([0, 0])) == 1.0


def test_a_fleet_without_energy_has_figures_too() -> None:
    figures = simulate(Fleet(clients=2, harvest=Bernoulli(0.0)), Greedy(), rounds=3).summary()

    assert (figures.mean, figures.waste, figures.used, figures.fairness, figures.empty_rounds) == (0, 0, 0, 1, 3)
    assert (figures.chi_square, figures.least_weight, figures.most_weight) == (0, 0, 0)


def test_the_share_of_energy_used_is_of_energy_where_costs_differ() -> None:
    """Client 0 pays 1 twice, client 1 pays 4 once, of 4 + 6 units there were."""
    fleet = Fleet(clients=2, harvest=Replay([[0, 2], [0, 0]]), initial=[4, 4], cost=[1, 4])
    played = simulate(fleet, Greedy(), rounds=2)

    assert played.spent.tolist() == [5, 1]
    assert played.summary().used == pytest.approx(6 / 10)


def test_the_summary_prints_a_line_for_each_figure(worked: Participation) -> None:
    lines = str(worked.summary(target=2)).splitlines()

    assert len(lines) == 19
    assert "empty rounds  1" in lines
    assert "fairness      0.6667" in lines


def test_the_summary_goes_into_json(worked: Participation) -> None:
    assert json.loads(json.dumps(worked.summary().as_dict()))["mean"] == 1.0


def test_took_part_has_a_row_a_round_and_a_column_a_client() -> None:
    fleet = Fleet(clients=3, harvest=Replay([[1, 0, 1], [0, 1, 0], [0, 0, 0]]))
    played = simulate(fleet, Greedy(), rounds=3)

    assert played.took_part().tolist() == [[False, False, False], [True, False, True], [False, True, False]]
