"""What a plan says, in sentences: only what its numbers allow."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ehfl.analysis.intervals import write_metric
from ehfl.analysis.numbers import amount, fixed, kept_off, percent
from ehfl.analysis.statistics import difference, estimate
from ehfl.arrays import FloatArray
from ehfl.planning import RELIABLE, Outlook, Plan, hours_short, turns_by_site, worst_month
from ehfl.quantities import as_time
from ehfl.report.phrases import counted, listed, spoken
from ehfl.report.plan_answers import exact, is_or_are, say_answer, say_curves
from ehfl.report.plan_budget import say_battery, say_budget
from ehfl.report.plan_lines import COUNTED_ON, SHARE, shown_sites
from ehfl.report.plan_possible import say_possible

_SAME = 5e-5  # slowdowns this close to 1 are none
_MUCH = 0.1  # share of the energy from which on it is worth a sentence that it does not reach the rounds

_ONLY_MAINS = "All schedulers asked for are on mains power, a reference: they do not show what the harvest can sustain."


def plan_sentences(plan: Plan) -> list[str]:
    """Return the sentences, in the order in which an engineer asks: what comes in, what it does, what to change."""
    return [sentence for sentences in plan_topics(plan).values() for sentence in sentences]


def plan_headlines(plan: Plan) -> list[str]:
    """Return what stands first on the page: the answer to what was asked, if anything was, and what to count on."""
    if not plan.ranked:
        return [_ONLY_MAINS]
    return [*list(say_answer(plan))[:1], *_say_sustained(plan), *_say_counted(plan)]


def plan_topics(plan: Plan) -> dict[str, list[str]]:
    """Return the sentences by topic; topics that there is nothing to say about are left out."""
    budget = [*([plan.note] if plan.note else []), *say_budget(plan), *say_battery(plan)]
    if not plan.ranked:
        return {"Harvest and cost": budget, "Participants": [_ONLY_MAINS, *say_possible(plan)]}
    topics = {
        "Harvest and cost": budget,
        "Participants": [
            *_say_counted(plan),
            *_say_sustained(plan),
            *_say_short(plan),
            *_say_best(plan),
            *say_possible(plan),
        ],
        "Learning": list(_say_slowdown(plan)),
        "Energy and sites": [*_say_waste(plan), *_say_sites(plan)],
        "What to change": [*say_answer(plan), *say_curves(plan)],
    }
    return {topic: sentences for topic, sentences in topics.items() if sentences}


def _say_counted(plan: Plan) -> Iterator[str]:
    best = plan.best
    most, nearly_all = (best.count_on(share) for share in COUNTED_ON)
    in_most, in_nearly_all = (f"{100 * share:g} % of rounds" for share in COUNTED_ON)
    counts = f"{_many(most)} in {in_most} and on {_many(nearly_all)} in {in_nearly_all}"
    if most == nearly_all:
        counts = f"{_many(most)} in {in_most.removesuffix(' of rounds')} and in {in_nearly_all}"
    yield (
        f"Under {spoken(best.label)} you can count on {counts} ({_seeds(plan)}); the target of {best.target:,} is met "
        f"in {_mean_share(best.on_target())} of them{_where_more_is_wanted(plan)}."
    )


def _say_sustained(plan: Plan) -> Iterator[str]:
    """Say how many can be wanted if they are to come in a share of the rounds, and what the other schedulers hold."""
    if not plan.sustained:
        return
    name, held = max(plan.sustained.items(), key=lambda item: (item[1].clients, float(item[1].shares.mean())))
    share = f"{100 * held.share_wanted:g} % of rounds"
    if held.clients == 0:
        yield f"Under no scheduler that was asked for does even one client take part in {share}."
        return
    above = held.shares_above
    more = "" if above is None else f", with one more wanted in {exact(float(above.mean()), held.share_wanted)}"
    others = [f"{other.clients:,} under {spoken(label)}" for label, other in plan.sustained.items() if label != name]
    yield (
        f"At most {counted(held.clients, 'client')} can be wanted a round if they are to come in {share}: under "
        f"{spoken(name)} they come in {_mean_share(held.shares)}{more}{'; ' + listed(others) if others else ''}."
    )


def _many(clients: int) -> str:
    return counted(clients, "client") if clients else "no client"


def _where_more_is_wanted(plan: Plan) -> str:
    if plan.want is None or plan.best.on_target(plan.want.clients).mean() >= plan.want.share - 1e-12:
        return ""
    return f", where {100 * plan.want.share:g} % are wanted"


def _mean_share(shares: FloatArray) -> str:
    """Return the mean over seeds with its interval, where there is one."""
    found = write_metric(SHARE, estimate(shares))
    return found.text if found.ends else exact(float(shares.mean()))


def _say_short(plan: Plan) -> Iterator[str]:
    """Say when the target is missed: the month, the hours, and for how long on end."""
    best = plan.best
    if not (best.counts < best.target).any():
        return
    month, hours = worst_month(best, plan.calendar), hours_short(best, plan.calendar)
    parts = []
    if month is not None and month.on_target < 1:
        parts.append(
            f"falls short most often in {month.name}, when {percent(month.on_target)} of the rounds are on target and "
            f"{amount(month.mean)} clients take part on average"
        )
    if hours is not None:
        parts.append(f"half of the rounds short begin between {hours[0]:02d}:00 and {hours[1]:02d}:00")
    streak = int(best.figure("worst_streak").max())
    lasts = "" if plan.fleet.round_length is None else f" ({as_time(streak * plan.fleet.round_length)})"
    parts.append(f"the longest time short is {counted(streak, 'round')} on end{lasts}")
    name = spoken(best.label, begins=True)
    yield f"{name} {'; '.join(parts)}." if month is not None and month.on_target < 1 else _begun("; ".join(parts))


def _begun(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _say_best(plan: Plan) -> Iterator[str]:
    """Say which scheduler is best by what was asked; how sure that is goes by pairs of the same seed."""
    by_number = plan.want is None and plan.sustained  # which `_say_sustained` compares
    if len(plan.ranked) == 1 or by_number:
        return
    best, *others = plan.ranked
    if plan.want is not None or plan.has_target:
        wanted = "the target is met"
        if plan.want is not None:
            wanted = f"there {is_or_are(plan.want.clients)} {counted(plan.want.clients, 'client')}"
        share = {one.label: exact(float(plan.scores(one).mean())) for one in plan.ranked}
        judged = f"{wanted} in {share[best.label]} of the rounds"
        rest = listed(f"in {share[one.label]} with {spoken(one.label)}" for one in others)
    else:
        count = {one.label: one.count_on(RELIABLE) for one in plan.ranked}
        judged = f"you can count on {_many(count[best.label])} in {100 * RELIABLE:g} % of rounds ({_mean(best)})"
        rest = listed(f"on {count[one.label]:,} ({_mean(one)}) with {spoken(one.label)}" for one in others)
    yield (
        f"Of {counted(len(plan.ranked), 'scheduler')} {spoken(best.label)} does best: {judged}, {rest}"
        f"{_told_apart(plan, best, others[0])}."
    )


def _mean(one: Outlook) -> str:
    return f"mean {amount(one.counts.mean())}"


def _told_apart(plan: Plan, best: Outlook, second: Outlook) -> str:
    """Return whether chance may have put the best before the next."""
    mine, theirs = plan.scores(best), plan.scores(second)
    if mine.size == 1:
        return " (one seed, so chance is not ruled out)"
    if np.array_equal(mine, theirs) or difference(mine, theirs).distinguishable or (mine > theirs).all():
        return ""
    return f"; {mine.size} seeds do not tell it from {spoken(second.label)}"


def _say_slowdown(plan: Plan) -> Iterator[str]:
    best = plan.best
    low, high = best.slowdowns(best.target)
    if not np.isfinite(high):
        yield "Nobody ever takes part, so nothing would be learned."
        return
    mains = f"{counted(best.target, 'client')} on mains power in every round"
    if max(abs(low - 1), abs(high - 1)) < _SAME:
        yield f"Under {spoken(best.label)} nothing is lost against {mains}: as many rounds are needed."
        return
    least, most = _times(low, high)
    scale = "the noise scale B (how many clients halve what gradient noise costs)"
    where = f"whatever {scale}"
    if least != most:
        where = f"by {scale}: with B = 0 only empty rounds are lost, with B infinite each participant counts"
    many = least if least == most else f"between {least} and {most}"
    yield f"Against {mains}, {spoken(best.label)} needs {many} times as many rounds, {where}."


def _times(*slowdowns: float) -> list[str]:
    """Return slowdowns to as many digits as tell them from 1."""
    decimals = max(min(kept_off(1.0, one, 2), 4) for one in slowdowns if abs(one - 1) >= _SAME)
    return [fixed(one, decimals) for one in slowdowns]


def _say_waste(plan: Plan) -> Iterator[str]:
    best = plan.best
    waste, lost = (float(best.figure(name).mean()) for name in ("waste", "lost"))
    parts = [f"{percent(waste)} of the harvest finds the battery full"] if waste > _MUCH else []
    parts += [f"{percent(lost)} of all energy goes to charging, leaks and standing by"] if lost > _MUCH else []
    if parts:
        yield f"Under {spoken(best.label)} {' and '.join(parts)}."


def _say_sites(plan: Plan) -> Iterator[str]:
    if plan.sites is None:
        return
    best = plan.best
    turns = turns_by_site(best, plan.sites)
    first, *rest = shown_sites(plan)
    said = [f"a client at {first} takes part {amount(turns[first])} times"]
    said += [f"one at {site} {amount(turns[site])} times" for site in rest]
    among = f", most and fewest of {len(turns)} sites" if len(turns) > len(rest) + 1 else ""
    yield f"In {counted(plan.rounds, 'round')} {listed(said)} on average{among} ({spoken(best.label)})."


def _seeds(plan: Plan) -> str:
    return f"{counted(plan.rounds, 'round')}, {counted(len(plan.seeds), 'seed')}"
