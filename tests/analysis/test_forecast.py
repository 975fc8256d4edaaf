"""Forecasts: exact where the law holds, the same for few rounds and many, and left out where the law says nothing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from ehfl.analysis import Comparison, Row, Trial, compare
from ehfl.analysis.intervals import write_scale
from ehfl.analysis.table import caption, quantities
from ehfl.report.forecast_words import forecast_sentences
from ehfl.report.texts import as_facts
from made_laws import lawful_trial, logged
from made_trials import ACCURACY

SCALE = 1.5


def concave(p: float) -> float:
    return 1 - math.exp(-p / 4)


def played(counts: Mapping[str, Sequence[int]], *, goal: float = 0.4, seeds: int = 2, every: int = 5) -> Comparison:
    trials = [
        lawful_trial(arm, seed, mine, SCALE, concave, every=every)
        for arm, mine in counts.items()
        for seed in range(seeds)
    ]
    return compare("law", trials, ACCURACY, goal=goal)


def rows(compared: Comparison) -> dict[str, Row]:
    return {row.arm: row for row in compared.rows}


FLEET = {"five": [5] * 90, "one": [1] * 90, "two": [2] * 90}


def test_arms_that_follow_the_law_are_forecast_exactly() -> None:
    compared = played(FLEET)
    found = rows(compared)

    for arm, n in (("one", 1), ("two", 2)):
        forecast, error = found[arm].forecast_slowdown, found[arm].forecast_error
        assert forecast is not None and error is not None
        assert forecast.mean == pytest.approx((1 + SCALE / n) / (1 + SCALE / 5), rel=2e-3)
        assert abs(error) < 0.01  # evaluations are five rounds apart, and curves straight between them
        final = found[arm].forecast_final
        assert final is not None and final.mean == pytest.approx(found[arm].final.mean, abs=1e-3)
    assert compared.forecasts[0].scale is not None
    assert compared.forecasts[0].scale.arms == ("five", "one")
    assert compared.forecasts[0].held_out == {"one", "two"}  # one comes to the goal in its 52nd round, after the 30th


def test_an_arm_whose_way_to_the_goal_was_fitted_is_no_test() -> None:
    found = rows(played(FLEET, goal=0.1))

    assert found["one"].forecast_slowdown is not None and found["one"].forecast_error is None
    assert found["two"].forecast_error is not None


@pytest.mark.parametrize("from_updates", [False, True])
def test_the_forecast_does_not_grow_with_the_rounds_played(from_updates: bool) -> None:
    """The fault of what stood here before: 8, 16, 31 and 120 for 75, 150, 300 and 1,200 rounds of one fleet."""
    found = []
    for rounds in (75, 300, 1200):
        trials = []
        for arm, n in (("five", 5), ("three" if from_updates else "one", 3 if from_updates else 1)):
            made = lawful_trial(arm, 0, [n] * rounds, SCALE, concave, every=5)
            later = [1.0 if t < 40 else 0.01 for t in range(rounds)]  # noise grows after the goal
            losses = [100 - min(t, 40) for t in range(rounds)]
            trials.append(logged(made, later, [1.0 if n > 1 else None] * rounds, losses))
        slower = compare("law", trials, ACCURACY, goal=0.25).rows[1].forecast_slowdown
        assert slower is not None
        found.append(slower.mean)

    assert found == pytest.approx([found[0]] * 3, rel=5e-3)


def test_b_from_one_arm_alone_forecasts_the_others() -> None:
    # S = 1 and Q - S/n = 1 - 1/5, so B_0 = 1.25; of 0.8 / 0.1 a round the loss falls by 3: E = 3/8. In the best arm
    # B = 1.25 (5/8) / (3/8 + 1/4) = 1.25: there steps are the best ones. "four" is too close for curves to tell B.
    arms = {"five": [5] * 90, "four": [4] * 90}
    log = [1.0] * 90, [1.0] * 90, [1000.0 - 3 * t for t in range(90)]
    trials = [logged(lawful_trial(arm, 0, mine, SCALE, concave), *log) for arm, mine in arms.items()]
    compared = compare("law", trials, ACCURACY, goal=0.25)

    assert compared.rows[1].forecast_slowdown is not None
    assert compared.rows[1].forecast_slowdown.mean == pytest.approx((1 + 1.25 / 4) / (1 + 1.25 / 5))
    own = compared.rows[1].noise_scale  # B_0 = 4/3, E = 3/7.5
    assert own is not None and own.mean == pytest.approx(4 / 3 * 0.6 / (0.4 + 1 / 3))
    said = list(forecast_sentences(compared))
    assert said[0] == (
        "The noise-scale law forecasts 1.05 times the rounds for four, with B = 1.25 from the updates and losses of "
        "five alone, an orientation."
    )


def test_tables_sentences_and_facts_say_what_b_was_made_from() -> None:
    compared = played(FLEET)
    scale = compared.forecasts[0].scale
    assert scale is not None
    source = "the first 30 rounds of one beside five"

    assert f"forecasts with B = {write_scale(scale.estimate).text}, from {source}" in caption(compared)
    labels = [line.label for line in quantities(compared)]
    assert labels[-5:] == ["slowdown, measured", "forecast", "error of forecast", "noise limit", "forecast of the end"]
    facts = as_facts(compared)
    assert facts["worlds"][0]["forecast"]["source"] == source
    assert facts["arms"][1]["forecast_error"] == rows(compared)["one"].forecast_error
    assert f"from {source}." in next(forecast_sentences(compared))


def changed(trial: Trial, **fields: object) -> Trial:
    return replace(trial, **fields) if trial.arm == "one" else trial  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"aggregation": "mifa"}, "aggregated by mifa and not by the plain mean"),
        ({"local_steps": 2}, "took other numbers of local steps"),
        ({"partition": "shards"}, "did not hear all clients alike, and their data differ"),  # always client 0
    ],
)
def test_arms_that_the_law_does_not_cover_have_no_forecast(fields: dict[str, object], why: str) -> None:
    plain = played(FLEET | {"three": [3] * 90})
    trials = [changed(trial, **fields) for arm in plain.arms for trial in arm.trials]
    compared = compare("law", trials, ACCURACY, goal=0.4)

    assert rows(compared)["one"].forecast_slowdown is None
    assert rows(compared)["three"].forecast_slowdown is not None  # B is from the slowest arm that is covered
    assert f"The law does not cover one, which {why}." in list(forecast_sentences(compared))


@pytest.mark.parametrize(
    ("counts", "why"),
    [
        ({"five": [5] * 90, "four": [4] * 90}, "the spread of updates was not logged, and no two arms' curves differ"),
        ({"five": [5] * 9, "one": [1] * 9}, "the spread of updates was not logged, and no two arms' curves differ"),
    ],
)
def test_where_b_cannot_be_had_one_sentence_says_why(counts: dict[str, Sequence[int]], why: str) -> None:
    compared = played(counts, goal=0.02, every=3)

    (said,) = forecast_sentences(compared)
    assert said.startswith(f"There is no forecast: {why}")
    assert not any(row.forecast_slowdown or row.forecast_final for row in compared.rows)
    assert "forecast" not in caption(compared)


def test_one_participant_everywhere_is_named_as_the_reason() -> None:
    trials = [
        logged(lawful_trial(arm, 0, [1] * 30, SCALE, concave), [1.0] * 30, [None] * 30, [1.0] * 30)
        for arm in ("one", "other")
    ]
    (said,) = forecast_sentences(compare("law", trials, ACCURACY, goal=0.1))

    assert said.startswith("There is no forecast: no round of one had two participants, and no two arms' curves")


def test_where_rounds_do_not_suffice_the_arm_goes_on_at_its_mean_pace() -> None:
    # The best arm is at the goal after 27 rounds; at B = 1.5 one client a round takes 1.92 times as many, and has 30.
    counts = FLEET | {"short": [1] * 30}
    found = rows(played(counts))

    short, one = found["short"].forecast_slowdown, found["one"].forecast_slowdown
    assert short is not None and one is not None
    assert short.mean == pytest.approx(one.mean)
    assert found["short"].measured_slowdown is None and found["short"].forecast_error is None
