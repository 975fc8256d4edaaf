"""A plan's harvest against its cost, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ehfl.analysis.numbers import amount
from ehfl.arrays import FloatArray
from ehfl.planning import MONTHS, Plan
from ehfl.quantities import as_energies, as_energy, as_time
from ehfl.report.phrases import counted

_DAY = 86_400.0  # [s]


def say_budget(plan: Plan) -> Iterator[str]:
    """Say what clients store and what rounds cost them, and how many a round that pays for."""
    yield _in_joules(plan) if is_physical(plan) else _in_units(plan)
    budget, months = plan.budget, plan.budget.sustainable_by_month
    pays = f"That pays for {_of(budget.sustainable, plan)} a round"
    if months is None or np.isfinite(months).sum() < 2:
        yield f"{pays}."
        return
    poorest, richest = int(np.nanargmin(months)), int(np.nanargmax(months))
    yield (
        f"{pays} on average, for {amount(months[poorest])} in {MONTHS[poorest]}, the poorest month, and for "
        f"{amount(months[richest])} in {MONTHS[richest]}, the richest."
    )


def is_physical(plan: Plan) -> bool:
    """Return whether a fleet's energy is in joules and its rounds have a length."""
    return plan.fleet.quantum is not None and plan.fleet.round_length is not None


def day_joules(plan: Plan, units: FloatArray) -> FloatArray:
    """Return what so much in each round is in a day [J]."""
    assert plan.fleet.quantum is not None and plan.fleet.round_length is not None
    return units * plan.fleet.quantum * _DAY / plan.fleet.round_length


def _in_joules(plan: Plan) -> str:
    budget, quantum = plan.budget, plan.fleet.quantum
    assert quantum is not None
    stored, standby = (float(day_joules(plan, each).mean()) for each in (budget.harvest, budget.drain))
    cost = float(budget.cost.mean()) * quantum
    monthly = None if budget.by_month is None else day_joules(plan, budget.by_month).mean(axis=1)
    seasonal = monthly is not None and np.isfinite(monthly).sum() > 1
    poor = int(np.nanargmin(monthly)) if seasonal else 0  # type: ignore[arg-type]
    least = float(monthly[poor]) if seasonal else stored  # type: ignore[index]
    texts = as_energies(stored, least, cost, standby)
    month = f", {texts[1]} in {MONTHS[poor]}, the poorest month" if seasonal else ""
    parts = [f"a round costs {_with_joules(texts[2], cost)}{_spread(budget.cost * quantum, as_energy)}"]
    parts += [f"standing by and leaks take {texts[3]} a day"] if standby else []
    spread = _harvests(plan, day_joules(plan, budget.harvest), as_energy)
    return f"A client stores {texts[0]} a day on average{spread}{month}; {', '.join(parts)}{_weather(plan)}."


def _in_units(plan: Plan) -> str:
    budget, unit = plan.budget, plan.fleet.unit
    stored, cost = float(budget.harvest.mean()), float(budget.cost.mean())
    costs = f"a round costs {amount(cost)}{_spread(budget.cost, amount)}"
    drain = f", standing by and leaks take {amount(float(budget.drain.mean()))}" if budget.drain.any() else ""
    spread = _harvests(plan, budget.harvest, amount)
    return f"A client stores {amount(stored)} {unit} a round on average{spread}; {costs}{drain}{_weather(plan)}."


def _with_joules(text: str, joules: float) -> str:
    """Return the text, and the amount as people write small ones where the text has another unit."""
    other = as_energy(joules)
    return text if other.split()[1] == text.split()[1] else f"{other} ({text})"


def _spread(values: FloatArray, shown: Callable[[float], str]) -> str:
    """Return from where to where clients' values go, where they are not all alike by a hundredth."""
    least, most = float(values.min()), float(values.max())
    if most - least <= 0.01 * abs(most):
        return ""
    return f" ({shown(least)} to {shown(most)} by client)"


def _harvests(plan: Plan, values: FloatArray, shown: Callable[[float], str]) -> str:
    """Return from where to where clients' harvests go, unless chance alone makes them differ."""
    return _spread(values, shown) if _spread(plan.fleet.rates, amount) else ""


def _weather(plan: Plan) -> str:
    return f" (weather of seed {plan.seeds[0]})" if len(plan.seeds) > 1 else ""


def _of(sustainable: float, plan: Plan) -> str:
    return f"{amount(sustainable)} of {counted(plan.fleet.clients, 'client')}"


def say_battery(plan: Plan) -> Iterator[str]:
    """Say what a full battery pays for, where it has an end."""
    budget, fleet = plan.budget, plan.fleet
    if not np.isfinite(budget.capacity).all():
        return
    holds = float(budget.capacity.mean())
    held = as_energy(holds * fleet.quantum) if fleet.quantum is not None else f"{amount(holds)} {fleet.unit}"
    kept = budget.rounds_kept
    parts = [f"{counted_amount(float(kept.mean()), 'round')}{_spread(kept, amount)}"]
    if budget.drain.any():
        idle = holds / float(budget.drain.mean())  # rounds until it is empty
        parts.append(_standing_by(idle, fleet.round_length))
    yield f"A full battery ({held}) pays for {' or '.join(parts)}."


def _standing_by(rounds: float, round_length: float | None) -> str:
    if round_length is None:
        return f"{counted_amount(rounds, 'round')} of standing by"
    days = rounds * round_length / _DAY
    time = f"{amount(days)} days" if days >= 2 else as_time(float(f"{rounds * round_length:.2g}"))
    return f"{time} of standing by"


def counted_amount(x: float, noun: str) -> str:
    """Return about so many of something.

    >>> counted_amount(30.0, "round"), counted_amount(2.53, "round"), counted_amount(1, "round")
    ('30 rounds', '2.53 rounds', '1 round')
    """
    return f"{amount(x)} {noun}{'' if x == 1 else 's'}"
