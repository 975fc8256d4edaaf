"""A plan in the terminal and on the page: what was planned, schedulers as rows, and every figure of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

from ehfl.analysis.statistics import Estimate
from ehfl.arrays import FloatArray
from ehfl.planning import (
    MONTHS,
    RELIABLE,
    YEAR,
    Answer,
    Month,
    Outlook,
    Plan,
    SizeMap,
    months_of,
    seasons_of,
    turns_by_site,
    worst_month,
)
from ehfl.quantities import as_energies, as_energy, as_time
from ehfl.report.plan_verdict import COUNTED_ON, exact, verdict_of_plan
from ehfl.report.tables import cells
from ehfl.report.tables.output import Column, Output, number_column, pair_column, table_of
from ehfl.report.tables.render import POSSIBLE, Cell, Quantity, Table, lines_of, shared, side_by_side
from ehfl.report.write import DASH, amount, counted

Lines = Iterator[Quantity[Outlook]]
_FEW = 4  # sites up to which each has a line
_DAY = 86_400.0  # [s]
_BLANK = ""  # the head of a part of a column


def plan_output(plan: Plan) -> Output:
    """Return what `ehfl plan` prints."""
    full = Table(tuple(one.label for one in plan.outlooks), lines_of(plan_lines(plan), plan.outlooks))
    beside = [*([size_table(plan.sizes)] if plan.sizes else []), *([curve_table(plan)] if plan.curves else [])]
    text = "\n\n".join(table.text() for table in beside)
    facts = setting(plan), *budget_lines(plan)
    return Output(facts, plan_table(plan), tuple(verdict_of_plan(plan)), (full,), _next(plan), tuple(text.splitlines()))


def _next(plan: Plan) -> str:
    if plan.want is None and plan.ranked:
        if not np.isfinite(plan.budget.capacity).all():
            return "the most clients that come in 95 % of rounds: --sustain 95"
        best, sure = plan.best, plan.best.count_on(RELIABLE)
        clients = best.target if plan.has_target or sure >= best.target else min(2 * sure + 1, best.target)
        what = "that does" if sure >= clients else "for more"
        share = f"{100 * RELIABLE:g} % of rounds"
        return f"the smallest battery {what}: --want '{counted(clients, 'client')} in {share}' --free battery"
    if plan.sizes is None and plan.fleet.quantum is not None:
        return "the cheapest battery and panel: --price battery=0.30/Wh --price panel=1.2/W"
    return "a page with figures: --out FOLDER" if plan.curves else "half and twice of everything: --curves"


# What was planned, and what its harvest pays for.


def budget_lines(plan: Plan) -> Iterator[str]:
    """Yield what clients store, what rounds cost, and how many clients a round that pays for."""
    yield _budget(plan)
    budget, months = plan.budget, plan.budget.sustainable_by_month
    pays = f"That pays for {amount(budget.sustainable)} of {counted(plan.fleet.clients, 'client')} a round"
    if months is not None and np.isfinite(months).sum() > 1:
        poorest, richest = int(np.nanargmin(months)), int(np.nanargmax(months))
        lean, rich = amount(months[poorest]), amount(months[richest])
        pays += ", in every month" if lean == rich else f": {lean} in {MONTHS[poorest]}, {rich} in {MONTHS[richest]}"
    if plan.possible:
        least = min(best.least for best in plan.possible)
        pays += f"; achievable in every round with perfect foresight: {least:,}"
    yield f"{pays}."
    if plan.note:
        yield plan.note


def setting(plan: Plan) -> str:
    """Return what was planned, in a line."""
    length, rounds = plan.fleet.round_length, counted(plan.rounds, "round")
    if length is not None:
        year = " (a year)" if abs(plan.rounds * length - YEAR) < length else ""
        rounds = f"{rounds} of {as_time(length)}{year}"
    return f"{counted(plan.fleet.clients, 'client')}, {plan.harvest}, {rounds}, {counted(len(plan.seeds), 'seed')}"


def _budget(plan: Plan) -> str:
    """Return harvest, cost and battery: in joules a day where units and rounds have a size, else in units a round."""
    budget, fleet = plan.budget, plan.fleet
    quantum, length = fleet.quantum, fleet.round_length
    physical = quantum is not None and length is not None
    size = quantum if quantum is not None and physical else 1.0  # of a unit [J]
    daily = size * _DAY / length if physical and length else 1.0

    def write(x: float) -> str:
        return as_energy(x) if physical else amount(x)

    stored, standby = float(budget.harvest.mean()) * daily, float(budget.drain.mean()) * daily
    monthly = None if budget.by_month is None else budget.by_month.mean(axis=1) * daily
    poorest = int(np.nanargmin(monthly)) if monthly is not None and np.isfinite(monthly).sum() > 1 else None
    least = stored if poorest is None or monthly is None else float(monthly[poorest])
    holds = float(budget.capacity.mean()) * size
    texts = [f"{amount(stored)} {fleet.unit}", "", amount(standby), f"{amount(holds)} {fleet.unit}"]
    if physical:
        texts = as_energies(stored, least, standby, *([holds] if np.isfinite(holds) else []))
    # Where rates are alike, chance alone makes harvests differ.
    by_client = _range(budget.harvest * daily, write) if _range(fleet.rates, amount) else ""
    lean = "" if poorest is None or not physical else f", {texts[1]} in {MONTHS[poorest]}"
    period = "day" if physical else "round"
    parts = [f"A client stores {texts[0]} a {period}{by_client}{lean}"]
    parts.append(f"a round costs {write(float(budget.cost.mean()) * size)}{_range(budget.cost * size, write)}")
    if standby:
        parts.append(f"standby and leaks take {texts[2]} a {period}")
    if np.isfinite(budget.capacity).all():
        parts.append(_battery(plan, texts[3]))
    return f"{'; '.join(parts)}."


def _battery(plan: Plan, held: str) -> str:
    """Return the rounds, and the days of standby, that a full battery pays for; `held` is what it holds."""
    budget, fleet = plan.budget, plan.fleet
    kept = budget.rounds_kept
    rounds = "1 round" if kept.mean() == 1 else f"{amount(float(kept.mean()))} rounds"
    idle = ""
    if budget.drain.any():
        empty = float(budget.capacity.mean() / budget.drain.mean())  # rounds until it is, without taking part
        days = empty * (fleet.round_length or 0.0) / _DAY
        time = as_time(float(f"{days * _DAY:.2g}")) if days < 2 else f"{amount(days)} days"
        idle = f" or {time if days else f'{amount(empty)} rounds'} of standby"
    return f"a full battery ({held}) pays for {rounds}{_range(kept, amount)}{idle}"


def _range(values: FloatArray, write: Callable[[float], str]) -> str:
    """Return from where to where clients' values go, where they differ by more than a hundredth."""
    least, most = float(values.min()), float(values.max())
    return f" ({write(least)} to {write(most)} by client)" if most - least > 0.01 * abs(most) else ""


