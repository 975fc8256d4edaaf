"""Sentences claim what the seeds allow, and no more."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any

import pytest

from ehfl.analysis import Comparison, Missing, compare
from ehfl.history import Metric
from ehfl.report.texts import as_facts, table_text
from ehfl.report.words import summary
from made_trials import ACCURACY, ENDED_AT, arms_ending_at, made_trial, trials_ending_at, two_worlds

LOSS = Metric("loss", lower_is_better=True)
CLOSE = {"myopic": [0.90, 0.92, 0.94], "greedy": [0.91, 0.91, 0.94]}
APART = {"myopic": [0.90, 0.92, 0.94], "greedy": [0.80, 0.821, 0.839]}


def said(comparison: Comparison, start: str) -> str:
    """Return the one sentence that starts so."""
    (found,) = [sentence for sentence in summary(comparison) if sentence.startswith(start)]
    return found


def test_the_first_arm_is_given_with_its_interval() -> None:
    sentence = summary(arms_ending_at(CLOSE))[0]

    # 0.92 +- 4.303 * 0.02 / sqrt(3)
    assert sentence == "Myopic reached 92.0 % (95 % interval: 87.0 to 97.0) after 8 rounds, the mean of 3 seeds."


def test_a_difference_within_the_interval_is_no_difference() -> None:
    sentence = said(arms_ending_at(CLOSE), "Greedy is")

    assert sentence == "Greedy is not distinguishable from myopic: 0.0 points (-2.5 to 2.5, p = 1.00)."


def test_a_difference_outside_zero_is_told_by_size_and_side() -> None:
    assert (
        said(arms_ending_at(APART), "Greedy ended")
        == "Greedy ended 10.00 points below myopic (9.75 to 10.25, p < 0.001)."
    )


@pytest.mark.parametrize(("metric", "winner"), [(ACCURACY, "myopic"), (LOSS, "greedy")])
def test_only_the_better_arm_beats_and_only_outside_chance(metric: Metric, winner: str) -> None:
    for first, second in (("myopic", "greedy"), ("greedy", "myopic")):
        sentences = summary(arms_ending_at({first: APART[first], second: APART[second]}, metric=metric))
        assert any(" beat " in sentence for sentence in sentences) == (second == winner)
    assert not any(" beat " in sentence for sentence in summary(arms_ending_at(CLOSE, metric=metric)))


def test_what_one_test_of_several_shows_by_chance_is_not_claimed() -> None:
    # gaps of 1, 2 and 1.5 points: t = 5.196 with two degrees of freedom, p = 0.0351; three times that with three arms
    clear = {"myopic": [0.90, 0.92, 0.94], "greedy": [0.91, 0.94, 0.955]}
    alike = {"always-on": [0.90, 0.93, 0.93], "round-robin": [0.91, 0.91, 0.94]}

    assert said(arms_ending_at(clear), "Greedy").startswith("Greedy beat myopic by 1.5 points (0.3 to 2.7, p = 0.04)")
    several = arms_ending_at(clear | alike)
    assert said(several, "Greedy").startswith("Greedy is not distinguishable from myopic: ")
    assert "(0.3 to 2.7, p = 0.04, Holm: 0.11)" in said(several, "Greedy")
    assert "p-value, Holm" in table_text(several) and "p-value, Holm" not in table_text(arms_ending_at(clear))


def test_where_less_is_better_more_is_called_worse() -> None:
    comparison = arms_ending_at({"greedy": APART["greedy"], "myopic": APART["myopic"]}, metric=LOSS)

    assert summary(comparison)[0].startswith("Greedy ended at loss 0.820 (")
    assert said(comparison, "Myopic ended").endswith(", which is worse.")


def test_one_seed_gives_no_interval() -> None:
    sentences = summary(arms_ending_at({"myopic": [0.9], "greedy": [0.8], "always-on": [0.95]}))

    assert sentences[0] == "Myopic reached 90.0 % after 8 rounds; one seed: no interval can be given."
    assert sentences[1] == "Greedy ended 10.0 points below myopic; one seed: no interval can be given."
    assert not any("p =" in sentence or "p-value" in sentence or " beat " in sentence for sentence in sentences)


def test_equal_runs_are_called_equal() -> None:
    comparison = arms_ending_at({"myopic": [0.9, 0.8], "greedy": [0.9, 0.8]})

    assert said(comparison, "Greedy ended") == "Greedy ended exactly where myopic did with every seed."


# what arms share

SHARED = "All arms met the same weather, data and first model, seed by seed."


def in_other_conditions(**met: Any) -> Comparison:
    """Return myopic and greedy, of which greedy met something else."""
    trials = [replace(trial, **met) if trial.arm == "greedy" else trial for trial in trials_ending_at(CLOSE)]
    return compare("small", trials, ACCURACY, 3)


def test_what_all_arms_share_is_said() -> None:
    assert SHARED in summary(arms_ending_at(CLOSE))
    assert not any("the same" in sentence for sentence in summary(arms_ending_at({"myopic": [0.9, 0.8]})))


@pytest.mark.parametrize(
    ("met", "alike", "unlike"),
    [
        ({"weather": "rain"}, "data and first model", "weather"),
        ({"data": "others"}, "weather and first model", "data"),
        ({"weather": "rain", "first_model": "another"}, "data", "weather or first model"),
    ],
)
def test_what_arms_do_not_share_is_said_and_so_is_what_follows(met: dict[str, str], alike: str, unlike: str) -> None:
    comparison = in_other_conditions(**met)

    assert said(comparison, "All arms met") == (
        f"All arms met the same {alike}, seed by seed, but not the same {unlike}: none are compared."
    )
    assert said(comparison, "Greedy reached").startswith("Greedy reached 92.0 % (95 % interval: ")
    assert not any("theory calls best" in sentence for sentence in summary(comparison))
    assert not any("p =" in sentence or "seeds are few" in sentence for sentence in summary(comparison))


def test_arms_that_share_nothing_are_said_to() -> None:
    sentences = summary(in_other_conditions(weather="rain", data="others", first_model="another"))

    assert "Not all arms met the same weather, data or first model: none are compared." in sentences


def test_arms_without_a_common_seed_are_not_compared() -> None:
    trials = [replace(trial, seed=trial.seed + 5 * (trial.arm == "greedy")) for trial in trials_ending_at(CLOSE)]
    comparison = compare("small", trials, ACCURACY, 3)

    assert "No two arms have a seed in common: none are compared." in summary(comparison)
    assert said(comparison, "Greedy reached").startswith("Greedy reached 92.0 % (95 % interval: ")


def test_arms_of_different_lengths_are_not_compared() -> None:
    trials = [made_trial("myopic", 0, {4: 0.9}), made_trial("greedy", 0, {4: 0.5, 8: 0.8}, [1] * 8)]

    sentence = said(compare("small", trials, ACCURACY, 3), "Greedy came to")

    assert sentence.endswith("with myopic: they were trained for different numbers of rounds.")


# two worlds


def test_each_world_is_told_by_its_first_arm_and_the_others_against_it() -> None:
    assert summary(two_worlds())[:5] == [
        "Equal fleet: myopic reached 92.0 % (95 % interval: 87.0 to 97.0) after 8 rounds, the mean of 3 seeds.",
        "Equal fleet: greedy is not distinguishable from myopic: 0.0 points (-2.5 to 2.5, p = 1.00).",
        "Unequal fleet: greedy reached 82.0 % (95 % interval: 77.2 to 86.8) after 8 rounds, the mean of 3 seeds.",
        "Unequal fleet: myopic is not distinguishable from greedy: 0.0 points (-2.5 to 2.5, p = 1.00).",
        "Unequal fleet: greedy + MIFA beat greedy by 10.00 points (9.75 to 10.25, p < 0.001).",
    ]


def test_what_worlds_share_is_said_and_what_arms_are_compared_with() -> None:
    assert said(two_worlds(), "All arms met") == (
        "All arms met the same first model, seed by seed, but not the same weather or data: "
        "each is compared with the first that met the same."
    )


def test_a_world_that_has_no_seed_of_another_is_said_to_have_none() -> None:
    finals = {"a": [0.9, 0.92], "b": [0.8, 0.81], "c": [0.7, 0.72]}
    trials = [replace(trial, seed=trial.seed + 5 * (trial.arm == "c")) for trial in trials_ending_at(finals)]

    assert said(compare("small", trials, ACCURACY, 3), "All arms met") == (
        "All arms met the same weather, data and first model, seed by seed, but not all have a seed in common: "
        "each is compared with the first that met the same."
    )


def test_steadiness_goal_and_theory_are_told_world_by_world() -> None:
    comparison = two_worlds()

    assert re.fullmatch(
        r"Every run came to the goal of 80\.0 %; Equal fleet: greedy took [^;]*, not shown [^;]*; "
        r"Unequal fleet: greedy \+ MIFA was there first, after [^;]* on average\.",
        said(comparison, "Every run"),
    )
    assert said(comparison, "Equal fleet: myopic was") == (
        "Equal fleet: myopic was the steadiest, with 3 participants a round (standard deviation 0); "
        "greedy was the least steady, with 3 participants a round (standard deviation 1), "
        "0.500 of the 3 wanted missing on average."
    )
    assert said(comparison, "Unequal fleet: myopic came") == (
        "Unequal fleet: myopic came closest to the target, always with the 4 wanted or more."
    )
    assert said(comparison, "Unequal fleet: all") == (
        "Unequal fleet: all arms were equally steady, with a standard deviation of 0 participants a round."
    )
    assert any(re.match(r"Unequal fleet: under [^:]* client \d weighed", sentence) for sentence in summary(comparison))
    slowest = said(comparison, "Unequal fleet: beside")
    assert slowest.startswith("Unequal fleet: beside myopic, the arm that theory calls best, greedy took longest: 1.0")
    assert slowest.endswith("; theory says 1.33 times.")
    assert said(comparison, "Theory") == (
        "Theory says so if gradient noise alone held learning back and clients' data did not differ."
    )


def test_worlds_without_a_name_are_told_by_whole_labels() -> None:
    comparison = two_worlds({label.replace(": ", ":"): finals for label, finals in ENDED_AT.items()})

    assert said(comparison, "Unequal fleet:greedy + MIFA beat").startswith(
        "Unequal fleet:greedy + MIFA beat Unequal fleet:greedy by"
    )


# differences, the goal, steadiness and theory


def test_common_seeds_are_counted_where_they_are_not_all() -> None:
    comparison = arms_ending_at({"myopic": [0.9, 0.92, 0.94], "greedy": [0.8, 0.95]})

    assert said(comparison, "Greedy is").endswith("over the 2 seeds that both have.")


def test_several_p_values_are_corrected() -> None:
    three = summary(arms_ending_at(CLOSE | {"always-on": [0.9, 0.9, 0.95]}))

    assert "Holm's p-values are corrected for these 2 comparisons; intervals are not." in three
    assert not any("corrected" in sentence for sentence in summary(arms_ending_at(CLOSE)))


def test_few_seeds_are_called_few_where_something_does_not_show() -> None:
    assert said(arms_ending_at(CLOSE), "3 seeds are few")
    assert not any("are few" in sentence for sentence in summary(arms_ending_at(APART)))


def test_an_arm_was_first_only_where_paired_tests_show_it() -> None:
    finals = {"myopic": [0.90, 0.92, 0.94], "greedy": [0.80, 0.83, 0.84]}

    assert "; myopic was there first, after" in said(arms_ending_at(finals, goal=0.6), "Every run")
    for other in ([0.89, 0.93, 0.9], [0.89]):  # chance may have done it; a single pair
        comparison = arms_ending_at(finals | {"always-on": other}, goal=0.6)
        assert said(comparison, "Every run").endswith("not shown to be before all others.")


def test_the_goal_is_told_by_who_came_to_it() -> None:
    finals = {"myopic": [0.9, 0.92, 0.94], "greedy": [0.8, 0.91, 0.92], "always-on": [0.5, 0.5, 0.5]}
    comparison = arms_ending_at(finals, goal=0.9)

    assert said(comparison, "Not every run").startswith("Not every run came to the goal of 90.0 %; myopic did so after")
    assert "with only 2 of 3 seeds" in said(comparison, "Greedy came")
    assert said(comparison, "Always on did") == "Always on did not come to the goal of 90.0 % with any seed."
    assert said(comparison, "Beside").endswith("always on cannot be timed: it missed the goal.")


def test_the_steadiest_arm_is_named_with_its_figures() -> None:
    comparison = arms_ending_at(CLOSE, counts={"greedy": [0, 6] * 4})

    assert said(comparison, "Myopic was the steadiest") == (
        "Myopic was the steadiest, with 3 participants a round (standard deviation 0); "
        "greedy was the least steady, with 3 participants a round (standard deviation 3), "
        "1.50 of the 3 wanted missing on average."
    )
    assert said(arms_ending_at(CLOSE), "All arms were equally steady")


def test_theory_stands_beside_the_measurement() -> None:
    counts = {"myopic": [4] * 8, "greedy": [1] * 8}
    measured = arms_ending_at({"myopic": [0.9, 0.92], "greedy": [0.8, 0.81]}, counts=counts)

    ratio = measured.rows[1].measured_slowdown
    assert ratio is not None
    assert said(measured, "Beside").startswith(
        f"Beside myopic, the arm that theory calls best, greedy took {ratio.mean:.3f} times the rounds to the goal ("
    )
    assert (
        said(measured, "Theory")
        == "Theory says 4 times if gradient noise alone held learning back and clients' data did not differ."
    )


def test_theory_says_nothing_where_nobody_trained() -> None:
    finals = {"myopic": [0.5, 0.5], "greedy": [0.5, 0.5]}
    nobody, one = ({arm: [n] * 8 for arm, n in counts.items()} for counts in (dict.fromkeys(finals, 0), {"greedy": 0}))

    dark = arms_ending_at(finals, counts=nobody)
    assert [row.noise_limit for row in dark.rows] == [math.inf, math.inf]
    assert said(dark, "Theory") == "Theory calls no arm best, since each has a run in which nobody trained."
    assert not any("theory calls best" in sentence for sentence in summary(dark))
    half = arms_ending_at(finals, counts=one)
    assert said(half, "Beside").startswith("Beside myopic, the arm that theory calls best, greedy")
    assert said(half, "Theory") == "Theory says nothing of greedy, since it has a run in which nobody trained."


def test_arms_that_theory_does_not_tell_apart_are_not_called_the_best() -> None:
    alike = arms_ending_at({"myopic": [0.9, 0.92], "greedy": [0.8, 0.81]})

    assert said(alike, "Beside").startswith("Beside myopic, one of the arms that theory calls best, greedy took")


def test_where_no_arm_was_slower_none_took_longest() -> None:
    even = arms_ending_at({"myopic": [0.9, 0.92], "greedy": [0.9, 0.92]})
    sooner = arms_ending_at({"myopic": [0.8, 0.81], "greedy": [0.9, 0.92], "round-robin": [0.9, 0.93]})
    counts = {"myopic": [4] * 8, "greedy": [1] * 8, "round-robin": [2] * 8}
    unlike = arms_ending_at({"myopic": [0.8, 0.81], "greedy": [0.9, 0.92], "round-robin": [0.9, 0.93]}, counts=counts)

    best = "Beside myopic, one of the arms that theory calls best,"
    assert said(even, "Beside") == f"{best} greedy took as many rounds to the goal."
    assert said(sooner, "Beside") == f"{best} no other took longer to the goal on average."
    assert said(sooner, "Theory").startswith("Theory says as many rounds if gradient noise alone")
    assert said(unlike, "Theory").startswith("Theory says up to 4 times if gradient noise alone")


def test_a_single_arm_is_described_alone() -> None:
    sentences = summary(arms_ending_at({"myopic": [0.9, 0.92]}))

    assert sentences[2] == "It had 3 participants a round (standard deviation 0)."
    assert sentences[3].startswith(
        "Under myopic client 3 weighed 0.0 % in a plain mean"
    )  # never one of the first three
    assert len(sentences) == 4


def test_the_same_gap_with_every_seed_is_no_test_of_chance() -> None:
    sentence = said(arms_ending_at({"myopic": [0.8, 0.7], "greedy": [0.9, 0.8]}), "Greedy")

    assert sentence == (
        "Greedy ended 10.0 points above myopic, with every seed alike, so that chance cannot be judged."
    )


def test_what_was_there_by_the_first_evaluation_is_not_timed() -> None:
    counts = {"greedy": [1] * 8}
    soon = arms_ending_at({"myopic": [0.9, 0.9], "greedy": [0.8, 0.8]}, counts=counts, goal=0.1)

    assert said(soon, "Every") == "Every run was at the goal of 10.0 % by its first evaluation."
    assert said(soon, "Beside").endswith("greedy cannot be timed: a run was at the goal by its first evaluation.")

    one = arms_ending_at({"myopic": [0.9, 0.9], "greedy": [0.4, 0.4]}, counts=counts, goal=0.2)
    assert said(one, "Every").endswith("; myopic took 2 rounds on average, not shown to be before all others.")
    assert said(one, "Beside").endswith("greedy cannot be timed: a run was at the goal by its first evaluation.")


def test_a_goal_that_the_first_model_meets_is_said_to_be_met_before_the_first_round() -> None:
    trials = [made_trial(arm, 0, {0: 0.5, 4: 0.75 + n / 8}) for n, arm in enumerate(("myopic", "greedy"))]
    comparison = compare("small", trials, ACCURACY, 1, goal=0.5)

    assert said(comparison, "Every") == (
        "Every run was at the goal of 50.0 % by its first evaluation, before the first round."
    )


# odd cases


def test_nobody_ever_took_part() -> None:
    idle = [0] * 8
    alone = summary(arms_ending_at({"greedy": [0.1, 0.1]}, counts={"greedy": idle}))
    sentences = summary(
        arms_ending_at({"greedy": [0.1] * 3, "myopic": [0.1] * 3}, counts={"greedy": idle, "myopic": idle})
    )
    nobody = "Nobody took part in any round: no model was trained, and each stayed as it began."

    assert alone[0] == sentences[0] == nobody
    assert not any("stead" in sentence or "participants" in sentence for sentence in (*alone, *sentences))
    assert not any("are few" in sentence or "p-value" in sentence for sentence in sentences)


def test_arms_in_which_nobody_took_part_are_named_and_not_called_steady() -> None:
    finals = {"greedy": [0.1, 0.1], "myopic": [0.1, 0.1], "always-on": [0.9, 0.92]}
    comparison = arms_ending_at(finals, counts={"greedy": [0] * 8, "myopic": [0] * 8})

    assert said(comparison, "Nobody") == (
        "Nobody ever took part under greedy and myopic: their models stayed as they began."
    )
    assert said(comparison, "Always on had") == "Always on had 3 participants a round (standard deviation 0)."
    assert not any("equally steady" in sentence for sentence in summary(comparison))


def test_steady_but_narrow_is_said_to_be_short_of_the_target() -> None:
    finals = {"myopic": [0.9, 0.92], "round-robin:1": [0.8, 0.83]}
    comparison = arms_ending_at(finals, counts={"myopic": [3, 3, 3, 3, 3, 3, 3, 1], "round-robin:1": [1] * 8})

    assert said(comparison, "round-robin:1 was") == (
        "round-robin:1 was the steadiest, with 1 participant a round (standard deviation 0), "
        "2 of the 3 wanted missing on average; "
        "myopic was the least steady, with 2.75 participants a round (standard deviation 0.661), "
        "0.250 of the 3 wanted missing on average."
    )
    assert said(comparison, "Myopic came") == (
        "Myopic came closest to the target, 0.250 of the 3 wanted missing on average."
    )


def test_mains_power_alone_is_described() -> None:
    trials = [made_trial("always-on", seed, [0.5, 0.9], [3, 3], mains=True) for seed in (0, 1)]
    sentences = summary(compare("mains", trials, ACCURACY, 3))

    assert sentences[2] == "It had 3 participants a round (standard deviation 0)."
    assert len(sentences) == 4


def test_runs_that_are_missing_are_named() -> None:
    whole = replace(arms_ending_at(CLOSE), missing=(Missing("mine", 0, "no memory"), Missing("mine", 1)))

    assert said(whole, "Left out") == "Left out: mine seed 0 (failed: no memory), mine seed 1 (not finished)."


def test_intervals_end_where_values_do() -> None:
    far = {"myopic": [0.5, 0.7], "greedy": [0.2, 0.7]}  # with two seeds, 12.7 standard errors
    comparison = arms_ending_at(far, counts={"greedy": [1] * 8}, goal=0.2)
    row = comparison.rows[1]

    assert "60 % (95 % interval: 0 to 100)" in summary(comparison)[0]
    assert "-15 points (-100 to 100, p = " in said(comparison, "Greedy is")
    assert row.measured_slowdown is not None
    assert row.measured_slowdown.low is not None
    assert row.measured_slowdown.low < 0  # the estimate itself stays
    assert re.search(r"times the rounds to the goal \(0\.0 to [\d.]+\)", said(comparison, "Beside"))


def test_all_arms_took_as_long_only_if_all_came_to_the_goal() -> None:
    even = {"myopic": [0.9, 0.9], "greedy": [0.9, 0.9]}

    assert said(arms_ending_at(even, goal=0.45), "Every run").endswith("; all arms took 4 rounds on average.")
    assert said(arms_ending_at(even | {"mine": [0.4, 0.5]}, goal=0.45), "Not every run").endswith(
        "; the arms that did with every seed took 4 rounds on average."
    )


def test_arms_that_are_as_steady_are_named_together() -> None:
    finals = {arm: [0.9, 0.92] for arm in ("myopic", "round-robin", "greedy", "mine")}
    counts = {"round-robin": [2] * 8, "greedy": [0, 6] * 4, "mine": [6, 0] * 4}

    assert said(arms_ending_at(finals, counts=counts), "Myopic and round robin were") == (
        "Myopic and round robin were the steadiest, with a standard deviation of 0 participants a round; "
        "greedy and mine were the least steady, with a standard deviation of 3 participants a round."
    )


def test_steadiness_is_judged_by_what_is_printed() -> None:
    whole = arms_ending_at(CLOSE)
    stds = (0.50001, 0.50002)
    rows = tuple(replace(row, participants_std=std) for row, std in zip(whole.rows, stds, strict=True))

    assert said(replace(whole, rows=rows), "All arms were equally steady")


@pytest.mark.parametrize("other", [5, 1])
@pytest.mark.parametrize("step", [0.1, 0.3])
def test_no_slowdown_is_forecast(other: int, step: float) -> None:
    """Not of an identical arm, nor of one with fewer participants or with its own step (docs/theory.md, "No forecast").

    The loss falls by more than its first order, 0.8 / 0.1 a round, which was once read as a noise scale of exactly 0.
    """
    curves = {5: [t / 40 for t in range(1, 37)], 1: [t / 80 for t in range(1, 37)]}
    trials = []
    for arm, n, eta in (("five", 5, 0.1), ("other", other, step)):
        made = made_trial(arm, 0, curves[n], [n] * 36, eta)
        spread = 1.0 if n > 1 else None
        records = [
            replace(record, update_square=1.0, update_spread=spread, start_loss=500.0 - 9 * record.round)
            for record in made.records
        ]
        trials.append(replace(made, records=records))
    compared = compare("law", trials, ACCURACY, goal=0.3)

    shown = f"{summary(compared)} {table_text(compared)} {as_facts(compared)}"
    assert "forecast" not in shown
    assert not re.search("noise.scale", shown)
