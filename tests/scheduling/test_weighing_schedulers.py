"""The schedulers that bring weights, worked by hand: F3ast and EnergyCycles."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ehfl.energy import Bernoulli, Fleet
from ehfl.scheduling import EnergyCycles, F3ast, View, simulate
from ehfl.scheduling.past import Past, Recent
from ehfl.validation import InvalidValue, UserError


def view_of(*energy: int, round_: int = 0, past: Past | None = None, **facts: Any) -> View:
    return View(round_, np.array(energy, np.int32), past=past, **facts)


def everyone(view: View) -> Any:
    return np.arange(view.energy.size, dtype=np.int32)


# how often of late


def test_recent_shares_are_a_mean_that_forgets() -> None:
    past = Past(3)
    assert view_of(1, 1, 1, past=past).recent(0.5).tolist() == [0, 0, 0]
    for t, clients in enumerate([[0], [0, 1], []]):
        past.note(t, np.array(clients, np.int32))

    # 0.5 (0.25 + 0.5) and 0.5 * 0.5
    assert view_of(1, 1, 1, round_=3, past=past).recent(0.5).tolist() == [0.375, 0.25, 0]


def test_recent_shares_of_rounds_that_were_not_noted_are_of_empty_ones() -> None:
    with_gap, without = Recent(1, 0.1), Recent(1, 0.1)
    with_gap.note(0, np.array([0]))
    with_gap.note(3, np.array([0]))
    for t, clients in enumerate([[0], [], [], [0]]):
        without.note(t, np.array(clients, np.int32))

    assert with_gap.before(4) == pytest.approx(without.before(4), rel=1e-15)


def test_recent_shares_may_be_asked_for_at_any_time() -> None:
    early, late = Past(2), Past(2)
    for t in range(3):
        view_of(1, 1, round_=t, past=early).recent(0.1)
        for past in (early, late):
            past.note(t, np.array([0] if t < 2 else [], np.int32))

    first, second = (view_of(1, 1, round_=3, past=past).recent(0.1) for past in (early, late))
    assert first.tolist() == second.tolist() == pytest.approx([0.1 * 0.9 * (0.9 + 1), 0])


# F3ast


def test_f3ast_takes_those_who_took_part_least_of_late() -> None:
    past = Past(4)
    for t, clients in enumerate([[0], [1, 2], [2]]):
        past.note(t, np.array(clients, np.int32))
    chosen = [F3ast(n, rate=0.1).select(view_of(1, 1, 1, 1, round_=3, past=past)).tolist() for n in (1, 2, 3, 4)]

    assert chosen == [[3], [0, 3], [0, 1, 3], [0, 1, 2, 3]]
    assert F3ast(2, rate=0.1).select(view_of(0, 1, 1, 0, round_=3, past=past)).tolist() == [1, 2]


def test_f3ast_weighs_by_how_often_a_client_takes_part_this_turn_included() -> None:
    past = Past(4)
    first = F3ast(2, rate=0.5).weights(view_of(1, 1, 1, 1, past=past), np.array([0, 3]))
    past.note(0, np.array([0]))
    view = view_of(1, 1, 1, 1, round_=1, past=past)

    # r(-1) = 2/4; a turn in round 0 makes it 0.5 * 0.5 + 0.5 = 0.75. Then client 0 has r(0) = 0.75 and the others 0.25:
    # with a turn in round 1, 0.5 * 0.75 + 0.5 = 0.875 and 0.5 * 0.25 + 0.5 = 0.625.
    assert first == pytest.approx([1 / 0.75, 1 / 0.75])
    assert F3ast(2, rate=0.5).weights(view, everyone(view)) == pytest.approx([1 / 0.875, *[1 / 0.625] * 3])


def test_f3ast_comes_to_inverse_probabilities() -> None:
    """Rates of 0.1 and 1, one chosen: the rare one whenever it can pay, else the other; r comes to 0.1 and 0.9.

    A share that forgets at 0.005 deviates from p by sqrt(0.0025 p (1 - p)), 0.015: five times that, and 1/r(t) has the
    turn itself in it.
    """
    played = simulate(Fleet(2, Bernoulli([0.1, 1.0]), capacity=1), F3ast(1, rate=0.005), rounds=4000, seed=3)
    assert played.weights is not None
    last = {client: played.weights[played.indices == client][-1] for client in (0, 1)}

    assert 1 / last[0] == pytest.approx(0.1 + 0.005 * 0.9, abs=0.075)
    assert 1 / last[1] == pytest.approx(0.9 + 0.005 * 0.1, abs=0.075)
    assert played.turns() / 4000 == pytest.approx([0.1, 0.9], abs=0.024)  # five deviations


def test_the_long_run_of_f3ast_counts_all_clients_alike() -> None:
    """The weights of each client's turns add up to the rounds, though one has ten times the energy of another."""
    played = simulate(Fleet(3, Bernoulli([0.1, 0.5, 1.0]), capacity=1), F3ast(2), rounds=5000, seed=1)
    assert played.weights is not None
    counted = np.bincount(played.indices, played.weights, minlength=3) / played.rounds

    # 1/r is too large where r fluctuates, by its variance relative to r^2: rate (1 - p) / (2 p), 5 % for p = 0.1.
    assert counted == pytest.approx([1, 1, 1], abs=0.12)


