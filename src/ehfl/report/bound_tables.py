"""Bounds as tables for the terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ehfl.report.tables import SideBySide
from ehfl.theory import RULES, Promise, Verified

_STEPS = {"constant": "constant", "sqrt": "c sqrt(n_t)", "linear": "c n_t"}


def promise_table(
    promises: Mapping[str, Promise], slow: Mapping[str, Mapping[str, float]], local_steps: int
) -> SideBySide:
    """Return the bounds of schedulers side by side, and their slowdown against mains power."""
    number = 1 if local_steps == 1 else 2
    rows: dict[str, list[str]] = {
        "participants": [f"{p.n_min} to {p.n_max}" for p in promises.values()],
        f"Theorem {number} as printed": [four_digits(p.printed) for p in promises.values()],
        "  corrected": [four_digits(p.corrected) for p in promises.values()],
        "  needs n_min >= 1": ["yes" if p.n_min >= 1 else f"no: {p.n_min}" for p in promises.values()],
        "  eta / largest allowed": [f"{p.eta / p.largest_eta:.2g}" for p in promises.values()],
        "  eta / largest as printed": [f"{p.eta_printed / p.largest_eta_printed:.2g}" for p in promises.values()],
    }
    for rule in RULES:
        rows[f"realised, steps {_STEPS[rule]}"] = [four_digits(p.realised[rule]) for p in promises.values()]
    rows["realised, best steps"] = [four_digits(p.best) for p in promises.values()]
    for rule in (*RULES, "best"):
        label = f"rounds x mains, {_STEPS.get(rule, rule)}"
        rows[label] = [four_digits(slow[name][rule]) for name in promises]
    return SideBySide(tuple(promises), tuple((label, tuple(cells)) for label, cells in rows.items()))


def verified_table(results: Sequence[Verified]) -> SideBySide:
    """Return measured/bound of each experiment, schedulers side by side; a star where the bound is broken."""
    schedulers = list(dict.fromkeys(result.scheduler for result in results))
    widest = max(result.margin / result.measured for result in results)
    broken = sum(not result.holds for result in results)
    caption = f"95 % intervals within {widest:.1%} of the measurement; bounds broken: {broken} of {len(results)}"
    cells: dict[str, list[str]] = {}
    for r in results:
        label = f"{r.problem} K={r.local_steps} {r.rule}"
        cells.setdefault(label, []).append(f"{r.measured:.3f}/{r.bound:.3f}{'' if r.holds else '*'}")
    return SideBySide(tuple(schedulers), tuple((label, tuple(mine)) for label, mine in cells.items()), caption)


def four_digits(value: float) -> str:
    """Return a bound or a slowdown as tables and figures show it.

    >>> four_digits(1.23456), four_digits(float("inf"))
    ('1.235', 'inf')
    """
    return f"{value:.4g}"
