"""The verdict on a plan, computed once for the terminal, the page and JSON: at most five short sentences.

The answer to what was asked stands first, then what to count on, when it falls short, which scheduler does best.
Everything else is a row or a column of the tables (`tables.plan`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ehfl.analysis.statistics import difference, estimate
from ehfl.arrays import FloatArray
from ehfl.planning import (
    CONFIDENCE,
    MONTHS,
    Answer,
    Plan,
    Want,
    hours_short,
    seasons_of,
    worst_month,
    years_needed,
)
from ehfl.quantities import as_time
from ehfl.report.tables import cells
from ehfl.report.write import amount, counted, fixed, kept_off, listed, percent
from ehfl.runs import Metric

_THINGS = {"clients": "fleet", "round": "round length"}  # whose smallest value is searched
COUNTED_ON = (0.95, 0.99)  # shares of rounds in which clients can be counted on
SHARE = Metric("share", bounds=(0, 1))


def verdict_of_plan(plan: Plan) -> list[str]:
    """Return the sentences."""
    if not plan.ranked:
        return ["All schedulers are on mains power, a reference: they do not show what the harvest can sustain."]
    asked = [*_answer(plan), *_sized(plan), *_sustained(plan)]
    # Where something was asked, the table has a column of what each scheduler needs or holds.
    return [*asked, _count_on(plan), *_shortfall(plan), *([] if asked else _best(plan))]


def _answer(plan: Plan) -> Iterator[str]:
    """Say the smallest value that brings what is wanted and how sure that is, or the best that was reached."""
    answer, free, want = plan.answer, plan.free, plan.want
    if want is None or (answer is None and plan.sizes is not None):
        return
    if answer is None or free is None:
        reached, best = float(plan.scores(plan.best).mean()), plan.best.label
        met = "as wanted" if reached >= want.share - 1e-12 else f"not in the {100 * want.share:g} % wanted"
        there = f"{counted(want.clients, 'client')} take part in {exact(reached, want.share)} of rounds{want.when}"
        yield f"{there} under {best}, {met}."
        return
    name, value, thing = plan.answered_by, free.shown(answer.value), _THINGS.get(free.name, free.name)
    asked = f"{want} in {want.of_years}"
    if not answer.found:
        best = f"at best {exact(answer.share, want.share)}, with {value} under {name}"
        yield f"No {thing} up to {free.shown(answer.largest)} brings {asked}: {best}. {_cause(plan, want)}."
        return
    # Clients with values of their own have a factor for an answer, which compares by itself.
    factor = answer.value / free.now
    compared = "" if "times as large" in value or factor == 1 else f"{factor:.3g} times the present "
    compared += f"{free.shown(free.now)}; " if compared else ""
    ends = interval(answer, free.shown, want.years)
    yield f"{asked}: {thing} {value}, {ends}; {compared}under {name}){_checked(answer)}."


def _sized(plan: Plan) -> Iterator[str]:
    """Say the cheapest design, or without prices from where to where the batteries go."""
    sizes, want = plan.sizes, plan.want
    if sizes is None or want is None:
        return
    asked, known = f"{want} in {want.of_years}", np.flatnonzero(np.isfinite(sizes.line))
    if not known.size:
        most = sizes.panel.shown(sizes.panels[-1])
        yield f"{asked}: no battery does with panels up to {most}, under {sizes.scheduler}."
        return
    if sizes.cheapest is None:
        batteries = (f"{sizes.battery.shown(sizes.line[at])} with panel {sizes.panel.shown(sizes.panels[at])}"
                     for at in dict.fromkeys((known[0], known[-1])))  # fmt: skip
        yield f"{asked} under {sizes.scheduler}: battery {' to '.join(batteries)} (in {counted(sizes.years, 'year')})."
        return
    answer = sizes.answers[sizes.cheapest]
    design = f"panel {sizes.panel.shown(sizes.panels[sizes.cheapest])} and battery {sizes.battery.shown(answer.value)}"
    ends = f"{interval(answer, sizes.battery.shown, want.years)}; under {sizes.scheduler})"
    total = sizes.cost(sizes.cheapest, answer.value)
    price = f"{amount(total / plan.fleet.clients)} a client, {amount(total)} in all"
    edge = {0: " (the smallest panel tried)", len(sizes.panels) - 1: " (the largest panel tried)"}
    yield f"{asked}: cheapest with {design}, {ends}: {price}{edge.get(sizes.cheapest, '')}{_checked(answer)}."


def _cause(plan: Plan, want: Want) -> str:
    """Return why no value does, and what else would."""
    budget, months = plan.budget, plan.budget.sustainable_by_month
    season = None if plan.calendar is None or not want.season else list(plan.calendar.months_of(want.season))
    if (budget.drain >= budget.harvest).all():
        cause = "standby: with leaks it takes all that is harvested"
    elif months is not None and np.nanmin(months if season is None else months[season]) < want.clients:
        poorest = int(np.nanargmin(months)) if season is None else season[int(np.nanargmin(months[season]))]
        cause = f"the harvest: in {MONTHS[poorest]} it pays for {amount(months[poorest])} clients a round"
    elif budget.sustainable < want.clients:
        cause = f"the harvest: it pays for {amount(budget.sustainable)} clients a round"
    elif plan.free is not None and plan.free.name != "battery":
        cause = f"batteries: a full one pays for {amount(float(budget.rounds_kept.mean()))} rounds"
    else:
        cause = "when the harvest comes: its mean pays for them"
    levers = [f"{name} {value}" for name, value in plan.levers.items()]
    other = f"; {listed(levers, 'or')} would do it" if levers else ""
    return f"The cause is {cause}{other}"


def interval(answer: Answer, shown: Callable[[float], str], years: float) -> str:
    """Return the interval of an answer and the years that it rests on, with a parenthesis that is not closed."""
    harder, easier = answer.ends
    if harder is None:
        return f"not bounded ({counted(answer.years, 'year')}"
    if easier is None:
        side, open_end = ("or fewer", "below") if answer.largest < answer.value else ("or more", "above")
        needed = years_needed(years)
        return (
            f"{shown(harder)} {side} ({counted(answer.years, 'year')} do not bound it from {open_end}, {needed} would"
        )
    low, high = min(harder, easier), max(harder, easier)
    return f"{shown(low)} to {shown(high)} ({100 * CONFIDENCE:g} % confidence, {answer.years} years"


def _checked(answer: Answer) -> str:
    """Return how the answer did in years that had no part in it."""
    met, years = answer.fresh
    return f". In {met} of {years} other years it does" if years else ""


def _sustained(plan: Plan) -> Iterator[str]:
    """Say how many clients can be wanted if they are to come in a given share of the rounds."""
    if plan.sustain is None:
        return
    name, held = max(plan.sustained.items(), key=lambda item: (item[1].found, item[1].value, item[1].share))
    want = Want(1, plan.sustain)
    share = f"{100 * plan.sustain:g} % of rounds in {want.of_years}"
    if not held.found:
        yield f"No scheduler brings even one client in {share}."
        return
    clients = counted(int(held.value), "client")
    yield f"{clients} can be wanted in {share}, {interval(held, amount, want.years)}; under {name}){_checked(held)}."


def _count_on(plan: Plan) -> str:
    best = plan.best
    most, nearly_all = (best.count_on(share) for share in COUNTED_ON)
    in_most, in_nearly_all = (f"{100 * share:g} %" for share in COUNTED_ON)
    counts = f"{most:,} of {counted(plan.fleet.clients, 'client')} in {in_most} of rounds"
    more = f", {nearly_all:,} in {in_nearly_all}" if nearly_all != most else f" and in {in_nearly_all}"
    seasons = seasons_of(best, plan.calendar)
    poorest = min(seasons, key=lambda name: seasons[name], default="")
    lean = f"; on {seasons[poorest]:,} in {in_most} in {poorest} ({_months(plan, poorest)})" if seasons else ""
    said = plan.want is not None and not plan.want.when and plan.want.clients == best.target and plan.sizes is None
    met = "" if said and not plan.answers else f"; the target of {best.target:,} is met in {_mean(best.on_target())}"
    return f"Count on {counts}{more} (under {best.label}){lean}{met}."


def _months(plan: Plan, season: str) -> str:
    assert plan.calendar is not None
    months = plan.calendar.months_of(season)
    return f"{MONTHS[months[0]]} to {MONTHS[months[-1]]}"


def _mean(shares: FloatArray) -> str:
    """Return the mean over seeds with its interval, where there is one."""
    found = cells.metric(SHARE, estimate(shares))
    return found.sentence if found.ends else exact(float(shares.mean()))


def _shortfall(plan: Plan) -> Iterator[str]:
    """Say when the target is missed: the month, the hours, and for how long in a row."""
    best = plan.best
    if not (best.counts < best.target).any():
        return
    month, hours = worst_month(best, plan.calendar), hours_short(best, plan.calendar)
    parts = []
    if month is not None and month.on_target < 1:
        met = f"{percent(month.on_target)} of rounds on target, {amount(month.mean)} clients on average"
        parts.append(f"{month.name} is the worst month: {met}")
    if hours is not None:
        parts.append(f"half of the short rounds begin between {hours[0]:02d}:00 and {hours[1]:02d}:00")
    streak = int(best.figure("worst_streak").max())
    lasts = "" if plan.fleet.round_length is None else f" ({as_time(streak * plan.fleet.round_length)})"
    parts.append(f"the longest time short is {counted(streak, 'round')}{lasts}")
    text = "; ".join(parts)
    yield f"{text[0].upper()}{text[1:]}."


def _best(plan: Plan) -> Iterator[str]:
    """Say which scheduler is best by what was asked; how sure that is goes by pairs of the same seed."""
    if len(plan.ranked) == 1:
        return
    best, *others = plan.ranked
    apart = [one for one in others if is_apart(plan.scores(best), plan.scores(one))]
    alike = [one for one in others if one not in apart]
    measure = "rounds on target" if plan.has_target else "clients to count on"
    which = f"{best.label} has the most {measure} of {len(plan.ranked)} schedulers"
    if len(plan.seeds) == 1:
        yield f"{which} (one seed: chance cannot be judged)."
        return
    if apart:
        yield f"{which}{f', with {listed(one.label for one in alike)} not told apart from it' if alike else ''}."
    else:
        seeds = f"by {len(plan.seeds)} seeds"
        yield f"{measure.capitalize()}: {listed(one.label for one in plan.ranked)} are not told apart {seeds}."


def is_apart(mine: FloatArray, theirs: FloatArray) -> bool:
    """Return whether chance is ruled out as the reason why one is ahead, by pairs of the same seed."""
    if mine.size == 1 or np.array_equal(mine, theirs):
        return False
    return bool((mine > theirs).all()) or difference(mine, theirs).distinguishable


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