# EnergyCycles


def test_energy_cycles_are_the_rounds_that_a_turns_energy_takes() -> None:
    view = view_of(9, 9, 9, 9, 9, rates=np.array([0.1, 0.3, 1.0, 2.0, 0.0]), cost=np.array([1, 3, 1, 1, 1]))

    found = EnergyCycles().weights(view, everyone(view)).tolist()

    assert found[:4] == [10, 10, 1, 1]  # 3 / 0.3 is 10.000000000000002 in floating point
    assert np.isfinite(found[4])


def test_everyone_has_one_turn_a_cycle_in_a_round_drawn_uniformly() -> None:
    """With batteries full of energy: in 1,000 cycles of 4 rounds each round is drawn 250 times, within 4.5 sigma."""
    fleet = Fleet(1, Bernoulli(0.25), initial=10**4)
    played = simulate(fleet, EnergyCycles(), rounds=4_000, seed=5)
    turns = np.flatnonzero(played.counts)

    assert (np.bincount(turns // 4) == 1).all() and turns.size == 1000
    assert (np.abs(np.bincount(turns % 4) - 250) < 4.5 * np.sqrt(1000 * 3 / 16)).all()
    assert played.weights is not None and (played.weights == 4).all()


def test_who_cannot_pay_in_its_round_waits_within_its_cycle() -> None:
    view = view_of(1, rates=np.array([0.2]))
    due = next(t for t in range(5) if EnergyCycles().select(view._replace(round=t)).size)
    past = Past(1)
    past.note(due, np.array([0]))

    chosen = [EnergyCycles().select(view._replace(round=t)).tolist() for t in range(5)]
    assert chosen == [[0] if t >= due else [] for t in range(5)]  # from its round on, while it had no turn
    assert [EnergyCycles().select(view._replace(round=t, past=past)).size for t in range(due + 1, 5)] == [0] * (4 - due)
    assert EnergyCycles().select(view_of(0, round_=4, rates=np.array([0.2]))).size == 0
    later = [EnergyCycles().select(view._replace(round=t, past=past)).size for t in range(5, 10)]
    assert sum(later) > 0  # the next cycle has a turn of its own


def test_who_harvests_nothing_has_no_turn() -> None:
    played = simulate(Fleet(2, Bernoulli([0.0, 1.0]), initial=5), EnergyCycles(), rounds=20)

    assert played.turns().tolist() == [0, 20]


def test_energy_cycles_need_the_rates() -> None:
    with pytest.raises(
        UserError, match=r"energy-cycles needs to know how much each client harvests: view.rates is None"
    ):
        EnergyCycles().select(view_of(1))


@pytest.mark.parametrize("rate", [0, -0.1, 1.5, float("nan"), "slow", True])
def test_a_rate_that_forgets_nothing_or_too_much_is_refused(rate: Any) -> None:
    with pytest.raises(InvalidValue, match=r"^rate must be a number in \[1e-9, 1\], got "):
        F3ast(rate=rate)
