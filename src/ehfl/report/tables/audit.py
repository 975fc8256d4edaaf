"""`ehfl audit`: what clients weigh in the mean and what that does to labels, arms as rows, and every figure."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import takewhile

import numpy as np

from ehfl.analysis.audit import Audit, alike
from ehfl.report.tables import cells
from ehfl.report.tables.output import Column, Output, number_column, pair_column, table_of
from ehfl.report.tables.render import Cell, Quantity, Table, lines_of
from ehfl.report.write import DASH, listed, percent

FEW_CLIENTS = 10  # each of which has a line of its own; more are shown in fifths
_MEANS = ("mean", "fednova", "fedprox", "fedavgm")  # in which participants weigh alike
_LABELS = "Label mixture"


def audit_output(title: str, audits: Sequence[Audit]) -> Output:
    """Return what `ehfl audit` prints."""
    fact = "weights in a plain mean of the participants; every client and class: --full"
    verdict, hint = tuple(audit_verdict(audits)), "weights and labels: --figure FILE.png"
    return Output((title, fact), audit_table(audits), verdict, (full_table(audits),), hint)


def audit_verdict(audits: Sequence[Audit]) -> list[str]:
    """Return whom the mean hears least under the arms where weights differ most, which arms are even, and cautions."""
    groups = alike(audits)
    idle = [group for group in groups if not group[0].chances.has_turns]
    even = [group for group in groups if not group[0].uneven and group not in idle]
    uneven = [group for group in groups if group not in idle and group not in even]
    found = []
    if uneven:
        worst = max(uneven, key=lambda group: group[0].chances.chi_square)
        found += list(_heard(worst[0], _under(worst)))
    found += [f"{_under(group)} {_even(group[0])}." for group in even]
    found += [f"{_under(group)} no client ever takes part." for group in idle]
    others = dict.fromkeys(audit.aggregation for audit in audits if audit.aggregation not in _MEANS)
    if others:
        found.append(f"{listed(others)} aggregate{'' if len(others) > 1 else 's'} otherwise than by a plain mean.")
    return found


def _under(group: Sequence[Audit]) -> str:
    return f"Under {together([audit.arm for audit in group])},"


def _even(audit: Audit) -> str:
    if audit.chances.exact:
        return "all clients weigh alike (chi^2 = 0, exactly)"
    return f"no client is shown to weigh more than another (chi^2 {cells.positive(audit.chi_square).text})"


def _heard(audit: Audit, under: str) -> Iterator[str]:
    least, most = int(audit.order[0]), int(audit.order[-1])
    weights = audit.chances.weights * audit.n_clients
    yield f"{under} client {least} weighs {weights[least]:.2f} of what is fair and client {most} {weights[most]:.2f}."
    if audit.deals and audit.matters:
        true, found = audit.mixture, audit.optimised
        ratios = np.divide(found, true, out=np.ones_like(found), where=true > 0)
        losing, gaining = (
            f"{percent(float(found[c]))} of class {audit.classes[c]} ({percent(float(true[c]))} in truth)"
            for c in (int(ratios.argmin()), int(ratios.argmax()))
        )
        yield f"The mean optimises a mixture with {losing} and {gaining}."


def together(labels: Sequence[str]) -> str:
    """Return one name for several arms: what their labels begin with is said once, and of many it stands for all.

    >>> together(["greedy"]), together(["round-robin", "round-robin:1"])
    ('greedy', 'round-robin and round-robin:1')
    >>> together(["shady: mean", "shady: mifa"]), together(["shady: mean", "shady: mifa", "shady: fedau"])
    ('shady: mean and mifa', 'shady (3 arms)')
    >>> together(["mean", "mifa", "fedau"])
    'mean and 2 more'
    """
    # Up to a sign that parts a label: what mean and mifa both begin with names nothing.
    parts = [re.findall(r"[^:/,]*[:/,] *|[^:/,]+$", label) for label in labels]
    common = [part[0] for part in takewhile(lambda found: len(set(found)) == 1, zip(*parts, strict=False))]
    shared, rest = "".join(common), ["".join(part[len(common) :]) for part in parts]
    if len(labels) < 3:
        return " and ".join([labels[0], *rest[1:]])
    return f"{shared.rstrip(':/, ')} ({len(labels)} arms)" if shared else f"{labels[0]} and {len(labels) - 1} more"


# The compact table.


def audit_table(audits: Sequence[Audit]) -> Table:
    """Return arms as rows, those with the same figures in one."""
    shown = {together([audit.arm for audit in group]): group[0] for group in alike(audits)}
    exact = all(audit.chances.exact for audit in shown.values())
    note = "weight x N: 1 is fair"
    if any(audit.deals for audit in audits):
        note += "; labels moved: share of the mixture that lies with other labels"
    intervals = "" if exact else "; ± 95 % interval over simulated seeds"
    return table_of(list(_columns(shown)), list(shown), f"{note}{intervals}")


def _columns(shown: dict[str, Audit]) -> Iterator[Column]:
    heard = {label: audit for label, audit in shown.items() if audit.chances.has_turns}

    def column(head: str, of: Callable[[Audit], float | None], factor: float = 1.0) -> Column:
        return number_column(head, {label: of(audit) if label in heard else None for label, audit in shown.items()},
                             factor)  # fmt: skip

    def weight(place: int) -> Column:
        return column("", lambda audit: float(audit.chances.weights[audit.order[place]]) * audit.n_clients)

    def turns(place: int) -> Column:
        return column("", lambda audit: float(audit.chances.probabilities[audit.order[place]]), 100)

    yield ("\nknown", {label: _known(audit).text for label, audit in shown.items()})
    yield number_column("\nchi^2", {label: heard[label].chi_square if label in heard else None for label in shown})
    yield pair_column("weight x N,\nleast-most", weight(0), weight(-1), "-")
    if any(audit.deals for audit in shown.values()):
        yield column("labels\nmoved [%]", lambda audit: audit.moved if audit.deals else None, 100)
    if any(audit.spread is not None for audit in shown.values()):
        floors = {label: heard[label].floor if label in heard else None for label in shown}
        yield number_column("floor on\n|grad f|^2", floors)
    yield pair_column("their turns\n[% rounds]", turns(0), turns(-1), "-")


# Every figure.


def full_table(audits: Sequence[Audit]) -> Table:
    """Return every figure, arms side by side, those with the same figures in one column."""
    groups = alike(audits)
    shown = [group[0] for group in groups]
    names = tuple(together([audit.arm for audit in group]) for group in groups)
    return Table(names, lines_of(audited(shown), shown), caption(shown))


def audited(audits: Sequence[Audit]) -> Iterator[Quantity[Audit]]:
    """Yield the lines for arms side by side; classes have lines where any arm's weights move their shares."""
    group, fair = "Weight in the mean", "N sum (q_i - 1/N)^2: 0 where all clients weigh alike"
    yield Quantity(group, "known", "Computed exactly, or estimated from n simulated seeds", _known)
    yield Quantity(group, "chi^2", fair, _if_heard(lambda audit: cells.positive(audit.chi_square)))
    yield Quantity(group, "least heard client", "The smallest weight q_i", _extreme(0))
    yield Quantity(group, "most heard client", "The largest weight q_i", _extreme(-1))
    yield from _group_lines(audits, group)
    if any(audit.spread is not None for audit in audits):
        floor, zeta = "chi^2 zeta^2: what the weights can leave it at", "Mean over clients of |grad f_i - grad f|^2"
        yield Quantity(group, "floor on |grad f|^2", floor, _if_heard(lambda audit: cells.positive(audit.floor)))
        yield Quantity(group, "zeta^2", f"{zeta} at the first model", lambda audit: cells.amount(audit.spread),
                       nested=True)  # fmt: skip
    if any(audit.deals for audit in audits):
        meaning = "Share of the label mixture that lies with other labels"
        moved = _if_heard(lambda audit: cells.share(audit.moved) if audit.deals else cells.NONE)
        yield Quantity(_LABELS, "labels moved", meaning, moved)
    if any(audit.uneven for audit in audits):
        yield from map(_class_line, dict.fromkeys(name for audit in audits if audit.deals for name in audit.classes))


