"""What to change about a fleet, in sentences: the inverse's answer, and what more or less would do."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ehfl.analysis.intervals import write_metric
from ehfl.analysis.numbers import fixed, kept_off
from ehfl.analysis.statistics import estimate
from ehfl.planning import Answer, Curve, Plan
from ehfl.report.phrases import counted, listed, spoken
from ehfl.report.plan_lines import SHARE

_SUPERLATIVES = {"clients": "The smallest fleet", "round": "The shortest round"}


def say_answer(plan: Plan) -> Iterator[str]:
    """Say the smallest value that does what is wanted, with which scheduler and how sure that is; or that none does."""
    answer, free, want = plan.answer, plan.free, plan.want
    if answer is None or free is None or want is None:
        return
    name = spoken(plan.answered_by)
    if not answer.found:
        any_of = name if len(plan.answers) == 1 else f"any of {counted(len(plan.answers), 'scheduler')}"
        closest = f" under {name}" if len(plan.answers) > 1 else ""
        reached = f"the best that was reached is {exact(answer.share, want.share)}, with {free.shown(answer.value)}"
        what = {"clients": "fleet", "round": "round length"}.get(free.name, free.name)
        yield f"No {what} up to {free.shown(answer.high)} brings {want} under {any_of}: {reached}{closest}."
        return
    thing = _SUPERLATIVES.get(free.name, f"The smallest {free.name}")
    yield f"{thing} that brings {want} under {name} is {_compared(plan)}."
    yield f"{_how_sure(answer)}{_below(plan)}"
    if len(plan.answers) > 1:
        order = sorted(plan.answers, key=lambda label: (not plan.answers[label].found, plan.answers[label].value))
        others = [_needed(plan, label) for label in order if label != plan.answered_by]
        yield f"Of {counted(len(plan.answers), 'scheduler')} {name} needs the least: {listed(others)}."


def _needed(plan: Plan, label: str) -> str:
    """Return what a scheduler needs that is not the best."""
    answer, free = plan.answers[label], plan.free
    assert free is not None
    if answer.found:
        return f"{spoken(label)} needs {free.shown(answer.value)}"
    reached = f"{exact(answer.share, answer.share_wanted)} with {free.shown(answer.value)}"
    return f"{spoken(label)} does it with none (at best {reached})"


def answer_text(plan: Plan) -> str:
    """Return the answer as people write it.

    >>> from types import SimpleNamespace as Made
    >>> free = Made(now=5.0, shown="{:g} Wh".format)
    >>> answer_text(Made(free=free, answer=Made(value=10.0)))
    '10 Wh'
    """
    assert plan.free is not None and plan.answer is not None
    return plan.free.shown(plan.answer.value)


def _compared(plan: Plan) -> str:
    """Return the answer beside what there is; a factor by itself says how it compares."""
    free, answer = plan.free, plan.answer
    assert free is not None and answer is not None
    if "times as large" in free.shown(free.now):  # clients have values of their own: see experiment.varying
        return f"{answer_text(plan)} as now"
    ratio = answer.value / free.now
    present = "what there is now" if ratio == 1 else f"{ratio:.3g} times the present {free.shown(free.now)}"
    return f"{answer_text(plan)}, {present}"


def _how_sure(answer: Answer) -> str:
    shares = answer.shares
    found = write_metric(SHARE, estimate(shares))
    if shares.size == 1:
        return f"With it there are as many in {exact(answer.share, answer.share_wanted)} of the rounds of one seed"
    return (
        f"With it there are as many in {found.text if found.ends else exact(answer.share, answer.share_wanted)} of the "
        f"rounds, mean over {shares.size} seeds, of which {answer.sure:,} reach{'es' if answer.sure == 1 else ''} "
        f"{100 * answer.share_wanted:g} % by {'itself' if answer.sure == 1 else 'themselves'}"
    )


def _below(plan: Plan) -> str:
    """Return what the largest value that does not do comes to."""
    answer, free = plan.answer, plan.free
    assert answer is not None and free is not None
    if answer.below is None or answer.shares_below is None:
        return "; less was not tried."
    share = float(answer.shares_below.mean())
    if np.isnan(share):
        return f"; {free.shown(answer.below)} cannot be played."
    return f"; with {free.shown(answer.below)} in {exact(share, answer.share_wanted)}."


def exact(share: float, wanted: float = 1.0) -> str:
    """Return a share to as many digits as tell it from what is wanted, and from all.

    >>> exact(0.9498, 0.95), exact(0.95, 0.95), exact(0.99996), exact(1.0)
    ('94.98 %', '95.0 %', '99.996 %', '100 %')
    """
    if share == 1:
        return "100 %"
    if np.isnan(share):  # no value could be played
        return "0 %"
    decimals = max(kept_off(100 * wanted, 100 * share, 1), kept_off(100.0, 100 * share, 1))
    return f"{fixed(100 * share, min(decimals, 4))} %"


def say_curves(plan: Plan) -> Iterator[str]:
    """Say what half and twice of each thing would do."""
    parts = []
    for curve in plan.curves:
        half, twice = _at(curve, 0.5), _at(curve, 2.0)
        said = [f"with half the {curve.name} in {half}"] if half else []
        said += [f"with twice {'' if half else f'the {curve.name} '}in {twice}"] if twice else []
        parts += [", ".join(said)] if said else []
    now = next((share for curve in plan.curves if (share := _at(curve, 1.0))), "")
    if parts and now:
        wanted = plan.best.target if plan.want is None else plan.want.clients
        yield f"There {is_or_are(wanted)} {counted(wanted, 'client')} in {now} of the rounds now; {'; '.join(parts)}."


def is_or_are(n: int) -> str:
    """Return the verb for n things."""
    return "is" if n == 1 else "are"


def _at(curve: Curve, factor: float) -> str:
    """Return the share of rounds with so many times what there is; empty where that was not played."""
    near = [place for place, value in enumerate(curve.values) if abs(value / curve.now / factor - 1) < 0.02]
    return exact(float(curve.shares[near[0]].mean())) if near else ""
