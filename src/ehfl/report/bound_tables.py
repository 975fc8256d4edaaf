"""Bounds as tables for the terminal."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ehfl.report.tables import SideBySide
from ehfl.theory import RULES, Constants, Coverage, Promise, Verified

_THEOREMS = {
    "A": "data alike",
    "C": "unlike, any sets",
    "D": "unlike, uniform sets",
    "E": "unlike, sets by chance",
    "F": "inverse probability",
    "G": "memory",
    "H": "unlike, turns",
}
_STEPS = {"constant": "constant", "sqrt": "c sqrt(n_t)", "linear": "c n_t"}


def promise_table(
    promises: Mapping[str, Promise],
    slow: Mapping[str, Mapping[str, float]],
    coverages: Mapping[str, Coverage],
    known: Mapping[str, Constants],
    local_steps: int,
) -> SideBySide:
    """Return the bounds of arms side by side, what covers each as it is, and its slowdown against mains power."""
    number = 1 if local_steps == 1 else 2
    rows: dict[str, list[str]] = {"participants": [f"{p.n_min} to {p.n_max}" for p in promises.values()]}
    rows |= {symbol: cells for symbol, cells in _constants(known.values()).items() if len(set(cells)) > 1}
    rows |= _covered(list(coverages.values()))
    rows |= {
        f"Theorem {number} as printed": [four_digits(p.printed) for p in promises.values()],
        "  corrected": [four_digits(p.corrected) for p in promises.values()],
        "  needs n_min >= 1": ["yes" if p.n_min >= 1 else f"no: {p.n_min}" for p in promises.values()],
        "  eta / largest allowed": [f"{p.eta / p.largest_eta:.2g}" for p in promises.values()],
        "  eta / largest as printed": [f"{p.eta_printed / p.largest_eta_printed:.2g}" for p in promises.values()],
    }
    for rule in RULES:
        rows[f"theorem A, steps {_STEPS[rule]}"] = [four_digits(p.realised[rule]) for p in promises.values()]
    rows["theorem A, best steps"] = [four_digits(p.best) for p in promises.values()]
    for rule in (*RULES, "best"):
        label = f"rounds x mains, {_STEPS.get(rule, rule)}"
        rows[label] = [four_digits(slow[name][rule]) for name in promises]
    alike = f"Theorems {number} and A, and rounds x mains, are for data that are alike (zeta2 = 0)."
    caption = alike if any(one.heterogeneity > 0 for one in known.values()) else ""
    return SideBySide(tuple(promises), tuple((label, tuple(cells)) for label, cells in rows.items()), caption)


def shared_constants(known: Collection[Constants]) -> str:
    """Return the constants that are the same for all arms, in symbols; the table has lines for the others.

    >>> shared_constants([Constants(2.0, 1.0, 3.0, 0.1), Constants(2.0, 1.0, 3.0, 0.2)])
    'L = 2, s2 = 1, gap = 3'
    """
    return ", ".join(f"{symbol} = {cells[0]}" for symbol, cells in _constants(known).items() if len(set(cells)) == 1)


def _constants(known: Collection[Constants]) -> dict[str, list[str]]:
    """Return what is known of each arm's problem, by symbol."""
    symbols = {"L": "smoothness", "s2": "variance", "gap": "gap", "zeta2": "heterogeneity"}
    return {symbol: [f"{getattr(one, name):.3g}" for one in known] for symbol, name in symbols.items()}


def _covered(coverages: Sequence[Coverage]) -> dict[str, list[str]]:
    """Return which theorem covers each arm as it is, and what it says."""
    shares = [one.largest_step for one in coverages]
    return {
        "covered by theorem": [one.theorem or "none" for one in coverages],
        "  largest step / allowed": ["-" if share is None else f"{share:.2g}" for share in shares],
        "  bound, its own steps": [_or_none(one.own_steps) for one in coverages],
        "  bound, best constant step": [_or_none(one.best_constant) for one in coverages],
    }


def _or_none(value: float | None) -> str:
    return "-" if value is None else four_digits(value)


def theorem_label(letter: str) -> str:
    """Return what a theorem is about, behind its letter.

    >>> theorem_label("D")
    'D: unlike, uniform sets'
    """
    return f"{letter}: {_THEOREMS[letter]}"


def verified_table(results: Sequence[Verified]) -> SideBySide:
    """Return measured/bound of theorem A, rule by rule, schedulers side by side; a star where the bound is broken."""
    alike = [r for r in results if r.theorem == "A"]
    schedulers = list(dict.fromkeys(r.participation for r in alike))
    cells: dict[str, list[str]] = {}
    for r in alike:
        label = f"{r.problem} K={r.local_steps} {r.rule}"
        cells.setdefault(label, []).append(f"{r.measured:.3f}/{r.bound:.3f}{'' if r.holds else '*'}")
    return SideBySide(tuple(schedulers), tuple((label, tuple(mine)) for label, mine in cells.items()))


def share_table(results: Sequence[Verified]) -> SideBySide:
    """Return which share of its bound was measured, a line for each theorem and participation, for constant steps."""
    shown = sorted((r for r in results if r.rule == "constant"), key=lambda r: r.theorem)
    columns = sorted({(r.local_steps, r.problem) for r in shown})
    cells: dict[tuple[str, str], dict[tuple[int, str], str]] = {}
    for r in shown:
        mine = cells.setdefault((r.theorem, r.participation), {})
        mine[r.local_steps, r.problem] = f"{r.measured / r.bound:.3f}{'' if r.holds else '*'}"
    lines: list[tuple[str, tuple[str, ...]]] = []
    for (theorem, participation), mine in cells.items():
        title = theorem_label(theorem)
        if not any(label == title for label, _ in lines):
            lines.append((title, ("",) * len(columns)))
        lines.append((f"   {participation}", tuple(mine.get(column, "") for column in columns)))
    names = tuple(f"{problem} K={k}" for k, problem in columns)
    return SideBySide(names, tuple(lines), _intervals(results))


def _intervals(results: Sequence[Verified]) -> str:
    widest = max(r.margin / r.measured for r in results)
    broken = sum(not r.holds for r in results)
    return f"95 % intervals within {widest:.1%} of the measurement; bounds broken: {broken} of {len(results)}"


def four_digits(value: float) -> str:
    """Return a bound or a slowdown as tables and figures show it.

    >>> four_digits(1.23456), four_digits(float("inf"))
    ('1.235', 'inf')
    """
    return f"{value:.4g}"