def caption(audits: Sequence[Audit]) -> str:
    """Return what stands below the table."""
    mixed = any(audit.deals for audit in audits) and any(audit.uneven for audit in audits)
    parts = [
        f"{'clients' if _is_small(audits) else 'fifths'}: share of rounds that a client takes part in, and weight",
        "classes: share in what the mean optimises (in brackets: the true one)" if mixed else "",
        "95 % t-intervals over simulated seeds" if any(not audit.chances.exact for audit in audits) else "",
    ]
    return "; ".join(part for part in parts if part)


def _known(audit: Audit) -> Cell:
    if audit.chances.exact:
        return Cell("exactly")
    return Cell(f"{audit.chances.seeds} seeds" if audit.chances.seeds > 1 else "one seed")


def _if_heard(cell: Callable[[Audit], Cell]) -> Callable[[Audit], Cell]:
    """Return what gives the cell, a dash where no client ever takes part."""
    return lambda audit: cell(audit) if audit.chances.has_turns else cells.NONE


def _extreme(place: int) -> Callable[[Audit], Cell]:
    return _if_heard(lambda audit: cells.share(audit.weight_of(int(audit.order[place]))))


def _is_small(audits: Sequence[Audit]) -> bool:
    return all(audit.n_clients <= FEW_CLIENTS for audit in audits)


def _group_lines(audits: Sequence[Audit], title: str) -> list[Quantity[Audit]]:
    """Return a line for each client, or for each fifth of them: how often it is heard, and what it weighs."""
    groups = Audit.singles if _is_small(audits) else Audit.fifths
    names = [group.name for group in max(map(groups, audits), key=len)]
    meaning = "Share of the rounds in which a client takes part, and weight of all of them together"

    def cell(place: int, audit: Audit) -> Cell:
        found = groups(audit)
        if place >= len(found):
            return cells.NONE
        weight = percent(found[place].weight) if audit.chances.has_turns else DASH
        return Cell(f"{percent(found[place].probability)}, {weight}")

    return [Quantity(title, name, meaning, partial(cell, place), nested=True) for place, name in enumerate(names)]


def _class_line(name: str) -> Quantity[Audit]:
    def cell(audit: Audit) -> Cell:
        if name not in audit.classes or not audit.chances.has_turns:
            return cells.NONE
        place = audit.classes.index(name)
        return Cell(f"{percent(float(audit.optimised[place]))} ({percent(float(audit.mixture[place]))})")

    meaning = "Share of these labels in what the mean optimises, and in brackets where all clients weigh alike"
    return Quantity(_LABELS, f"class {name}", meaning, cell, nested=True)
