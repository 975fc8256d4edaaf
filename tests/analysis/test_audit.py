"""What a mean of the participants optimises, worked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from ehfl.analysis.audit import Audit, alike
from ehfl.analysis.trials import Arm
from ehfl.energy import Bernoulli, Fleet
from ehfl.report.tables.audit import audited, caption
from ehfl.scheduling import Chances, Greedy, chances, observed_chances, simulate
from made_trials import made_trial


def known(weights: list[float], turns: list[float] | None = None, *, seeds: int = 0, error: float = 0.0) -> Chances:
    """Return chances with these weights; estimated from so many seeds, if any."""
    q = np.array(weights)
    p = np.array(turns or weights)
    errors = np.full(q.size, error)
    chi_square = float(q.size * ((q - 1 / q.size) ** 2).sum())
    return Chances(p, q, errors, errors, chi_square, error, 100, seeds, exact=seeds == 0)


@pytest.fixture
def two() -> Audit:
    """Client 0 weighs a quarter and holds three cats and a dog, client 1 three quarters and six dogs."""
    return Audit("greedy", known([0.25, 0.75]), ("cat", "dog"), (np.array([[3, 1], [0, 6]]),), spread=2.0)


def test_labels_are_mixed_by_weight_and_in_truth_by_client(two: Audit) -> None:
    assert two.mixture.tolist() == [3 / 8, 5 / 8]  # clients count alike, however many examples they hold
    assert two.optimised.tolist() == [3 / 16, 13 / 16]
    assert two.moved == pytest.approx(3 / 16)


def test_the_floor_is_chi_square_times_the_spread(two: Audit) -> None:
    """chi^2 = 2 (1/16 + 1/16) = 1/4."""
    assert two.chi_square.mean == 0.25
    assert two.floor is not None and two.floor.mean == 0.5 and two.floor.low is None
    assert Audit("greedy", two.chances).floor is None


def test_the_floor_is_no_lower_than_where_a_biased_mean_comes_to_rest() -> None:
    """f_i(x) = (x - a_i)^2 / 2: the biased mean rests at sum q_i a_i, and with a_i - mean(a) proportional to q_i - 1/N
    the bound by Cauchy and Schwarz is met with equality.
    """
    q = np.array([0.1, 0.2, 0.3, 0.4])
    for centres, equal in ((3 + 8 * (q - 0.25), True), (np.array([1.0, 0.0, 0.0, 2.0]), False)):
        rest = q @ centres
        gradient = rest - centres.mean()
        zeta = float(np.mean((centres.mean() - centres) ** 2))  # grad f_i - grad f, wherever x is
        floor = Audit("greedy", known(q.tolist()), spread=zeta).floor
        assert floor is not None
        assert gradient**2 == pytest.approx(floor.mean) if equal else gradient**2 < floor.mean


def test_labels_that_move_to_other_clients_with_each_seed_do_not_hide_that_they_are_moved() -> None:
    deals = (np.array([[4, 0], [0, 4]]), np.array([[0, 4], [4, 0]]))
    audit = Audit("greedy", known([0.25, 0.75]), ("cat", "dog"), deals)

    assert audit.optimised.tolist() == audit.mixture.tolist() == [0.5, 0.5]
    assert audit.moved == 0.25


def test_fifths_go_by_weight_and_say_what_they_hold() -> None:
    """Eleven clients: the first fifth has three of them, the least heard."""
    weights = np.arange(11, 0, -1) / 66
    labels = np.zeros((11, 2), int)
    labels[:8, 0], labels[8:, 1] = 1, [1, 2, 1]
    audit = Audit("greedy", known(weights.tolist()), ("cat", "dog"), (labels,))
    first, *_, last = audit.fifths()

    assert first.name == "least heard fifth" and first.clients.tolist() == [10, 9, 8]
    assert first.weight == pytest.approx(6 / 66) and first.probability == pytest.approx(2 / 66)
    assert last.name == "most heard fifth" and last.clients.tolist() == [1, 0]
    assert [group.name for group in Audit("one", known([0.5, 0.5])).fifths()] == ["least heard fifth", "second fifth"]


def test_what_is_exact_has_no_interval_and_what_is_estimated_has_one() -> None:
    exact, guessed = known([0.25, 0.75]), known([0.25, 0.75], seeds=20, error=0.01)

    assert Audit("a", exact).chi_square.low is None and Audit("a", exact).uneven
    found = Audit("a", guessed).chi_square
    assert found.low == pytest.approx(0.25 - 2.093 * 0.01, abs=1e-5) and Audit("a", guessed).uneven  # t, 19 degrees
    assert not Audit("a", known([0.25, 0.75], seeds=20, error=0.12)).uneven  # 0 is inside
    single = Audit("a", known([0.25, 0.75], seeds=1, error=math.inf))
    assert single.chi_square.low is None and not single.uneven  # one seed shows nothing


def test_an_arm_is_audited_as_it_was_played() -> None:
    fleet = Fleet(clients=10, harvest=Bernoulli(np.linspace(0.1, 0.9, 10)))
    runs = [simulate(fleet, Greedy(), rounds=50, seed=seed) for seed in range(4)]
    trials = [made_trial("greedy", seed, [0.5] * 4) for seed in range(4)]
    for trial, played in zip(trials, runs, strict=True):
        object.__setattr__(trial, "participation", played)
        object.__setattr__(trial, "labels", np.eye(10, dtype=int) + trial.seed)
        object.__setattr__(trial, "classes", tuple("0123456789"))
    audit = Audit.played(Arm("greedy", tuple(trials)))

    assert audit.chances.weights.tolist() == observed_chances(runs).weights.tolist() and len(audit.deals) == 4
    exact = chances(fleet, Greedy(), rounds=50)
    assert abs(audit.chi_square.mean - exact.chi_square) < 4.5 * audit.chances.chi_square_error
    object.__setattr__(trials[2], "labels", None)  # of a run whose devices had data of their own
    assert Audit.played(Arm("greedy", tuple(trials))).deals == ()


def test_arms_that_say_the_same_are_put_together(two: Audit) -> None:
    same = Audit("mifa", two.chances, two.classes, two.deals, two.spread, aggregation="mifa")
    other = Audit("other data", two.chances, two.classes, (np.array([[0, 6], [3, 1]]),), two.spread)

    assert [[one.arm for one in group] for group in alike([two, other, same])] == [["greedy", "mifa"], ["other data"]]


# the table


def cells(audit: Audit) -> dict[str, str]:
    return {line.label: line.cell(audit).text for line in audited([audit])}


def test_the_table_says_how_it_is_known_and_what_everyone_weighs(two: Audit) -> None:
    assert cells(two) == {
        "known": "exactly",
        "chi^2": "0.250",
        "least heard client": "25.0 %",
        "most heard client": "75.0 %",
        "client 0": "25.0 %, 25.0 %",
        "client 1": "75.0 %, 75.0 %",
        "floor on |grad f|^2": "0.500",
        "zeta^2": "2",
        "labels moved": "18.8 %",
        "class cat": "18.8 % (37.5 %)",
        "class dog": "81.2 % (62.5 %)",
    }
    assert "t-intervals" not in caption([two])


def test_a_figure_that_chance_could_have_made_is_given_as_what_it_is_below() -> None:
    found = cells(Audit("myopic", known([0.5, 0.5], seeds=20, error=0.01)))

    assert (found["known"], found["chi^2"]) == ("20 seeds", "< 0.03")  # 2.093 * 0.01, rounded up


def test_many_clients_are_shown_in_fifths_and_every_class_by_itself() -> None:
    weights = np.arange(1, 21) / 210
    deals = (np.repeat(np.eye(20, dtype=int), 1, axis=0),)
    names = tuple(f"kind {c}" for c in range(20))
    audit = Audit("greedy", known(weights.tolist()), names, deals)

    assert [label for label in cells(audit) if label.endswith("fifth")] == [
        "least heard fifth", "second fifth", "third fifth", "fourth fifth", "most heard fifth"
    ]  # fmt: skip
    assert "client 3" not in cells(audit)
    assert [label for label in cells(audit) if label.startswith("class")] == [f"class {name}" for name in names]


def test_where_nobody_is_heard_there_are_dashes() -> None:
    fleet = Fleet(clients=2, harvest=Bernoulli(0.0))
    audit = Audit("greedy", chances(fleet, Greedy(), rounds=5), ("cat", "dog"), (np.array([[3, 1], [0, 6]]),), 1.0)

    found = cells(audit)
    assert found["chi^2"] == found["floor on |grad f|^2"] == found["most heard client"] == "–"  # noqa: RUF001
    assert found["client 0"] == "0.0 %, –"  # noqa: RUF001


def test_facts_are_ready_for_json(two: Audit) -> None:
    facts = two.as_facts()

    assert facts["mixture"] == {"true": {"cat": 3 / 8, "dog": 5 / 8}, "optimised": {"cat": 3 / 16, "dog": 13 / 16}}
    assert (facts["exact"], facts["weights"], facts["floor"]) == (True, [0.25, 0.75], 0.5)
    assert "mixture" not in Audit("greedy", two.chances).as_facts()
