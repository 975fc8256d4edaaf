"""The lines of the table of `ehfl audit`: an arm a column."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ehfl.analysis.audit import Audit, Group
from ehfl.analysis.cells import Cell, Quantity, amount_cell, metric_cell, percent_cell, positive_cell
from ehfl.analysis.numbers import DASH, percent
from ehfl.history import Metric

FEW_CLIENTS = 10  # each of which has a line of its own; more are shown in fifths
MOST_CLASSES = 12  # that are shown unless all are asked for
_SHARE = Metric("share", bounds=(0, 1))


def audited(audits: Sequence[Audit], *, every_class: bool = False) -> list[Quantity[Audit]]:
    """Return the lines for arms side by side: where there are many classes, those that some arm's weights move most."""
    weights, labels = "Weight in the mean", "Label mixture"
    lines: list[Quantity[Audit]] = [
        Quantity(weights, "known", "Computed, or estimated from so many simulated seeds", _known),
        Quantity(weights, "chi^2", "N sum (q_i - 1/N)^2: 0 where all clients weigh alike",
                 _if_heard(lambda audit: positive_cell(audit.chi_square))),
        Quantity(weights, "least heard client", "The smallest weight q_i", _extreme(0)),
        Quantity(weights, "most heard client", "The largest weight q_i", _extreme(-1)),
        *_group_lines(audits),
    ]  # fmt: skip
    if any(audit.spread is not None for audit in audits):
        lines += [
            Quantity(weights, "floor on |grad f|^2", "chi^2 zeta^2: what the weights can leave it at",
                     _if_heard(lambda audit: positive_cell(audit.floor))),
            Quantity(weights, "zeta^2", "Mean over clients of |grad f_i - grad f|^2 at the first model",
                     lambda audit: amount_cell(audit.spread), nested=True),
        ]  # fmt: skip
    if any(audit.deals for audit in audits):
        meaning = "Share of the label mixture that lies with other labels"
        moved = _if_heard(lambda audit: percent_cell(audit.moved) if audit.deals else Cell(DASH))
        lines.append(Quantity(labels, "labels moved", meaning, moved))
    shown = shown_classes(audits, every_class=every_class)
    return [*lines, *map(_class_line, shown)]


def caption(audits: Sequence[Audit], *, every_class: bool = False) -> str:
    """Return what stands below the table."""
    shown, of = shown_classes(audits, every_class=every_class), len(shown_classes(audits, every_class=True))
    left_out = f"{of - len(shown)} of {of} classes, which are moved least, left out" if 0 < len(shown) < of else ""
    parts = [
        "weights are a plain mean's, whatever an arm aggregates by",
        f"{'clients' if _is_small(audits) else 'fifths'}: share of rounds that a client takes part in, and weight",
        "classes: share in what the mean optimises (in brackets: the true one)" if shown else "",
        "95 % t-intervals over simulated seeds" if any(not audit.chances.exact for audit in audits) else "",
        left_out,
    ]
    return "; ".join(part for part in parts if part)


def shown_classes(audits: Sequence[Audit], *, every_class: bool = False) -> list[str]:
    """Return the names of the classes that have lines, in their order."""
    moved: dict[str, float] = {}
    if not every_class and not any(audit.uneven for audit in audits):
        return []  # their shares are the true ones
    for audit in (audit for audit in audits if audit.deals):
        for name, gap in zip(audit.classes, np.abs(audit.optimised - audit.mixture).tolist(), strict=True):
            moved[name] = max(moved.get(name, 0.0), gap)
    if every_class or len(moved) <= MOST_CLASSES:
        return list(moved)
    most = sorted(moved, key=lambda name: -moved[name])[:MOST_CLASSES]
    return [name for name in moved if name in most]


def _known(audit: Audit) -> Cell:
    if audit.chances.exact:
        return Cell("exactly")
    return Cell(f"by {audit.chances.seeds} seeds" if audit.chances.seeds > 1 else "by one seed")


def _if_heard(cell: Callable[[Audit], Cell]) -> Callable[[Audit], Cell]:
    """Return what gives the cell, a dash where nobody ever takes part."""
    return lambda audit: cell(audit) if audit.chances.anybody else Cell(DASH)


def _extreme(place: int) -> Callable[[Audit], Cell]:
    def cell(audit: Audit) -> Cell:
        return metric_cell(_SHARE, audit.weight_of(int(audit.order[place])))

    return _if_heard(cell)


def _is_small(audits: Sequence[Audit]) -> bool:
    return all(audit.n_clients <= FEW_CLIENTS for audit in audits)


def _group_lines(audits: Sequence[Audit]) -> list[Quantity[Audit]]:
    """Return a line for each client, or for each fifth of them: how often it is heard, and what it weighs."""
    groups = Audit.singles if _is_small(audits) else Audit.fifths
    names = [group.name for group in max(map(groups, audits), key=len)]
    meaning = "Share of the rounds in which a client takes part, and weight of all of them together"
    return [
        Quantity("Weight in the mean", name, meaning, _in_group(groups, place), nested=True)
        for place, name in enumerate(names)
    ]


def _in_group(groups: Callable[[Audit], list[Group]], place: int) -> Callable[[Audit], Cell]:
    def cell(audit: Audit) -> Cell:
        found = groups(audit)
        if place >= len(found):
            return Cell(DASH)
        weight = percent(found[place].weight) if audit.chances.anybody else DASH
        return Cell(f"{percent(found[place].turns)}, {weight}")

    return cell


def _class_line(name: str) -> Quantity[Audit]:
    def cell(audit: Audit) -> Cell:
        if name not in audit.classes or not audit.chances.anybody:
            return Cell(DASH)
        place = audit.classes.index(name)
        return Cell(f"{percent(float(audit.optimised[place]))} ({percent(float(audit.mixture[place]))})")

    meaning = "Share of these labels in what the mean optimises, and in brackets where all clients weigh alike"
    return Quantity("Label mixture", f"class {name}", meaning, cell, nested=True)