# The compact table.


def plan_table(plan: Plan) -> Table:
    """Return schedulers as rows."""
    labels = [one.label for one in plan.outlooks]
    return table_of(list(plan_columns(plan)), labels, _note(plan))


def plan_columns(plan: Plan, *, alike: bool = True) -> Iterator[Column]:
    """Yield the columns; where plans are not `alike`, the name of none says how many clients are wanted."""
    outlooks = plan.outlooks
    if plan.answers and plan.free is not None:
        write = plan.free.shown
        needed = {label: needed_text(one, write) for label, one in plan.answers.items()}
        yield f"{plan.free.name}\nneeded", {one.label: needed.get(one.label, DASH) for one in outlooks}
    if plan.sustained:
        held = {label: needed_text(one, amount, "<") for label, one in plan.sustained.items()}
        share = 100 * (plan.sustain or 0.0)
        yield f"most clients\nin {share:g} %", {one.label: held.get(one.label, DASH) for one in outlooks}
    yield number_column("clients\na round", _over_seeds(plan, lambda one: one.figure("mean")))
    most, nearly_all = COUNTED_ON
    in_most, in_nearly_all = (
        number_column(_BLANK, {one.label: float(one.count_on(share)) for one in outlooks}) for share in COUNTED_ON
    )
    yield pair_column(f"count on, in\n{100 * most:g} %, {100 * nearly_all:g} %", in_most, in_nearly_all)
    seasons = {one.label: seasons_of(one, plan.calendar) for one in outlooks}
    for name in next(iter(seasons.values())):
        yield number_column(f"in\n{name}", {label: float(found[name]) for label, found in seasons.items()})
    if plan.want is not None and (plan.want.when or any(one.target != plan.want.clients for one in outlooks)):
        yield _percent(plan, f"{counted(plan.want.clients, 'client')}\n[% rounds]", plan.scores)
    targets = {one.target for one in outlooks}
    target = counted(targets.pop(), "client") if alike and len(targets) == 1 else "the target"
    yield _percent(plan, f"{target}\n[% rounds]", Outlook.on_target)
    yield number_column("longest\nshort", {one.label: one.figure("worst_streak").max() for one in outlooks})
    if plan.possible:
        share_of = {one.label: [share.mean_sqrt for share in plan.shares(one)] for one in outlooks}
        found = {label: cells.over_seeds(shares) if shares else None for label, shares in share_of.items()}
        yield number_column("share of\npossible [%]", found, 100)
    yield _percent(plan, "wasted\n[%]", lambda one: one.figure("waste"))
    slow = {one.label: (one.slowdown(one.target, 0.0), one.slowdown(one.target, np.inf)) for one in outlooks}
    least, largest = (number_column(_BLANK, {label: found[end] for label, found in slow.items()}) for end in (0, 1))
    yield pair_column("rounds\nx mains", least, largest, "-")


