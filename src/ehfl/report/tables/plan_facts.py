"""A plan as plain facts, ready for JSON: everything that its tables, verdict and figures show."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ehfl.analysis.statistics import estimate
from ehfl.planning import (
    CONFIDENCE,
    Answer,
    Curve,
    Outlook,
    Plan,
    SizeMap,
    hours_short,
    months_of,
    seasons_of,
    turns_by_site,
    worst_month,
)
from ehfl.report.plan_verdict import COUNTED_ON, verdict_of_plan
from ehfl.report.write import amount

_ESTIMATED = ("mean", "std", "empty_rounds", "worst_streak", "shortfall", "used", "waste", "lost", "fairness")


def plan_facts(plan: Plan) -> dict[str, Any]:
    """Return a plan's figures; energies are in joules where keys say so, else in the fleet's unit.

    Numbers are finite: None stands for what is infinite, and for months and hours that no round is in.
    """
    facts: dict[str, Any] = {
        "name": plan.name,
        "clients": plan.fleet.clients,
        "harvest": plan.harvest,
        "rounds": plan.rounds,
        "round_seconds": plan.fleet.round_length,
        "seeds": list(plan.seeds),
        "budget": _budget(plan),
        "schedulers": [_outlook(plan, one) for one in plan.outlooks],
        "best": plan.best.label if plan.ranked else None,
        "want": None if plan.want is None else dataclasses.asdict(plan.want),
        "answer": _needed(plan, plan.answered_by) if plan.answers else None,
        "answers": [_needed(plan, label) for label in plan.answers],
        "sustained": [_answer(held, label, amount) for label, held in plan.sustained.items()],
        "levers": dict(plan.levers),
        "curves": list(map(_curve, plan.curves)),
        "sizes": None if plan.sizes is None else _sizes(plan.sizes),
        "possible": [{"seed": best.seed} | best.as_facts() for best in plan.possible],
        "sentences": verdict_of_plan(plan),
    }
    if plan.calendar is not None:
        counts = plan.best.counts.mean(axis=0)
        facts["participants_by_month_and_hour"] = {plan.best.label: plan.calendar.by_month_and_hour(counts).tolist()}
    return dict(_finite(facts))


def _budget(plan: Plan) -> dict[str, Any]:
    """Return harvest against cost under the first seed's weather, means over clients."""
    budget, quantum = plan.budget, plan.fleet.quantum
    unit, size = (plan.fleet.unit, 1.0) if quantum is None else ("joules", quantum)
    monthly, months = budget.by_month, budget.sustainable_by_month
    amounts = {"stored_a_round": budget.harvest, "standby_a_round": budget.drain, "cost": budget.cost,
               "capacity": budget.capacity}  # fmt: skip
    return {
        "seed": plan.seeds[0],
        **{f"{name}_{unit}": float(values.mean()) * size for name, values in amounts.items()},
        f"stored_a_round_by_month_{unit}": None if monthly is None else (monthly.mean(axis=1) * size).tolist(),
        "clients_paid_for": budget.sustainable,
        "clients_paid_for_by_month": None if months is None else months.tolist(),
        "rounds_of_a_full_battery": float(budget.rounds_kept.mean()),
    }


def _outlook(plan: Plan, one: Outlook) -> dict[str, Any]:
    shares = one.on_target()
    facts: dict[str, Any] = {
        "label": one.label,
        "scheduler": plan.schedulers[one.label],
        "mains_powered": one.mains_powered,
        "target": one.target,
        "counted_on": {f"{share:g}": one.count_on(share) for share in COUNTED_ON},
        "on_target": dataclasses.asdict(estimate(shares)) | {"by_seed": shares.tolist()},
        **{name: dataclasses.asdict(estimate(one.figure(name))) for name in _ESTIMATED},
        "longest_streak_short": int(one.figure("worst_streak").max()),
        "mean_root_of_participants": float(np.sqrt(one.counts).mean()),  # convergence bounds go by it
        "slowdown": {"rounds_alone": one.slowdown(one.target, 0.0), "noise_alone": one.slowdown(one.target, math.inf)},
    }  # fmt: skip
    if plan.want is not None:
        share = float(plan.scores(one).mean())
        facts["as_wanted"] = {"share": share, "met": share >= plan.want.share - 1e-12}
    if plan.possible:
        reached = plan.shares(one)  # none on mains power and with turns of fewer steps
        by_seed = {name: [getattr(share, name) for share in reached] for name in ("mean_sqrt", "least")}
        facts["share_of_possible"] = {
            name: dataclasses.asdict(estimate(found)) | {"by_seed": found} for name, found in by_seed.items() if found
        } or None
    if plan.calendar is not None:
        worst = worst_month(one, plan.calendar)
        facts["months"] = [
            {"month": month.name, "on_target": month.on_target, "mean": month.mean, "counted_on": month.count_on}
            for month in months_of(one, plan.calendar)
        ]
        facts["seasons"] = seasons_of(one, plan.calendar)
        facts |= {"worst_month": worst and worst.name, "hours_short": hours_short(one, plan.calendar)}
    if plan.sites is not None:
        facts["turns_by_site"] = turns_by_site(one, plan.sites)
    return facts


def _answer(answer: Answer, label: str, shown: Callable[[float], str]) -> dict[str, Any]:
    """Return what a search found; where no value does, `value` is None and `closest` the one that came closest."""
    return {
        "scheduler": label,
        "found": answer.found,
        "value": answer.value if answer.found else None,
        "shown": shown(answer.value) if answer.found else None,
        "interval": list(answer.interval),
        "confidence": CONFIDENCE,
        "years": answer.years,
        "years_that_do": answer.met,
        "other_years": {"years": answer.fresh[1], "years_that_do": answer.fresh[0]},
        "closest": None if answer.found else {"value": answer.value, "shown": shown(answer.value)},
        "needs_more_than": answer.beyond,
        "share": answer.share,
        "largest_searched": answer.largest,
        "tried": [{"value": value, "share": share} for value, share in answer.tried.items()],
    }


def _needed(plan: Plan, label: str) -> dict[str, Any]:
    assert plan.free is not None
    name, now = plan.free.name, plan.free.now
    return {"free": name, "now": now} | _answer(plan.answers[label], label, plan.free.shown)


def _curve(curve: Curve) -> dict[str, Any]:
    return {
        "free": curve.name,
        "scheduler": curve.scheduler,
        "now": curve.now,
        "values": list(curve.values),
        "shown": list(curve.shown),
        "shares_by_seed": curve.shares.tolist(),
        "shares": curve.shares.mean(axis=1).tolist(),
    }


def _sizes(sizes: SizeMap) -> dict[str, Any]:
    place = sizes.cheapest
    facts: dict[str, Any] = {
        "scheduler": sizes.scheduler,
        "panels": list(sizes.panels),
        "batteries": list(sizes.batteries),
        "shares": sizes.shares.tolist(),
        "smallest_battery": sizes.line.tolist(),
    }
    if place is not None:
        answer = sizes.answers[place]
        battery = _answer(answer, sizes.scheduler, sizes.battery.shown)
        facts["cheapest"] = {"panel": sizes.panels[place], "battery": battery, "price": sizes.cost(place, answer.value)}
    return facts


def _finite(value: Any) -> Any:
    """Return plain types, with None for numbers that JSON does not know."""
    if isinstance(value, dict):
        return {key: _finite(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(inner) for inner in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
