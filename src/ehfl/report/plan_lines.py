"""What a plan's table shows, line by line, in the terminal and on the page."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from ehfl.analysis.cells import Cell, Quantity, amount_cell, estimate_cell, index_cell, metric_cell, percent_cell
from ehfl.analysis.numbers import DASH
from ehfl.analysis.simulations import FAIR, LOST, POSSIBLE, WASTED
from ehfl.analysis.statistics import estimate
from ehfl.arrays import FloatArray
from ehfl.history import Metric
from ehfl.planning import RELIABLE, Outlook, Plan, turns_by_site, worst_month
from ehfl.report.phrases import counted

Line = Quantity[Outlook]
SHARE = Metric("share", bounds=(0, 1))
COUNTED_ON = (RELIABLE, 0.99)  # shares of rounds in which clients can be counted on
_FEW = 4  # sites up to which each has a line
_ROUNDS, _POSSIBLE, _MONTH, _ENERGY, _TURNS, _MAINS = (
    "Participants a round", "What was possible", "The worst month", "Energy", "Turns of clients",
    "Rounds for one on mains power",
)  # fmt: skip


def planned(plan: Plan) -> list[Line]:
    """Return the lines of a plan's table; with several seeds, means with their intervals."""
    return [
        *_rounds(plan),
        *_wanted(plan),
        *_possible(plan),
        *_worst(plan),
        *_energy(plan),
        *_turns(plan),
        *_mains(),
    ]


def caption(plan: Plan) -> str:
    """Return what a reader of the table has to know."""
    seeds = len(plan.seeds)
    together = "what is counted on is" if plan.calendar is None else "what is counted on and the worst month are"
    chance = "one seed: no interval can be given"
    if seeds > 1:
        chance = f"means and 95 % t-intervals over {seeds} seeds, but {together} of all rounds together"
    scale = "B: noise scale [clients], 0 if rounds alone matter, infinite if participants do"
    bound = "" if all(best.exact for best in plan.possible) else "; what was possible is an upper bound"
    mains = [one.label for one in plan.outlooks if one.mains_powered]
    reference = f"; on mains power, for reference: {', '.join(mains)}" if mains else ""
    return f"{counted(plan.rounds, 'round')}; {chance}; {scale}{bound}{reference}"


def _rounds(plan: Plan) -> list[Line]:
    most, nearly_all = COUNTED_ON
    sure = "So many clients or more take part in such a share of the rounds"
    streak = "Most rounds on end with fewer than wanted" + (", of all seeds" if len(plan.seeds) > 1 else "")
    return [
        Quantity(_ROUNDS, "target", "Clients wanted a round", lambda one: amount_cell(one.target)),
        Quantity(_ROUNDS, "participants, mean", "Clients that take part in a round", _amount(_figure("mean"))),
        Quantity(_ROUNDS, f"counted on in {100 * most:g} % of rounds", sure,
                 lambda one: amount_cell(one.count_on(most))),
        Quantity(_ROUNDS, f"in {100 * nearly_all:g} %", sure,
                 lambda one: amount_cell(one.count_on(nearly_all)), nested=True),
        Quantity(_ROUNDS, "rounds on target", "Share of rounds with as many as wanted", _share(Outlook.on_target)),
        Quantity(_ROUNDS, "longest streak short", streak, lambda one: amount_cell(_figure("worst_streak")(one).max())),
        Quantity(_ROUNDS, "empty rounds", "Rounds without any participant", _amount(_figure("empty_rounds"))),
    ]  # fmt: skip


def _wanted(plan: Plan) -> list[Line]:
    want = plan.want
    if want is None:
        return []

    def seeds(one: Outlook) -> FloatArray:
        return one.on_target(want.clients)

    lines: list[Line] = [
        Quantity(_ROUNDS, f"wanted in {100 * want.share:g} % of rounds", f"Whether there are {want}, on average",
                 lambda one: Cell("yes" if seeds(one).mean() >= want.share - 1e-12 else "no")),
    ]  # fmt: skip
    if len(plan.seeds) > 1:
        lines.append(
            Quantity(_ROUNDS, "seeds that do it", "Seeds in which there are, each by itself",
                     lambda one: Cell(f"{np.count_nonzero(seeds(one) >= want.share - 1e-12)} of {len(seeds(one))}"),
                     nested=True)
        )  # fmt: skip
    return lines