def needed_text(answer: Answer, shown: Callable[[float], str], beyond: str = ">") -> str:
    """Return an answer in a cell; behind `beyond` another scheduler's, where that is not enough."""
    if answer.beyond is not None:
        return f"{beyond} {shown(answer.beyond)}"
    return shown(answer.value) if answer.found else "none"


def _percent(plan: Plan, head: str, values: Callable[[Outlook], FloatArray]) -> Column:
    return number_column(head, _over_seeds(plan, values), 100)


def _over_seeds(plan: Plan, values: Callable[[Outlook], FloatArray]) -> dict[str, Estimate | float | None]:
    return {one.label: cells.over_seeds(values(one)) for one in plan.outlooks}


def _note(plan: Plan) -> str:
    """Return what a reader of the table has to know."""
    seeds = len(plan.seeds)
    mains = [one.label for one in plan.outlooks if one.mains_powered]
    parts = [
        f"± 95 % interval over {seeds} seeds" if seeds > 1 else "one seed: no intervals",
        "x mains: rounds that equal one on mains power, if each round counts alike to if each participant does",
        "" if all(best.exact for best in plan.possible) else "what is achievable is an upper bound",
        f"on mains power, for reference: {', '.join(mains)}" if mains else "",
        _by_month(plan),
    ]
    return "; ".join(part for part in parts if part)


def _by_month(plan: Plan) -> str:
    """Return how many clients to count on by month, under the best scheduler."""
    months = [] if plan.calendar is None else months_of(plan.best, plan.calendar)
    if len(months) < 2:
        return ""
    counts = ", ".join(f"{month.name[:3]} {month.count_on:,}" for month in months)
    return f"in {100 * RELIABLE:g} % of each month's rounds under {plan.best.label}: {counts}"


# Every figure.


def plan_lines(plan: Plan) -> list[Quantity[Outlook]]:
    """Return a line for each figure; with several seeds, means with their intervals."""
    return [*_rounds(plan), *_possible(plan), *_worst(plan), *_energy(plan), *_turns(plan), *_mains()]


