"""Audits in words and in a figure."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ehfl.analysis import Trial, compare
from ehfl.analysis.audit import Audit
from ehfl.energy import Bernoulli, Fleet
from ehfl.report.figures import style
from ehfl.report.figures.audit import audit_figure, weights_figure
from ehfl.report.figures.looks import looks
from ehfl.report.folder import as_facts
from ehfl.report.tables.audit import audit_output, audit_table, audit_verdict
from ehfl.report.tables.comparison import quantities
from ehfl.report.tables.output import table_of
from ehfl.scheduling import Chances, chances, simulate
from made_trials import ACCURACY, made_trial

TEN = Fleet(clients=10, harvest=Bernoulli(np.linspace(0.1, 0.9, 10)))
ALIKE = Fleet(clients=10, harvest=Bernoulli(0.5))
CLASSES = tuple("01234")


def labels() -> np.ndarray[tuple[int, int], np.dtype[np.int64]]:
    """Two clients for each class, but for one example of class 4, that client 0 holds."""
    counts = np.repeat(np.eye(5, dtype=np.int64) * 9, 2, axis=0)
    counts[0, 4] = 1
    return counts


def audited(fleet: Fleet, scheduler: str = "greedy", aggregation: str = "mean", **given: float) -> Audit:
    found: Chances = chances(fleet, scheduler, rounds=50, seeds=10)
    return Audit(scheduler, found, CLASSES, (labels(),), aggregation=aggregation, **given)


def test_the_least_heard_are_named_with_what_the_mean_optimises() -> None:
    assert audit_verdict([audited(TEN, spread=2.0)]) == [
        "Under greedy, client 0 weighs 0.18 of what is fair and client 9 1.92.",
        "The mean optimises a mixture with 5.1 % of class 0 (19.0 % in truth) and 36.2 % of class 4 (21.0 % in truth).",
    ]


def test_equal_clients_weigh_alike_exactly_or_as_far_as_seeds_tell() -> None:
    exact, guessed = audit_verdict([audited(ALIKE), audited(ALIKE, "round-robin")])

    assert exact == "Under greedy, all clients weigh alike (chi^2 = 0, exactly)."
    assert guessed.startswith("Under round-robin, no client is shown to weigh more than another (chi^2 <")


def test_arms_that_differ_in_their_aggregation_alone_share_a_row_and_are_no_means() -> None:
    first = audited(TEN)
    other = Audit("memory", first.chances, first.classes, first.deals, aggregation="mifa")
    sentences = audit_verdict([first, other])

    assert sentences[0].startswith("Under greedy and memory, client 0 weighs 0.18")
    assert sentences[-1] == "mifa aggregates otherwise than by a plain mean."
    assert [line.label for line in audit_table([first, other]).lines] == ["greedy and memory"]
    assert sum("client 0" in sentence for sentence in sentences) == 1


def test_the_verdict_is_on_the_arms_where_weights_differ_most() -> None:
    mild = audited(Fleet(clients=10, harvest=Bernoulli(np.linspace(0.4, 0.6, 10))))
    sentences = audit_verdict([mild, audited(TEN, aggregation="fedprox")])

    assert sentences[0].endswith("client 9 1.92.")
    assert sum("weighs" in sentence for sentence in sentences) == 1


def test_the_compact_table_has_weights_turns_and_the_floor() -> None:
    table = audit_table([audited(TEN, spread=2.0)])
    names = [name.replace("\n", " ").strip() for name in table.names]

    assert dict(zip(names, (cell.text for cell in table.lines[0].cells), strict=True)) == {
        "known": "exactly",
        "chi^2": "0.305",
        "weight x N, least-most": "0.180-1.92",
        "labels moved [%]": "22.5",
        "floor on |grad f|^2": "0.610",
        "their turns [% rounds]": "10-90",
    }


def test_arms_of_one_group_stand_under_its_name() -> None:
    labels = ["sunny: myopic", "sunny: greedy", "shady: greedy"]
    table = table_of([("n", dict.fromkeys(labels, "1"))], labels)

    assert [(line.group, line.label) for line in table.lines] == [
        ("sunny", "myopic"), ("sunny", "greedy"), ("shady", "greedy"),
    ]  # fmt: skip
    apart = table_of([("n", dict.fromkeys(labels[1:], "1"))], labels[1:])
    assert [line.label for line in apart.lines] == labels[1:]  # nothing to fold


def test_where_no_client_is_heard_that_is_all_there_is_to_say(tmp_path: Path) -> None:
    audit = audited(Fleet(clients=10, harvest=Bernoulli(0.0)), spread=1.0)

    assert audit_verdict([audit]) == ["Under greedy, no client ever takes part."]
    assert "–" in audit_output("none", [audit]).table.text()  # noqa: RUF001
    style.save(audit_figure([audit], looks({"greedy": "greedy"})), tmp_path / "none.png")


def test_the_figure_has_weights_above_and_labels_below() -> None:
    audits = [audited(TEN), audited(ALIKE, "round-robin")]
    weights, mixture = audit_figure(audits, looks({"greedy": "greedy", "round-robin": "round-robin"})).axes

    drawn = weights.lines[0].get_ydata()
    assert np.asarray(drawn).tolist() == audits[0].chances.weights.tolist()
    heights = [patch.get_height() for patch in mixture.patches]  # type: ignore[attr-defined]
    assert heights[:5] == pytest.approx(audits[0].optimised.tolist())


def test_without_labels_there_are_weights_alone() -> None:
    audit = Audit("greedy", chances(TEN, "greedy", rounds=50))

    assert len(audit_figure([audit], looks({"greedy": "greedy"})).axes) == 1
    assert len(audit_verdict([audit])) == 1


# what was played


def played(scheduler: str, seeds: int, fleet: Fleet = TEN) -> list[Trial]:
    """Return trials of ten clients, each with labels of its own class, that took part as a scheduler let them."""
    runs = [made_trial(scheduler, seed, [0.5, 0.6], [1] * 2) for seed in range(seeds)]
    return [
        replace(
            trial,
            participation=simulate(fleet, scheduler, rounds=60, seed=trial.seed),
            records=[replace(trial.records[0], round=t) for t in range(60)],
            classes=CLASSES,
            labels=labels(),
        )
        for trial in runs
    ]


def test_a_comparison_shows_who_was_heard_where_its_seeds_show_it() -> None:
    several = compare("unequal", played("greedy", 4), ACCURACY, target=5)

    assert weights_figure(several) is not None
    (row,) = several.rows
    assert row.chi_square is not None and row.chi_square.low is not None and row.chi_square.low > 0.1
    assert row.least_weight < 0.5 and row.most_weight > 1.5
    assert row.labels_moved is not None and row.labels_moved > 0.1
    assert as_facts(several)["weights"][0]["mixture"]["true"]["0"] == pytest.approx(0.19)


@pytest.mark.parametrize(("seeds", "fleet"), [(1, TEN), (4, ALIKE)], ids=["one seed", "equal clients"])
def test_what_seeds_do_not_show_is_not_said(seeds: int, fleet: Fleet) -> None:
    found = compare("equal", played("greedy", seeds, fleet), ACCURACY, target=5)

    assert weights_figure(found) is None
    assert found.rows[0].chi_square is not None


def test_the_table_has_the_weights_and_what_they_do_to_labels() -> None:
    found = compare("unequal", [*played("greedy", 2), *played("myopic", 2)], ACCURACY, target=5)
    labels_of = [line.label for line in quantities(found)]

    assert labels_of[labels_of.index("chi^2 of weights") :][:4] == [
        "chi^2 of weights", "smallest weight [1/N]", "largest weight [1/N]", "labels moved"
    ]  # fmt: skip
