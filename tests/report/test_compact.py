"""The compact table: arms as rows, the same decimals down a column, at most the width asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ehfl.report.tables.compact import compact_table
from ehfl.report.tables.render import Table
from made_joules import hours_and_joules, two_lengths
from made_trials import arms_ending_at, two_worlds

APART = {"myopic": [0.90, 0.92, 0.94, 0.93, 0.91], "greedy": [0.80, 0.83, 0.84, 0.82, 0.80]}


def column(table: Table, *head: str) -> dict[str, str]:
    place = table.names.index("\n".join(head))
    return {line.label: line.cells[place].text for line in table.lines}


def test_a_table_worked_by_hand() -> None:
    """Student's t with four degrees of freedom, 2.776, times 0.0158, 0.0179 and 0.0084 over sqrt(5)."""
    table = compact_table(arms_ending_at(APART, goal=0.6))

    assert table.title == "small: accuracy, 8 rounds, 5 seeds, 3 of 6 clients wanted a round"
    assert column(table, "accuracy", "[%]") == {"myopic": "92.0 ± 2.0", "greedy": "81.8 ± 2.2"}
    assert column(table, "difference", "[points]") == {"myopic": "baseline", "greedy": "-10.2 ± 1.0*"}
    assert column(table, "clients", "a round, sd") == {"myopic": "3.00, 0", "greedy": "3.00, 0"}
    assert table.caption == "± 95 % interval over seeds; * p < 0.05 against the baseline, paired t-test"


def test_worlds_are_groups_and_labels_lose_their_name() -> None:
    table = compact_table(two_worlds())
    lines = table.text().splitlines()

    assert list(dict.fromkeys(line.group for line in table.lines)) == ["Equal fleet", "Unequal fleet"]
    assert lines[2] == "Equal fleet" and lines[3].startswith("  myopic ")
    assert lines[-1].endswith("Holm-corrected")


@pytest.mark.parametrize("width", [40, 60, 80, 100])
def test_columns_that_do_not_fit_are_left_out_and_named(width: int) -> None:
    table = compact_table(two_worlds())
    text = table.text(width)

    assert max(map(len, text.splitlines())) <= width
    missing = [name for name in table.names if name.split("\n")[0] not in text.split("not shown here")[0]]
    assert all(name.replace("\n", " ").strip() in " ".join(text.split()) for name in missing)


def test_fifty_arms_fold_to_those_that_differ() -> None:
    base = [0.80, 0.82, 0.84, 0.81, 0.83]
    noise = {f"arm-{i}": [x + 0.01 * (-1) ** (i + at) for at, x in enumerate(base)] for i in range(48)}
    better = [x + 0.1 + 0.001 * at for at, x in enumerate(base)]
    table = compact_table(arms_ending_at({"base": base, "better": better} | noise))

    *shown, folded = [line.label for line in table.lines]
    assert shown[:2] == ["base", "better"] and len(shown) == 15
    assert folded == "35 more, closer to their baseline: --full"
    assert f"\n{folded}\n" in table.text() and folded in table.html()
    assert max(map(len, table.text(80).splitlines())) <= 80


def test_a_goal_that_some_runs_miss_is_counted() -> None:
    table = compact_table(arms_ending_at({"myopic": [0.9, 0.92], "greedy": [0.8, 0.95]}, goal=0.9))

    assert column(table, "rounds to", "90.0 %")["greedy"] == "1 of 2"


def test_energies_and_times_have_units() -> None:
    assert any(name.endswith(("[J]", "Wh]")) for name in compact_table(hours_and_joules()).names)
    assert any(name.startswith("time to") and name.endswith("\n[h]") for name in compact_table(two_lengths()).names)


def test_labels_are_escaped_and_long_ones_cut() -> None:
    long = "x" * 70
    table = compact_table(arms_ending_at({"<b>": [0.9, 0.8], long: [0.7, 0.8]}))

    assert "&lt;b&gt;" in table.html() and "<b>" not in table.html()
    assert long in table.html() and long not in table.text() and "xxx..." in table.text()


def test_one_seed_has_no_intervals() -> None:
    table = compact_table(arms_ending_at({"myopic": [0.912], "greedy": [0.8]}))

    assert column(table, "accuracy", "[%]") == {"myopic": "91.2", "greedy": "80.0"}
    assert table.caption == "one seed: no intervals"


def test_the_setting_names_task_and_local_steps_where_arms_share_them() -> None:
    found = arms_ending_at(APART)
    spec = {"learning": {"task": {"name": "digits"}, "local_steps": 5}}
    arms = tuple(replace(arm, trials=tuple(replace(one, spec=spec) for one in arm.trials)) for arm in found.arms)

    assert compact_table(replace(found, arms=arms)).title.startswith(
        "small: accuracy on digits, 8 rounds, K = 5, 5 seeds"
    )


@pytest.mark.parametrize(("epochs", "text"), [((2, 2), ", local epochs: 2, "), ((2, 3), ", "), ((2, None), ", ")])
def test_the_setting_names_epochs_where_turns_are_epochs(epochs: tuple[int | None, ...], text: str) -> None:
    found = arms_ending_at(APART)
    arms = []
    for arm, number in zip(found.arms, epochs, strict=True):
        learning = {"task": {"name": "digits"}, "local_steps": 5, "local_epochs": number}
        arms.append(replace(arm, trials=tuple(replace(one, spec={"learning": learning}) for one in arm.trials)))

    assert f"8 rounds{text}5 seeds" in compact_table(replace(found, arms=tuple(arms))).title
