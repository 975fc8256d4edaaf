"""Who is served, as people see it: the map of classes, sentences, the page's chart, and the rounds as text."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ehfl.analysis import Comparison, compare
from ehfl.report import comparison_table
from ehfl.report.figures import style
from ehfl.report.figures.classes import MOST, classes_figure, drawn_classes
from ehfl.report.figures.comparison import caption_of, draw_all
from ehfl.report.folder import as_facts, rounds_csv
from ehfl.report.pages.chart import chart_data
from ehfl.report.pages.comparison import write_page
from ehfl.runs import Metric
from made_served import served, served_trial
from made_trials import ACCURACY, arms_ending_at

# Class 1 is the worst under greedy with every seed; its paired difference to mifa is 0.5, 0.48, 0.5.
GREEDY = [(0.90, 0.30, 0.90), (0.90, 0.35, 0.80), (0.95, 0.32, 0.90)]
MIFA = [(0.90, 0.80, 0.90), (0.90, 0.83, 0.90), (0.95, 0.82, 0.90)]
NOISY = [(0.90, 0.10, 0.90), (0.90, 0.60, 0.80), (0.95, 0.32, 0.90)]
CLIENTS = {"greedy": [[0.3, 0.9]] * 3, "mifa": [[0.8, 0.9]] * 3}


def numbers(comparison: Comparison) -> list[str]:
    figure = classes_figure(comparison)
    assert figure is not None
    return [text.get_text() for text in figure.axes[0].texts]


def test_the_map_has_a_cell_for_each_class_and_arm_and_the_average_above() -> None:
    compared = served({"greedy": GREEDY, "mifa": MIFA}, classes=["cat", "dog", "owl"])

    figure = classes_figure(compared)

    assert figure is not None
    axes = figure.axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["all", "cat", "dog", "owl"]
    assert [label.get_text() for label in axes.get_xticklabels()] == ["greedy", "mifa"]
    assert numbers(compared) == ["92", "92", "32", "82", "87", "90", "70", "88"]  # classes, then all
    framed = [box.get_center() for box in axes.patches]  # type: ignore[attr-defined]
    np.testing.assert_allclose(framed, [(0, 1), (1, 1)], atol=1e-12)
    caption = "Accuracy of the last model on each class [%], mean over 3 seeds. Darker is lower; framed:"
    assert caption_of("classes", compared).startswith(caption)


def test_of_many_classes_those_are_drawn_that_some_arm_serves_worst() -> None:
    shares = np.linspace(0.99, 0.01, 100)
    compared = served({"greedy": [shares.tolist()], "mifa": [[0.0, *shares[1:].tolist()]]})

    drawn = drawn_classes(np.array([shares, [0.0, *shares[1:]]]).T)

    assert drawn == [0, *range(71, 100)]
    assert len(numbers(compared)) == 2 * (MOST + 1)
    assert caption_of("classes", compared).endswith("Shown are the 30 classes, of 100, that some arm serves worst.")


def test_the_map_leaves_out_what_is_not_known() -> None:
    untested = served({"greedy": [(0.9, None, 0.5)]}, classes=["cat", "dog", "owl"])
    assert numbers(untested) == ["90", "50", "70"]
    assert caption_of("classes", untested).endswith(" Not shown (no test examples): dog.")

    older = replace(served_trial("older", 0, (0.9, 0.5)), classes=())
    mixed = compare("mixed", [served_trial("greedy", 0, (0.9, 0.5)), older], ACCURACY, 1, goal=0.1)
    assert numbers(mixed) == ["90", "50", "70"]
    assert caption_of("classes", mixed).endswith(" Not shown (no classes): older.")

    assert classes_figure(arms_ending_at({"a": [0.8]})) is None
    unlike = [served_trial("a", 0, (0.5, 0.6)), served_trial("b", 0, (0.5, 0.6, 0.7))]
    assert classes_figure(compare("unlike", unlike, ACCURACY, 1, goal=0.1)) is None


def test_an_average_of_another_kind_does_not_stand_above_classes() -> None:
    trials = [served_trial("greedy", seed, shares) for seed, shares in enumerate(GREEDY)]
    other = compare("f1", trials, Metric("macro F1", bounds=(0, 1)), 1, goal=0.1)

    assert numbers(other) == ["92", "32", "87"]


@pytest.mark.parametrize(("arms", "classes"), [(1, 2), (6, 10), (12, 100)])
def test_maps_of_every_size_can_be_written(tmp_path: Path, arms: int, classes: int) -> None:
    chance = np.random.default_rng(0)
    shares = {f"$arm {n}, {'long ' * 9}": [chance.random(classes).tolist()] for n in range(arms)}

    figure = classes_figure(served(shares))

    assert figure is not None
    style.save(figure, tmp_path / "classes.svg")
    assert 1 < figure.get_figheight() < 10 and figure.get_figwidth() <= 7.2


def test_a_comparison_without_classes_shows_nothing_of_them(tmp_path: Path) -> None:
    compared = arms_ending_at({"greedy": [0.8, 0.9], "myopic": [0.7, 0.9]})

    assert all(arm["worst"] is None for arm in chart_data(compared)["arms"])
    assert "classes" not in as_facts(compared) and "by_class" not in rounds_csv(compared)
    write_page(compared, [], tmp_path / "page.html", spec="", facts={}, commands=[])
    assert "worst" not in (tmp_path / "page.html").read_text().partition("<script")[0]


def test_the_page_draws_the_worst_class_over_the_rounds(tmp_path: Path) -> None:
    compared = served({"greedy": GREEDY, "mifa": MIFA})

    greedy = chart_data(compared)["arms"][0]
    write_page(compared, [], tmp_path / "page.html", spec="", facts={}, commands=[])

    assert greedy["rounds"] == [0, 2, 4]
    assert greedy["worst"]["mean"] == pytest.approx([0.1, 0.97 / 6, 0.97 / 3], abs=1e-6)
    assert greedy["worst"]["text"][-1] == "32.3 % (26.1 to 38.6)"
    assert 'data-value="worst"' in (tmp_path / "page.html").read_text()


def test_figures_facts_and_tables_have_the_classes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(style, "save", lambda figure, path: None)
    compared = served({"greedy": GREEDY, "mifa": MIFA}, classes=["cat", "dog", "owl"])

    assert [drawing.name for drawing in draw_all(compared, tmp_path)][:3] == ["learning", "differences", "classes"]
    facts = as_facts(compared)
    assert facts["classes"] == ["cat", "dog", "owl"]
    assert facts["by_class"]["greedy"] == pytest.approx([2.75 / 3, 0.97 / 3, 2.6 / 3])
    labels = [line.label for line in comparison_table(compared).lines]
    assert labels[-3:] == ["class cat", "class dog", "class owl"]


def test_accuracies_go_into_the_rounds_as_text() -> None:
    compared = served({"greedy": [(0.9, None, 0.123456789)]}, {"greedy": [[0.25, 0.75]]})

    *_, last = csv.DictReader(io.StringIO(rounds_csv(compared)))

    assert (last["by_class"], last["by_client"], last["first_by_class"]) == ("0.9 nan 0.123457", "0.25 0.75", "")


def two_fleets() -> Comparison:
    arms = {"Equal fleet: greedy": MIFA, "Unequal fleet: greedy": GREEDY, "Unequal fleet: mifa": MIFA}
    trials = [served_trial(arm, seed, shares) for arm, mine in arms.items() for seed, shares in enumerate(mine)]
    worlds = [replace(trial, weather=trial.arm.partition(":")[0]) for trial in trials]
    return compare("fleets", worlds, ACCURACY, 1, goal=0.1)
