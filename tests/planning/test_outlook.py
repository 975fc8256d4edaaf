"""Budgets and outlooks: values worked by hand, and limits."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ehfl import Bernoulli, Fleet, Replay, simulate
from ehfl.planning import Calendar, Outlook, budget_of


def test_a_budget_by_hand() -> None:
    harvest = Replay([[2, 0, 8], [0, 0, 8], [2, 2, 8], [0, 0, 8]])
    fleet = Fleet(3, harvest, capacity=12, cost=[1, 2, 4], efficiency=0.5, drain=0.25)
    budget = budget_of(fleet, rounds=4)

    assert budget.harvest.tolist() == [0.5, 0.25, 4.0]  # half of 1, 0.5 and 8 a round
    assert budget.payable.tolist() == [0.25, 0.0, 0.9375]
    assert budget.sustainable == 1.1875
    assert budget.rounds_kept.tolist() == [12, 6, 3]


def test_a_budget_of_no_rounds_is_the_harvests_own_mean() -> None:
    fleet = Fleet(2, Bernoulli([0.4, 0.8]), capacity=12, cost=[1, 2], efficiency=0.5, drain=0.1)

    for calendar in (None, Calendar(0, 86_400)):
        budget = budget_of(fleet, rounds=0, calendar=calendar)
        assert budget.harvest == pytest.approx([0.2, 0.4])
        assert budget.payable == pytest.approx([0.1, 0.15]) and budget.sustainable == pytest.approx(0.25)


def test_a_budget_by_month() -> None:
    days = np.concatenate([np.zeros((31, 2), int), np.full((28, 2), 3)])
    budget = budget_of(Fleet(2, Replay(days), cost=4), rounds=59, calendar=Calendar(0, 86_400))

    assert budget.sustainable_by_month is not None
    assert budget.sustainable_by_month[:2].tolist() == [0, 1.5]
    assert np.isnan(budget.sustainable_by_month[2:]).all()


def outlook_of(*rows: list[int]) -> Outlook:
    return Outlook("greedy", 3, np.array(rows), np.ones((len(rows), 4), int), ())


def test_what_can_be_counted_on() -> None:
    outlook = outlook_of([0, 1, 2, 3, 4], [4, 4, 4, 4, 4])

    assert [outlook.count_on(share) for share in (1.0, 0.9, 0.8, 0.5, 0.0)] == [0, 1, 2, 4, 4]
    assert outlook.on_target().tolist() == [0.4, 1.0]
    assert outlook.on_target(1).tolist() == [0.8, 1.0]


@given(st.lists(st.integers(0, 9), min_size=1, max_size=40), st.floats(0, 1))
def test_counted_on_is_the_most_that_so_many_rounds_have(counts: list[int], share: float) -> None:
    outlook = outlook_of(counts)
    found = outlook.count_on(share)

    assert (outlook.counts >= found).mean() >= share - 1e-9
    assert found == max(counts) or (outlook.counts >= found + 1).mean() < share + 1e-9


def test_an_outlook_of_what_was_played() -> None:
    fleet = Fleet(2, Replay([[1, 0], [1, 1], [0, 0]]))
    outlook = Outlook.together([Outlook.of("greedy", simulate(fleet, "greedy", 3, seed)) for seed in (0, 1)])

    assert outlook.counts.tolist() == [[0, 1, 2]] * 2
    assert outlook.turns.tolist() == [[2, 1]] * 2