def _possible(plan: Plan) -> list[Line]:
    if not plan.possible:
        return []
    most = min(best.least for best in plan.possible)

    def reached(figure: str) -> Callable[[Outlook], Cell]:
        cell = _share(lambda one: np.array([getattr(share, figure) for share in plan.shares(one)]))
        return lambda one: cell(one) if plan.shares(one) else Cell(DASH)

    return [
        Quantity(_POSSIBLE, "share of possible", f"Mean of sqrt(n_t), in parts of the largest that {POSSIBLE}",
                 reached("mean_sqrt")),
        Quantity(_POSSIBLE, "of the lowest", "Fewest in a round from the first on that can have any, likewise: "
                 f"{POSSIBLE}", reached("least"), nested=True),
        Quantity(_POSSIBLE, "lowest possible", "The most clients in every round from then on, under every seed, that "
                 f"{POSSIBLE}", lambda one: amount_cell(most), nested=True),
    ]  # fmt: skip


def _worst(plan: Plan) -> list[Line]:
    calendar = plan.calendar
    if calendar is None or worst_month(plan.best, calendar) is None:
        return []

    def found(one: Outlook) -> tuple[str, float, float]:
        month = worst_month(one, calendar)
        return (DASH, 0.0, 0.0) if month is None else (month.name, month.on_target, month.mean)

    return [
        Quantity(_MONTH, "worst month", "The month with the fewest rounds on target, then with the fewest clients",
                 lambda one: Cell(found(one)[0])),
        Quantity(_MONTH, "rounds on target", "In that month", lambda one: percent_cell(found(one)[1]), nested=True),
        Quantity(_MONTH, "participants, mean", "In that month", lambda one: amount_cell(found(one)[2]), nested=True),
    ]  # fmt: skip


def _energy(plan: Plan) -> list[Line]:
    losses = any(one.figure("lost").max() > 0 for one in plan.outlooks)
    return [
        Quantity(_ENERGY, "energy spent", "Share of all energy that rounds take", _share(_figure("used"))),
        Quantity(_ENERGY, "harvest wasted", WASTED, _share(_figure("waste"))),
        *([Quantity(_ENERGY, "energy lost", LOST, _share(_figure("lost")))] if losses else []),
    ]


def _turns(plan: Plan) -> list[Line]:
    fair = _cell(_figure("fairness"), index_cell, estimate_cell)
    lines: list[Line] = [Quantity(_TURNS, "fairness (Jain)", FAIR, fair)]
    return lines + [_site(plan, site) for site in shown_sites(plan)]


def shown_sites(plan: Plan) -> list[str]:
    """Return the sites whose turns are shown: all where they are few, else those with most and fewest, under `best`."""
    names = list(turns_by_site(plan.best, plan.sites)) if plan.sites else []
    return names if len(names) <= _FEW else [names[0], names[-1]]


def _site(plan: Plan, site: str) -> Line:
    sites = plan.sites
    assert sites is not None
    return Quantity(_TURNS, f"turns at {site}", "Rounds in which a client there takes part, mean",
                    lambda one: amount_cell(turns_by_site(one, sites)[site]), nested=True)  # fmt: skip


def _mains() -> list[Line]:
    needed = "Rounds that are needed for each one with as many clients as the target on mains power"
    meaning = f"{needed}, if"
    return [
        Quantity(_MAINS, "slowdown, rounds alone (B = 0)", f"{meaning} only empty rounds are lost", _slowdown(0.0)),
        Quantity(_MAINS, "slowdown, noise alone (B = inf)", f"{meaning} progress goes with the number of participants",
                 _slowdown(np.inf)),
    ]  # fmt: skip


def _slowdown(noise_scale: float) -> Callable[[Outlook], Cell]:
    def cell(one: Outlook) -> Cell:
        found = one.slowdown(one.target, noise_scale)
        return amount_cell(found) if np.isfinite(found) else Cell("never there")

    return cell


def _figure(name: str) -> Callable[[Outlook], FloatArray]:
    return lambda one: one.figure(name)


def _cell(
    values: Callable[[Outlook], FloatArray], of_one: Callable[[float], Cell], of_several: Callable[..., Cell]
) -> Callable[[Outlook], Cell]:
    def cell(one: Outlook) -> Cell:
        found = values(one)
        return of_one(float(found[0])) if found.size == 1 else of_several(estimate(found))

    return cell


def _amount(values: Callable[[Outlook], FloatArray]) -> Callable[[Outlook], Cell]:
    return _cell(values, amount_cell, estimate_cell)


def _share(values: Callable[[Outlook], FloatArray]) -> Callable[[Outlook], Cell]:
    return _cell(values, percent_cell, lambda found: metric_cell(SHARE, found))
