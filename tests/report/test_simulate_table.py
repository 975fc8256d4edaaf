"""What schedulers made of a fleet's energy, over seeds: lines of the table, and how they are worked out by hand."""

from __future__ import annotations

import pytest

from ehfl.report.tables.simulate import Simulations, full_table, simulate_table, simulated
from made_trials import made_participation


def made(*counts: list[int], target: int = 2) -> Simulations:
    return Simulations(tuple(made_participation(one).summary(target) for one in counts))


def shown(many: Simulations) -> list[str]:
    return full_table({"a [1]": many}).text(80).splitlines()


def test_the_table_of_one_seed_shows_its_lines() -> None:
    lines = shown(made([1, 2, 0, 1]))

    assert lines[0].strip() == "a [1]"  # brackets are no markup
    labels = [f"{'  ' if line.nested else ''}{line.label}" for line in simulated()]
    assert [line.rsplit("  ", 1)[0].rstrip() for line in lines[1:]] == labels
    found = {label.strip(): line.split("  ")[-1].strip() for label, line in zip(labels, lines[1:], strict=True)}
    assert found["participants, mean"] == "1"  # of 1, 2, 0, 1
    assert found["standard deviation"] == "0.707"  # of deviations 0, 1, -1, 0
    assert (found["lowest"], found["highest"], found["rounds on target"]) == ("0", "2", "25.0 %")
    assert found["longest streak short"] == "2"  # rounds 2 and 3; round 0 stands alone


@pytest.mark.parametrize(
    ("counts", "streak"),
    [([2, 2], 0), ([0, 2, 1, 1, 2], 2), ([1, 1, 1], 3), ([2, 2, 1], 1), ([3, 0, 0, 2, 0, 0, 0], 3)],
)
def test_the_longest_streak_below_the_target_is_counted(counts: list[int], streak: int) -> None:
    assert made_participation(counts).summary(2).worst_streak == streak


def test_several_seeds_give_means_intervals_and_the_seeds_on_target() -> None:
    # 20 rounds each: the first is below target in one of them (95 % on target), the second in two (90 %)
    many = made([2] * 19 + [0], [2] * 18 + [0, 0], [2] * 20)

    facts = many.as_facts()
    assert facts["seeds_on_target"] == pytest.approx(2 / 3)
    assert facts["estimates"]["worst_streak"]["mean"] == 1
    # 1, 2 and 0 have the standard deviation 1, so the interval is 4.303 / sqrt(3) to each side
    assert facts["estimates"]["worst_streak"]["high"] == pytest.approx(1 + 2.4841, abs=1e-4)
    assert facts["estimates"]["on_target"]["mean"] == pytest.approx(0.95)
    assert "rounds" not in facts["estimates"]

    text = " ".join(" ".join(line.split()) for line in shown(many))
    assert "in the worst seed 2 seeds on target 2 of 3 " in text
    assert "rounds on target 95 % ± 12 " in text


def test_the_compact_table_has_schedulers_as_rows() -> None:
    table = simulate_table({"a": made([1, 2, 0, 1]), "b": made([2, 2, 2, 2])})
    names = [name.replace("\n", " ") for name in table.names]

    assert [line.label for line in table.lines] == ["a", "b"]
    cells = dict(zip(names, ([line.cells[place].text for line in table.lines] for place in range(len(names))),
                     strict=True))  # fmt: skip
    assert cells["clients a round, sd"] == ["1, 0.707", "2, 0.000"]
    assert cells["fewest to most"] == ["0-2", "2-2"]
    assert cells["2 clients [% rounds]"] == [" 25", "100"]
    assert cells["longest short"] == ["2", "0"]
