"""The worst class and the worst clients of an arm, in its row, in tables and as data."""

from __future__ import annotations

from dataclasses import asdict, replace

import numpy as np
import pytest

from ehfl.analysis import Trial, compare, difference
from ehfl.analysis.served import final_by_class, worst_class_curve, worst_tenth, worst_tenth_differences
from ehfl.report.tables.comparison import quantities
from ehfl.validation import UserError
from made_served import served, served_trial
from made_trials import ACCURACY, arms_ending_at, two_arms

# With the first arm the worst class is another one with every seed, and class 1 is the lowest on average.
ARMS = {"plain": [(0.9, 0.2, 0.41), (0.9, 0.5, 0.3)], "fair": [(0.8, 0.7, 0.6), (0.8, 0.9, 0.7)]}
CLIENTS = {
    "plain": [[0.1, 0.3, *[0.9] * 9], [0.2, 0.4, *[0.9] * 9]],
    "fair": [[0.5, 0.6, *[0.9] * 9], [0.5, 0.8, *[0.9] * 9]],
}


def test_the_worst_class_is_each_runs_own_and_the_name_is_that_of_the_lowest_mean() -> None:
    plain, fair = served(ARMS).rows

    assert plain.worst_class is not None and fair.worst_class is not None
    assert plain.worst_class.mean == pytest.approx((0.2 + 0.3) / 2)
    assert plain.worst_class_name == "1"  # 0.35 on average, class 2 has 0.355
    assert fair.worst_class.mean == pytest.approx((0.6 + 0.7) / 2)
    assert fair.worst_class_name == "2"
    assert plain.worst_class_difference is None
    assert fair.worst_class_difference == difference([0.6, 0.7], [0.2, 0.3])


def test_the_worst_tenth_of_eleven_clients_are_two() -> None:
    plain, fair = served(ARMS, CLIENTS).rows

    assert plain.worst_tenth is not None and plain.worst_tenth.mean == pytest.approx((0.2 + 0.3) / 2)
    assert fair.worst_tenth is not None and fair.worst_tenth.mean == pytest.approx((0.55 + 0.65) / 2)
    assert plain.client_spread is not None
    expected = np.mean([np.std(mine) for mine in CLIENTS["plain"]])
    assert plain.client_spread.mean == pytest.approx(expected)
    assert worst_tenth(np.array([[0.4, np.nan, 0.2]])).tolist() == [0.2]


def test_a_class_without_test_examples_is_nobodys_worst() -> None:
    (row,) = served({"plain": [(0.5, None, 0.7), (0.6, None, 0.4)]}).rows

    assert row.worst_class is not None and row.worst_class.mean == pytest.approx(0.45)
    assert row.worst_class_name == "0"


def test_what_is_not_known_is_not_given() -> None:
    plain, _ = served(ARMS).rows
    assert (plain.worst_tenth, plain.client_spread) == (None, None)

    without = arms_ending_at({"a": [0.8, 0.9], "b": [0.7, 0.8]})
    assert all(row.worst_class is None and row.worst_class_name is None for row in without.rows)
    assert not [line for line in quantities(without) if line.group == "Who is served"]

    older = replace_classes(served({"plain": [(0.9, 0.2), (0.9, 0.5)]}).arms[0].trials[0])
    mixed = compare("mixed", [older, served_trial("plain", 1, (0.9, 0.5))], ACCURACY, 1, goal=0.1)
    assert mixed.rows[0].worst_class is None and final_by_class(mixed.arms[0]) is None


def replace_classes(trial: Trial) -> Trial:
    """The same run as an older version of ehfl would have left it."""
    records = [replace(record, by_class=None, first_by_class=None) for record in trial.records]
    return replace(trial, classes=(), labels=None, records=records)


def test_the_curve_of_the_worst_class_begins_with_the_first_model() -> None:
    arm = served(ARMS).arms[0]

    curve = worst_class_curve(arm)

    assert curve is not None
    np.testing.assert_allclose(curve, [[0.1, 0.1, 0.2], [0.1, 0.15, 0.3]])
    assert worst_class_curve(arms_ending_at({"a": [0.8]}).arms[0]) is None