def _rounds(plan: Plan) -> Lines:
    group, want, (most, nearly_all) = "Participants a round", plan.want, COUNTED_ON
    sure = "Fewest clients in the best of all rounds, as a share of rounds, all seeds together"
    streak = "Most rounds in a row with fewer than wanted" + (", of all seeds" if len(plan.seeds) > 1 else "")
    met = "Share of rounds with as many as wanted"
    yield Quantity(group, "target", "Clients wanted a round", lambda one: cells.amount(one.target))
    yield Quantity(group, "participants, mean", "Clients that take part in a round", _line("mean"))
    yield Quantity(group, f"counted on in {100 * most:g} % of rounds", sure,
                   lambda one: cells.amount(one.count_on(most)))  # fmt: skip
    yield Quantity(group, f"in {100 * nearly_all:g} %", sure,
                   lambda one: cells.amount(one.count_on(nearly_all)), nested=True)  # fmt: skip
    yield Quantity(group, "rounds on target", met, _line(Outlook.on_target, cells.share))
    yield Quantity(group, "longest streak short", streak, lambda one: cells.amount(one.figure("worst_streak").max()))
    yield Quantity(group, "empty rounds", "Rounds without any participant", _line("empty_rounds"))
    if want is None:
        return

    def seeds(one: Outlook) -> Cell:
        shares = plan.scores(one)
        return Cell(f"{np.count_nonzero(shares >= want.share - 1e-12)} of {len(shares)}")

    yield Quantity(group, f"rounds with {want.clients:,}", "Share of rounds with as many as --want asks for",
                   _line(plan.scores, cells.share))  # fmt: skip
    yield Quantity(group, "seeds that do it", f"Seeds with {want}, each by itself", seeds, nested=True)


def _possible(plan: Plan) -> Lines:
    if not plan.possible:
        return
    most = min(best.least for best in plan.possible)

    def reached(figure: str) -> Callable[[Outlook], Cell]:
        cell = _line(lambda one: np.array([getattr(share, figure) for share in plan.shares(one)]), cells.share)
        return lambda one: cell(one) if plan.shares(one) else cells.NONE

    yield shared(POSSIBLE, "share of possible", reached("mean_sqrt"))
    yield shared(POSSIBLE, "of the lowest", reached("least"), nested=True)
    meaning = "Clients in every round, under every seed, with perfect foresight"
    yield Quantity(POSSIBLE, "lowest possible", meaning, lambda one: cells.amount(most), nested=True)


def _worst(plan: Plan) -> Lines:
    group, months = "The worst month", {one.label: worst_month(one, plan.calendar) for one in plan.outlooks}
    if not any(months.values()):
        return

    def found(cell: Callable[[Month], Cell]) -> Callable[[Outlook], Cell]:
        return lambda one: cells.NONE if (month := months[one.label]) is None else cell(month)

    which = "The month with the fewest rounds on target, then with the fewest clients"
    on_target, mean = found(lambda month: cells.share(month.on_target)), found(lambda month: cells.amount(month.mean))
    yield Quantity(group, "worst month", which, found(lambda month: Cell(month.name)))
    yield Quantity(group, "rounds on target", "In that month", on_target, nested=True)
    yield Quantity(group, "participants, mean", "In that month", mean, nested=True)


def _energy(plan: Plan) -> Lines:
    spent = "Share of all energy that rounds take"
    yield Quantity("Energy", "energy spent", spent, _line("used", cells.share))
    yield shared("Energy", "harvest wasted", _line("waste", cells.share))
    if any(one.figure("lost").max() > 0 for one in plan.outlooks):
        yield shared("Energy", "energy lost", _line("lost", cells.share))
    budget, length = plan.budget, plan.fleet.round_length
    if length is None or not np.isfinite(budget.capacity).all():
        return
    if all(one.levels is not None for one in plan.outlooks):
        charge = "Charge above the cut-off, all clients together, as a share of what batteries hold"
        yield Quantity("Energy", "state of charge, mean", charge, _line(partial(_charges, plan), cells.share))
        yield Quantity("Energy", "in 5 % of rounds, at most", charge,
                       _line(partial(_charges, plan, quantile=0.05), cells.share), nested=True)  # fmt: skip
    a_year = YEAR / length / plan.rounds

    def cycles(one: Outlook) -> FloatArray:
        drawn = one.turns * budget.cost + budget.drain * plan.rounds  # (n_seeds, n_clients)
        return np.asarray((drawn / budget.capacity).mean(axis=1)) * a_year

    most = (
        "Energy of turns and standby in full batteries, a year and client: an upper bound, since panels supply a part"
    )
    yield Quantity("Energy", "battery cycles a year, at most", most, _line(cycles))


