"""What `ehfl audit` says of weights in the mean, in sentences."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ehfl.analysis.audit import HARDLY_HEARD, Audit, Group
from ehfl.analysis.audit_groups import alike, together
from ehfl.analysis.intervals import upper_end, write_amount
from ehfl.analysis.numbers import amount, percent
from ehfl.report.phrases import listed, spoken

_MEANS = ("mean", "fednova", "fedprox", "fedavgm")  # in which participants weigh alike
_MUCH = 1.5  # times its fair share of a class from which on it is worth a sentence that a group holds so much of it


def audit_sentences(audits: Sequence[Audit]) -> list[str]:
    """Return what `ehfl audit` says, arms with the same figures together."""
    said = [sentence for group in alike(audits) for sentence in _before(group)]
    return [*said, *_not_means(audits)]


def _before(group: Sequence[Audit]) -> Iterator[str]:
    audit, under = group[0], _under(audit.arm for audit in group)
    if not audit.chances.anybody:
        yield f"{under} nobody ever takes part."
    elif not audit.uneven:
        yield f"{under} {_even(audit)}."
    else:
        yield f"{under} {_extremes(audit)}."
        yield from _held(audit)
        yield from _mixed(audit)
        yield from _floor(audit)


def _even(audit: Audit) -> str:
    if audit.chances.exact:
        return "all clients weigh alike in a plain mean (chi^2 = 0, exactly)"
    told = f"chi^2 < {upper_end(audit.chi_square)} by {audit.chances.seeds} seeds"
    return f"no client can be told to weigh more than another in a plain mean ({told})"


def _under(arms: Iterable[str]) -> str:
    return f"Under {together(list(map(spoken, arms)))}"


def _extremes(audit: Audit) -> str:
    least, most = int(audit.order[0]), int(audit.order[-1])
    weights = audit.chances.weights
    low, high, fair = (percent(float(x)) for x in (weights[least], weights[most], 1 / audit.n_clients))
    fates = f"client {least} weighs {low} in a plain mean and client {most} {high}"
    return f"{fates}, where {fair} each would be fair ({_chi_square(audit)})"


def _chi_square(audit: Audit) -> str:
    found = write_amount(audit.chi_square)
    ends = f"{found.ends} " if found.ends else ""
    known = "exactly" if audit.chances.exact else f"{ends}by {audit.chances.seeds} seeds"
    return f"chi^2 = {found.mean}, {known}"


def _held(audit: Audit) -> Iterator[str]:
    """Say which label those who are hardly heard have most of, if that is much."""
    if not audit.deals:
        return
    group = audit.hardly_heard()
    held = audit.held(group)
    place = int(held.argmax())
    if held[place] >= _MUCH * group.fair:
        holds, is_heard = _who(audit, group)
        share, updates = percent(float(held[place])), percent(group.updates)
        yield f"{holds} {share} of class {audit.classes[place]} and {is_heard} in {updates} of the updates."


def _who(audit: Audit, group: Group) -> tuple[str, str]:
    """Return who holds something, and that they are heard."""
    if group.name == HARDLY_HEARD:
        some = f"Clients that weigh less than half of what is fair ({group.clients.size} of {audit.n_clients})"
        return f"{some} hold", "are heard"
    if group.clients.size == 1:
        return f"The least heard of {audit.n_clients:,} clients holds", "is heard"
    # Not "a fifth": of six clients these are two.
    return f"The {group.clients.size:,} least heard of {audit.n_clients:,} clients hold", "are heard"


def _mixed(audit: Audit) -> Iterator[str]:
    """Say which labels lose and gain the most."""
    if not audit.deals or not audit.matters:
        return
    true, found = audit.mixture, audit.optimised
    ratios = found / np.where(true > 0, true, np.inf)
    ratios = np.where(true > 0, ratios, 1.0)
    losing, gaining = int(ratios.argmin()), int(ratios.argmax())
    of_losing, of_gaining = (
        f"{percent(float(found[c]))} of class {audit.classes[c]} ({percent(float(true[c]))} in truth)"
        for c in (losing, gaining)
    )
    yield f"What the mean optimises has {of_losing} and {of_gaining}."


def _floor(audit: Audit) -> Iterator[str]:
    if audit.floor is not None:
        floor, zeta = write_amount(audit.floor).text, amount(audit.spread)
        yield (
            f"Where it comes to rest, |grad f|^2 can be as high as chi^2 zeta^2 = {floor}, "
            f"with zeta^2 = {zeta} at the first model."
        )


def _not_means(audits: Sequence[Audit]) -> Iterator[str]:
    """Say which arms do not aggregate by the mean, so that nobody takes the figures for theirs."""
    others = dict.fromkeys(audit.aggregation for audit in audits if audit.aggregation not in _MEANS)
    if others:
        yield f"The weights are a plain mean's; {listed(others)} aggregate{'' if len(others) > 1 else 's'} otherwise."