def test_the_table_has_a_group_on_who_is_served() -> None:
    compared = served(ARMS, CLIENTS)

    lines = {
        line.label: [line.cell(row).text for row in compared.rows]
        for line in quantities(compared)
        if line.group == "Who is served"
    }

    assert lines == {
        "worst class": ["25 %", "65 %"],
        "lowest on average": ["1", "2"],
        "difference [points]": ["–", "+40.0"],  # noqa: RUF001
        "p-value": ["–", "–"],  # noqa: RUF001  the same with every seed, which is no test of chance
        "worst tenth of clients": ["25 %", "60 %"],
        "spread over clients [points]": ["25", "13"],
    }


def test_every_class_has_a_line() -> None:
    compared = served({"plain": [(0.9, None), (0.7, None)]}, classes=["cat", "dog"])

    cells = {line.label: line.cell(compared.rows[0]).text for line in quantities(compared)}

    assert (cells["class cat"], cells["class dog"]) == ("80 %", "–")  # noqa: RUF001


def test_figures_by_class_of_a_task_without_classes_are_one_line() -> None:
    without = arms_ending_at({"a": [0.8, 0.9]})
    with pytest.raises(UserError) as refused:
        without.class_frame()
    assert str(refused.value) == "figures by class cannot be given: no run has classes"

    unlike = [served_trial("a", 0, (0.5, 0.6)), served_trial("b", 0, (0.5, 0.6, 0.7))]
    with pytest.raises(UserError, match="arms have different classes"):
        compare("unlike", unlike, ACCURACY, 1, goal=0.1).class_frame()


def test_frames_have_the_worst_class_and_every_class() -> None:
    pytest.importorskip("pandas")
    compared = served(ARMS, CLIENTS)

    frame = compared.frame()
    assert frame.loc["fair", "worst_class_difference"] == pytest.approx(0.4)
    assert frame.loc["plain", "worst_class_name"] == "1" and np.isnan(frame.loc["plain", "worst_class_p_value"])
    assert frame.loc["plain", "worst_tenth"] == pytest.approx(0.25)

    classes = compared.class_frame()
    assert classes.index.tolist() == ["0", "1", "2"] and classes.columns.tolist() == ["plain", "fair"]
    assert classes.loc["1", "plain"] == pytest.approx(0.35)


def test_accuracies_of_classes_and_clients_are_rows_of_their_own() -> None:
    compared = served(ARMS, CLIENTS)
    classes, clients = compared.rounds(per="class"), compared.rounds(per="client")
    last = classes[(classes["arm"] == "plain") & (classes["seed"] == 0) & (classes["round"] == 3)]

    assert last["class"].tolist() == ["0", "1", "2"] and last["accuracy"].tolist() == list(ARMS["plain"][0])
    assert len(classes) == 2 * 2 * 2 * 3  # arms, seeds, evaluations, classes
    assert sorted(set(clients["client"])) == list(range(len(CLIENTS["plain"][0])))
    assert not {"by_class", "by_client"} & set(compared.rounds().columns)
    with pytest.raises(UserError, match="per must be class, client or None, got seed"):
        compared.rounds(per="seed")  # type: ignore[arg-type]
    with pytest.raises(UserError, match="no run has classes"):
        two_arms().rounds(per="class")


def test_worst_clients_are_compared_pair_by_pair_with_holms_correction() -> None:
    low = [[0.2, 0.9], [0.25, 0.9], [0.21, 0.9]]
    high = [[0.6, 0.9], [0.64, 0.9], [0.62, 0.9]]
    shares = [(0.8, 0.7), (0.8, 0.7), (0.8, 0.71)]
    found = worst_tenth_differences(served({"a": shares, "b": shares, "c": shares}, {"a": low, "b": high, "c": low}))

    assert found["b"].mean == pytest.approx((0.4 + 0.39 + 0.41) / 3) and found["b"].distinguishable
    raw, corrected = found["b"].p_value, found["b"].holm_p_value
    assert raw is not None and corrected == pytest.approx(2 * raw)  # of two comparisons
    assert not found["c"].distinguishable


def test_rows_as_facts_have_the_figures() -> None:
    facts = asdict(served(ARMS).rows[1])

    assert facts["worst_class"]["mean"] == pytest.approx(0.65)
    assert facts["worst_class_difference"]["n"] == 2
