"""Plans made by hand, small enough to be worked out on paper."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ehfl.energy import Bernoulli, Fleet
from ehfl.planning import Answer, Budget, Calendar, Curve, Free, Outlook, Plan, Want
from ehfl.quantities import as_energy
from ehfl.scheduling import Summary
from ehfl.scheduling.participation import jain, longest_run

JANUARY, FEBRUARY = 31 * 24, 28 * 24  # hours


BATTERY = Free("battery", {}, now=18_000.0, low=360.0, high=36_000.0, shown=as_energy, change=lambda value: {})


def summary_of(counts: Sequence[int], turns: Sequence[int], target: int, *, waste: float, lost: float) -> Summary:
    n = np.array(counts)
    return Summary(
        scheduler="", clients=len(turns), rounds=n.size, target=target, mean=float(n.mean()), std=float(n.std()),
        min=int(n.min()), max=int(n.max()), empty_rounds=int((n == 0).sum()), on_target=float((n >= target).mean()),
        worst_streak=longest_run(n < target), shortfall=float(np.maximum(target - n, 0).mean()), waste=waste, lost=lost,
        used=1 - waste - lost, fairness=jain(np.array(turns)), chi_square=0.0, least_weight=1.0, most_weight=1.0,
    )  # fmt: skip


def outlook_of(
    label: str, target: int, rows: Sequence[Sequence[int]], turns: Sequence[int], waste: float = 0.0, lost: float = 0.0
) -> Outlook:
    """Return an outlook of these participants, a row a seed."""
    summaries = tuple(summary_of(row, turns, target, waste=waste, lost=lost) for row in rows)
    return Outlook(label, target, np.array(rows), np.array([turns] * len(rows)), summaries)


def unit_plan() -> Plan:
    """Four clients of the paper's units, ten rounds, two seeds: myopic is short once under the first, greedy often."""
    myopic = outlook_of("myopic", 2, [[0, 2, 2, 2, 2, 2, 2, 2, 2, 2], [2] * 10], [5, 5, 5, 4])
    greedy = outlook_of("greedy", 2, [[0, 4] * 5, [0, 4] * 5], [5, 5, 5, 5])
    fleet = Fleet(4, Bernoulli(0.5), capacity=6, cost=1)
    ones = np.ones(4)
    return Plan("units", fleet, "bernoulli", 10, (0, 1), None, Budget(0.5 * ones, 0 * ones, ones, 6 * ones),
                (myopic, greedy), {"myopic": "myopic", "greedy": "greedy"}, None)  # fmt: skip


def sun_plan() -> Plan:
    """Four clients at two sites, hours of January and February, one seed: short at 4 and 5 o'clock in January.

    A quantum is 1 J. Clients store 200 J an hour in January and 500 J in February; a round costs 360 J, standby 60 J.
    """
    counts = [1 if hour % 24 in (4, 5) else 2 for hour in range(JANUARY)] + [2] * FEBRUARY
    turns = [700, 650, 500, 920]
    budget = Budget(
        harvest=np.full(4, (200 * JANUARY + 500 * FEBRUARY) / (JANUARY + FEBRUARY)), drain=np.full(4, 60.0),
        cost=np.full(4, 360.0), capacity=np.full(4, 18_000.0),
        by_month=np.array([[200.0] * 4, [500.0] * 4, *[[np.nan] * 4] * 10]),
    )  # fmt: skip
    fleet = Fleet(4, Bernoulli(0.5), capacity=18_000, cost=360, unit="J", quantum=1.0, round_length=3600.0, drain=60.0)
    outlook = outlook_of("myopic", 2, [counts], turns, waste=0.25, lost=0.05)
    return Plan("farm", fleet, "sun", JANUARY + FEBRUARY, (0,), Calendar(0, 3600.0), budget, (outlook,),
                {"myopic": "myopic"}, ("coast", "hill", "coast", "hill"))  # fmt: skip


def answered(plan: Plan) -> Plan:
    """Return the plan with an answer to what is wanted, and with a curve; the values are made up."""
    seeds = len(plan.seeds)
    tried = {9000.0: 0.93, 9090.0: 0.96, 18_000.0: 0.97}
    answer = Answer(9090.0, found=True, ends=(9000.0, 18_000.0), years=30, met=27, share=0.96, tried=tried,
                    largest=36_000.0, fresh=(18, 20))  # fmt: skip
    values = (9000.0, 18_000.0, 36_000.0)
    shares = np.repeat([[0.93], [0.97], [1.0]], seeds, axis=1)
    curve = Curve("battery", "myopic", values, tuple(map(as_energy, values)), 18_000.0, shares)
    return replace(plan, want=Want(2, 0.95), free=BATTERY, answers={"myopic": answer}, curves=(curve,))