def _charges(plan: Plan, one: Outlook, quantile: float | None = None) -> FloatArray:
    """Return the mean state of charge over the rounds, or a quantile of them, (n_seeds,)."""
    assert one.levels is not None
    charges = one.levels / plan.budget.capacity.mean()
    return np.asarray(charges.mean(axis=1) if quantile is None else np.quantile(charges, quantile, axis=1))


def _turns(plan: Plan) -> Lines:
    """Yield fairness and turns by site: of all sites where they are few, else of those with most and fewest."""
    group, sites = "Turns of clients", plan.sites
    yield shared(group, "fairness (Jain)", _line("fairness", cells.index))
    fewest = "Share of the rounds in which the client with the fewest turns takes part"
    yield Quantity(group, "worst client", fewest, _line(lambda one: one.turns.min(axis=1) / plan.rounds, cells.share))
    if sites is None:
        return
    names = list(turns_by_site(plan.best, sites))

    def turns(site: str) -> Callable[[Outlook], Cell]:
        return lambda one: cells.amount(turns_by_site(one, sites)[site])

    for site in names if len(names) <= _FEW else [names[0], names[-1]]:
        meaning = "Rounds in which a client there takes part, mean"
        yield Quantity(group, f"turns at {site}", meaning, turns(site), nested=True)


def _mains() -> Lines:
    group = "Rounds for one on mains power"
    meaning = "Rounds that are needed for each one with as many clients as the target on mains power, if"

    def slowdown(noise_scale: float) -> Callable[[Outlook], Cell]:
        def cell(one: Outlook) -> Cell:
            found = one.slowdown(one.target, noise_scale)
            return cells.amount(found) if np.isfinite(found) else Cell("never there")

        return cell

    rounds, noise = f"{meaning} only empty rounds are lost", f"{meaning} progress goes with the number of participants"
    yield Quantity(group, "slowdown, rounds alone (B = 0)", rounds, slowdown(0.0))
    yield Quantity(group, "slowdown, noise alone (B = inf)", noise, slowdown(np.inf))


def curve_table(plan: Plan) -> Table:
    """Return the share of rounds with enough clients by factor of each thing."""
    factors = sorted({round(value / curve.now, 2) for curve in plan.curves for value in curve.values})
    rows = []
    for curve in plan.curves:
        at = {round(value / curve.now, 2): place for place, value in enumerate(curve.values)}
        texts = [exact(float(curve.shares[at[one]].mean())) if one in at else DASH for one in factors]
        rows.append((f"rounds by {curve.name}", texts))
    caption = f"rounds with {counted(plan.wanted_clients, 'client')} under {plan.curves[0].scheduler}; x 1: as it is"
    return side_by_side([f"x {factor:g}" for factor in factors], rows, caption)


def size_table(sizes: SizeMap) -> Table:
    """Return panels as rows: the smallest battery that does, what both cost, and the share of rounds by battery."""

    def battery(value: float) -> str:
        return sizes.battery.shown(value).replace(" times as large", " times")

    panels = [sizes.panel.shown(value) for value in sizes.panels]
    columns = [("battery\nneeded", ["none" if np.isnan(value) else battery(value) for value in sizes.line])]
    if sizes.prices is not None:
        costs = [sizes.cost(place, value) for place, value in enumerate(sizes.line.tolist())]
        columns.append(("price\nof all", [amount(cost) if np.isfinite(cost) else DASH for cost in costs]))
    for value, shares in zip(sizes.batteries, sizes.shares.T, strict=True):
        columns.append((f"{battery(value)}\n[% rounds]", [DASH if np.isnan(x) else f"{100 * x:.1f}" for x in shares]))
    cells = [(head, dict(zip(panels, column, strict=True))) for head, column in columns]
    note = f"panels as rows, under {sizes.scheduler}; needed: the smallest battery that does in the first "
    note += f"{counted(sizes.years, 'year')}; % rounds: as wanted, with the battery above"
    return table_of(cells, panels, note)


def _line(
    values: str | Callable[[Outlook], FloatArray], cell: Callable[[Estimate | float], Cell] = cells.amount
) -> Callable[[Outlook], Cell]:
    """Return what gives the cell of a figure, or of these values, one a seed."""
    found = (lambda one: one.figure(values)) if isinstance(values, str) else values
    return lambda one: cell(cells.over_seeds(found(one)))
