"""Bounds in the terminal: what theory promises each arm, and what was measured of each theorem's promise."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ehfl.report.tables.output import Column, Output, number_column, pair_column, table_of
from ehfl.report.tables.render import Cell, Line, Table, side_by_side
from ehfl.report.write import DASH
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
_SYMBOLS = {"L": "smoothness", "s2": "variance", "gap": "gap", "zeta2": "heterogeneity"}


@dataclass(frozen=True, slots=True)
class Bounds:
    """What theory says of one arm."""

    promise: Promise
    slowdown: Mapping[str, float]  # rounds for one on mains power, by step size rule
    covered: Coverage
    constants: Constants


def bound_output(about: str, arms: Mapping[str, Bounds], local_steps: int) -> Output:
    """Return what `ehfl bound` prints; the last arm is mains power."""
    title = f"bounds on the mean of |grad f|^2, K = {local_steps}"
    *others, mains = arms
    nearest = min(others, key=lambda label: arms[label].slowdown["best"], default=mains)
    best, constant = (four_digits(arms[nearest].slowdown[rule]) for rule in ("best", "constant"))
    comes = f"{nearest} comes closest to mains power: {best} times as many rounds to the same bound"
    verdict = [f"{comes} with the best steps, {constant} with constant ones."] if others else []
    return Output(
        (title, f"{about}; {shared_constants([one.constants for one in arms.values()])}"),
        _bound_table(arms, local_steps),
        (*verdict, *_uncovered(arms)),
        (_full_table(arms, local_steps),),
        "what SGD measures of these bounds: --verify",
    )


def _uncovered(arms: Mapping[str, Bounds]) -> Iterator[str]:
    """Yield what theorem A does not cover, and which one does, a line for all arms of which the same can be said."""
    labels: dict[tuple[str | None, str], list[str]] = {}
    for label, one in arms.items():
        labels.setdefault((one.covered.theorem, one.covered.why), []).append(label)
    for (theorem, why), alike in labels.items():
        if theorem != "A":
            by = "no theorem covers this" if theorem is None else f"theorem {theorem} covers this, theorem A does not"
            yield f"{'; '.join(alike)}: {by}: {why}"


def _bound_table(arms: Mapping[str, Bounds], local_steps: int) -> Table:
    """Return arms as rows: what covers each as it is, theorem A, and its slowdown against mains power."""

    def column(head: str, of: Callable[[Bounds], float | None]) -> Column:
        return number_column(head, {label: of(one) for label, one in arms.items()})

    number = _number(local_steps)
    columns = [
        ("clients\na round", {label: f"{one.promise.n_min}-{one.promise.n_max}" for label, one in arms.items()}),
        ("covered\nby", {label: one.covered.theorem or "none" for label, one in arms.items()}),
        column("bound,\nits steps", lambda one: one.covered.own_steps),
        column("best\nconstant", lambda one: one.covered.best_constant),
        column(f"theorem {number}\ncorrected", lambda one: one.promise.corrected),
        pair_column(
            "x mains with\nconst., best",
            column("", lambda one: one.slowdown["constant"]),
            column("", lambda one: one.slowdown["best"]),
        ),
        pair_column(
            "theorem A with\nconst., best",
            column("", lambda one: one.promise.realised["constant"]),
            column("", lambda one: one.promise.best),
        ),
    ]
    unlike = any(one.constants.heterogeneity > 0 for one in arms.values())
    alike = f"; theorems {number} and A and x mains are for data that are alike (zeta2 = 0)" if unlike else ""
    return table_of(columns, list(arms), f"steps: constant, best; x mains: rounds for one on mains power{alike}")


def _full_table(arms: Mapping[str, Bounds], local_steps: int) -> Table:
    """Return every figure, arms side by side."""
    found, covered = [one.promise for one in arms.values()], [one.covered for one in arms.values()]
    constants = _constants([one.constants for one in arms.values()])
    rows: dict[str, list[str]] = {"participants": [f"{p.n_min} to {p.n_max}" for p in found]}
    rows |= {symbol: cells for symbol, cells in constants.items() if len(set(cells)) > 1}
    rows |= {
        "covered by theorem": [one.theorem or "none" for one in covered],
        "  largest step / allowed": [DASH if (x := one.largest_step) is None else f"{x:.2g}" for one in covered],
        "  bound, its own steps": [four_digits(one.own_steps) for one in covered],
        "  bound, best constant step": [four_digits(one.best_constant) for one in covered],
        f"Theorem {_number(local_steps)} as printed": [four_digits(p.printed) for p in found],
        "  corrected": [four_digits(p.corrected) for p in found],
        "  needs n_min >= 1": ["yes" if p.n_min >= 1 else f"no: {p.n_min}" for p in found],
        "  eta / largest allowed": [f"{p.eta / p.largest_eta:.2g}" for p in found],
        "  eta / largest as printed": [f"{p.eta_printed / p.largest_eta_printed:.2g}" for p in found],
    }
    rows |= {f"theorem A, steps {_STEPS[rule]}": [four_digits(p.realised[rule]) for p in found] for rule in RULES}
    rows["theorem A, best steps"] = [four_digits(p.best) for p in found]
    for rule in (*RULES, "best"):
        rows[f"rounds x mains, {_STEPS.get(rule, rule)}"] = [four_digits(one.slowdown[rule]) for one in arms.values()]
    return side_by_side(tuple(arms), rows.items())


def _number(local_steps: int) -> int:
    """Return which of the paper's theorems is meant."""
    return 1 if local_steps == 1 else 2


