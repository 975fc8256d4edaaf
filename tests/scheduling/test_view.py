"""A view, and the selections that schedulers are made of."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ehfl.arrays import IntArray
from ehfl.randomness import TILE
from ehfl.scheduling import View


def view_of(*energy: int, **facts: Any) -> View:
    return View(round=facts.pop("round_", 0), energy=np.array(energy, dtype=np.int32), **facts)


def clients(*numbers: int) -> IntArray:
    return np.array(numbers)


def test_those_who_can_pay_hold_what_it_costs_them() -> None:
    assert view_of(0, 1, 2, 3, cost=2).able().tolist() == [2, 3]
    assert view_of(0, 1, 2, 3, cost=np.array([0, 1, 3, 3])).able().tolist() == [0, 1, 3]


def test_those_of_some_who_can_pay_stay_in_their_order() -> None:
    assert view_of(0, 1, 2, 3, cost=2).able(clients(3, 0, 2)).tolist() == [3, 2]
    assert view_of(5, 1, 2, 3, cost=np.array([9, 1, 2, 4])).able(clients(3, 2, 0, 1)).tolist() == [2, 1]


def test_the_longest_queues_are_counted_before_it_is_asked_who_can_pay() -> None:
    """Clients 0 and 1 hold most; client 0 lacks what it costs, and nobody takes its place."""
    assert view_of(5, 4, 3, cost=np.array([6, 4, 1])).longest(2).tolist() == [1]


def test_the_smallest_keys_go_first() -> None:
    view = view_of(1, 1, 1, 1, 1)

    assert view.first(clients(0, 2, 4), np.array([5, 1, 3]), 2).tolist() == [2, 4]
    assert view.first(clients(4, 2, 0), np.array([-0.5, 7.0, 9.5]), 2).tolist() == [2, 4]
    assert view.first(clients(3, 1), np.array([0, 0]), 9).tolist() == [1, 3]
    assert view.first(clients(3, 1), np.array([0, 0]), 0).tolist() == []
    assert view.first(np.empty(0, np.int32), np.empty(0), 3).tolist() == []


def test_keys_that_tie_are_broken_evenly() -> None:
    """One of three tied clients in n rounds: each a third, within 4.5 standard deviations."""
    n = 3000
    first = [int(view_of(1, 1, 1, 1, round_=t).first(clients(0, 2, 3), np.zeros(3), 1)[0]) for t in range(n)]

    assert all(abs(first.count(client) - n / 3) < 4.5 * np.sqrt(n * 2 / 9) for client in (0, 2, 3))


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**31 - 2), st.permutations(range(6)))
def test_ties_do_not_depend_on_the_order_in_which_clients_are_given(seed: int, t: int, order: list[int]) -> None:
    view = view_of(*[1] * 6, round_=t, seed=seed)

    assert view.first(clients(*order), np.zeros(6), 3).tolist() == view.first(np.arange(6), np.zeros(6), 3).tolist()


def test_a_width_is_the_number_given_or_the_target() -> None:
    view = view_of(1, 1, 1, target=2)

    assert [view.width("target", value) for value in (1, 3, "auto")] == [1, 3, 2]
    with pytest.raises(ValueError, match=r"per_round must be in \[1, 3\] \(the clients\), got 4"):
        view.width("per_round", 4)


def test_equal_views_have_equal_chance_and_other_rounds_and_seeds_another() -> None:
    drawn = [
        view_of(1, round_=t, seed=seed).generator().integers(2**62) for t, seed in ((3, 1), (3, 1), (4, 1), (3, 2))
    ]

    assert drawn[0] == drawn[1]
    assert len(set(drawn)) == 3


@pytest.mark.parametrize("size", [3, TILE + 1])
def test_a_view_made_by_hand_has_no_past(size: int) -> None:
    view = View(round=5, energy=np.ones(size, np.int32))

    assert not view.turns.any()
    assert (view.last_turn == -1).all()
    assert view.losses is None


def test_all_that_a_view_offers_is_in_the_documents() -> None:
    page = (Path(__file__).parents[2] / "docs" / "scheduling.md").read_text(encoding="utf-8")
    table = page.partition("| of the view | what |")[2].partition("```")[0]
    documented = set(re.findall(r"`(\w+)", "".join(re.findall(r"^\|(.*?)\|", table, re.MULTILINE))))

    tuples_own, behind = {"count", "index"}, {"past", "expectation"}  # seen through `turns`, `last_turn` and `ahead`
    assert {name for name in dir(View) if not name.startswith("_")} - tuples_own - behind == documented
