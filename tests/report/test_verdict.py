"""The verdict says who won by what, what is not shown and who pays for it, and claims no more than seeds allow."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ehfl.analysis import Comparison, Difference, Estimate, Missing
from ehfl.report import verdict_of
from ehfl.report.folder import table_text
from ehfl.runs import Metric
from made_served import served
from made_trials import ENDED_AT, arms_ending_at, two_worlds

MIFA = "Unequal fleet: greedy + MIFA"
LOSS = Metric("loss", lower_is_better=True, bounds=(0, None))
APART = {"myopic": [0.90, 0.92, 0.94, 0.93, 0.91], "greedy": [0.80, 0.83, 0.84, 0.82, 0.80]}
CLOSE = {"myopic": [0.90, 0.92, 0.94], "greedy": [0.91, 0.91, 0.94]}


def with_worst_class(comparison: Comparison, worst: dict[str, float], gaps: dict[str, Difference]) -> Comparison:
    """Return the comparison with a worst class of every arm, and how it differs from that of the first of its world."""
    rows = tuple(
        replace(
            row,
            worst_class=Estimate(worst.get(row.arm, 0.5), worst.get(row.arm, 0.5) - 0.1, 0.9, 3),
            worst_class_difference=gaps.get(row.arm, Difference(0.0, -0.1, 0.1, 3, 0.9) if row.difference else None),
        )
        for row in comparison.rows
    )
    return replace(comparison, rows=rows)


def test_each_world_has_its_sentence() -> None:
    equal, unequal, few = verdict_of(two_worlds())

    assert equal == "Equal fleet: no difference shown (greedy 0.0 points, p = 1.00)."
    assert unequal.startswith("Unequal fleet: greedy + MIFA beats greedy by 10.00 points (")
    assert unequal.endswith("; no difference shown between greedy and myopic (myopic 0.0 points, p = 1.00).")
    assert few == "3 seeds are few: with more, smaller differences can be shown."


def test_the_winner_and_the_loser_are_named_with_intervals() -> None:
    (lost,) = verdict_of(arms_ending_at(APART))
    (won,) = verdict_of(arms_ending_at(dict(reversed(APART.items()))))
    (lower,) = verdict_of(arms_ending_at(APART, metric=LOSS))

    assert lost.startswith("greedy ends 10.2 points below myopic (") and " to " in lost
    assert won.startswith("myopic beats greedy by 10.2 points (")
    assert lower.startswith("greedy beats myopic by 0.102 (")  # a lower loss is better


def test_the_verdict_says_how_the_worst_clients_fare_where_that_is_shown() -> None:
    clients = {"mean": [[0.2, 0.9], [0.25, 0.9], [0.21, 0.9]], "mifa": [[0.6, 0.9], [0.64, 0.9], [0.62, 0.9]]}
    shares = {"mean": [(0.8, 0.7), (0.8, 0.7), (0.8, 0.71)], "mifa": [(0.9, 0.7), (0.91, 0.7), (0.9, 0.7)]}
    compared = served(shares, clients)

    assert "and gets 62 % right for the worst tenth of clients instead of 22 %" in compared.verdict[0]
    assert compared.verdict == verdict_of(compared)


def test_several_winners_share_a_sentence() -> None:
    others = {name: [x + 0.1 + at / 100 for x in APART["greedy"]] for at, name in enumerate(("a", "b", "c", "d"))}
    noisy = {name: [x + 1e-4 * (-1) ** place for place, x in enumerate(mine)] for name, mine in others.items()}
    (sentence,) = verdict_of(arms_ending_at({"greedy": APART["greedy"]} | noisy))

    assert sentence.startswith("d beats greedy by 13.00")
    assert sentence.endswith(", and so do c, b and a.")


@pytest.mark.parametrize("told", [True, False])
def test_the_worst_class_is_told_where_its_interval_allows_it(told: bool) -> None:
    gap = Difference(0.3, 0.2, 0.4, 3, 0.01) if told else Difference(0.3, -0.1, 0.7, 3, 0.08)
    unequal = verdict_of(with_worst_class(two_worlds(), {MIFA: 0.8}, {MIFA: gap}))[1]

    assert (" and gets 80 % of the worst class right instead of 50 %" in unequal) == told


def test_the_price_of_a_better_average_is_told() -> None:
    gap = Difference(-0.3, -0.4, -0.2, 3, 0.01)
    unequal = verdict_of(with_worst_class(two_worlds(), {MIFA: 0.2}, {MIFA: gap}))[1]

    assert " but gets 20 % of the worst class right instead of 50 %" in unequal


def test_where_averages_are_alike_the_worst_class_alone_is_told() -> None:
    gap, myopic = Difference(0.4, 0.3, 0.5, 3, 0.01), "Unequal fleet: myopic"
    two = two_worlds({label: ENDED_AT[label] for label in ENDED_AT if label != MIFA})
    unequal = verdict_of(with_worst_class(two, {myopic: 0.8}, {myopic: gap}))[1]

    assert unequal.startswith(
        "Unequal fleet: myopic gets 80 % of the worst class right instead of 50 %, though accuracy shows no difference"
    )


def test_what_one_test_of_several_shows_by_chance_is_not_claimed() -> None:
    """Alone, p = 0.02; of five comparisons, Holm's correction makes it 0.08."""
    base = [0.80, 0.82, 0.84, 0.81, 0.83]
    gaps = [0.010, 0.030, 0.002, 0.025, 0.012]
    finals = {"myopic": base, "greedy": [x + gap for x, gap in zip(base, gaps, strict=True)]}
    noise = {f"arm-{i}": [x + 0.01 * (-1) ** (i + at) * (at + 1) for at, x in enumerate(base)] for i in range(4)}

    assert "beats" in verdict_of(arms_ending_at(finals))[0]
    assert "beats" not in verdict_of(arms_ending_at(finals | noise))[0]


def test_one_seed_and_equal_seeds_are_no_tests() -> None:
    one = verdict_of(arms_ending_at({"myopic": [0.9], "greedy": [0.8]}))
    alike = verdict_of(arms_ending_at({"myopic": [0.8, 0.7], "greedy": [0.9, 0.8]}))

    assert one == ["greedy ended 10.0 points below myopic (one seed: chance cannot be judged)."]
    assert alike == ["greedy ended 10.0 points above myopic (every seed alike: chance cannot be judged)."]


def test_a_single_arm_has_its_result() -> None:
    assert verdict_of(arms_ending_at({"myopic": [0.9, 0.92, 0.94]})) == ["myopic reached 92.0 % (87.0 to 97.0)."]


def test_cautions_name_missing_runs_and_arms_that_nobody_trained() -> None:
    idle = arms_ending_at(CLOSE, counts={"greedy": [0] * 8})
    missing = tuple(Missing("greedy", seed, "out of memory") for seed in range(5))
    said = verdict_of(replace(idle, missing=missing))

    assert "No client took part under greedy: no model was trained." in said
    left_out = "greedy seed 0 (failed: out of memory), greedy seed 1 (failed: out of memory)"
    assert any(one.startswith(f"Left out: {left_out}, ") and one.endswith(" and 2 more.") for one in said)
    assert not any("seeds are few" in one for one in verdict_of(arms_ending_at(APART)))


def test_the_text_has_the_verdict_between_the_tables() -> None:
    text = table_text(two_worlds())

    places = [text.index(part) for part in ("baseline", "Equal fleet: no difference", "Full table", "final accuracy")]
    assert places == sorted(places)