def shared_constants(known: Collection[Constants]) -> str:
    """Return the constants that are the same for all arms, in symbols; the full table has lines for the others.

    >>> shared_constants([Constants(2.0, 1.0, 3.0, 0.1), Constants(2.0, 1.0, 3.0, 0.2)])
    'L = 2, s2 = 1, gap = 3'
    """
    return ", ".join(f"{symbol} = {cells[0]}" for symbol, cells in _constants(known).items() if len(set(cells)) == 1)


def _constants(known: Collection[Constants]) -> dict[str, list[str]]:
    """Return what is known of each arm's problem, by symbol."""
    return {symbol: [f"{getattr(one, name):.3g}" for one in known] for symbol, name in _SYMBOLS.items()}


def verified_output(results: Sequence[Verified], runs: int) -> Output:
    """Return what `ehfl bound --verify` prints."""
    broken = sum(not r.holds for r in results)
    widest = max(r.margin / r.measured for r in results)
    holds = f"All {len(results)} bounds hold" if not broken else f"{broken} of {len(results)} bounds are broken"
    title = f"share of each theorem's bound that was measured, constant steps, means of {runs} runs"
    table = share_table(results)
    verdict = f"{holds}; 95 % intervals are within {widest:.1%} of the measurements."
    return Output((title,), table, (verdict,), (table, _rule_table(results)), "a figure: --figure FILE.png")


def share_table(results: Sequence[Verified]) -> Table:
    """Return measured / bound, participations as rows by theorem, a column for each problem and K."""
    shown = sorted((r for r in results if r.rule == "constant"), key=lambda r: r.theorem)
    rows = list(dict.fromkeys((r.theorem, r.participation) for r in shown))
    cells = {
        (r.theorem, r.participation, r.local_steps, r.problem): f"{r.measured / r.bound:.3f}{'' if r.holds else '*'}"
        for r in shown
    }
    columns = sorted({(r.local_steps, r.problem) for r in shown})
    lines = (
        Line(row[1], tuple(Cell(cells.get((*row, *column), DASH)) for column in columns), theorem_label(row[0]))
        for row in rows
    )
    note = "* the measurement is above the bound" if any(not r.holds for r in shown) else ""
    return Table(tuple(f"{problem}\nK = {k}" for k, problem in columns), tuple(lines), note, arms_are_rows=True)


def _rule_table(results: Sequence[Verified]) -> Table:
    """Return measured/bound of theorem A, rule by rule, schedulers side by side; a star where the bound is broken."""
    alike = [r for r in results if r.theorem == "A"]
    cells: dict[str, list[str]] = {}
    for r in alike:
        label = f"{r.problem} K={r.local_steps} {r.rule}"
        cells.setdefault(label, []).append(f"{r.measured:.3f}/{r.bound:.3f}{'' if r.holds else '*'}")
    schedulers = tuple(dict.fromkeys(r.participation for r in alike))
    return side_by_side(schedulers, cells.items(), "theorem A")


def theorem_label(letter: str) -> str:
    """Return what a theorem is about, behind its letter.

    >>> theorem_label("D")
    'D: unlike, uniform sets'
    """
    return f"{letter}: {_THEOREMS[letter]}"


def four_digits(value: float | None) -> str:
    """Return a bound or a slowdown, a dash where there is none.

    >>> four_digits(1.23456), four_digits(float("inf"))
    ('1.235', 'inf')
    """
    return DASH if value is None else f"{value:.4g}"
