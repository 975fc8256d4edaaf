"""`ehfl simulate`: what schedulers made of a fleet's energy, seed by seed, as a table, every figure and plain facts."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ehfl.arrays import IntArray
from ehfl.report.tables import cells
from ehfl.report.tables.output import Column, Output, number_column, pair_column, table_of
from ehfl.report.tables.render import ENERGY, POSSIBLE, Cell, Quantity, Table, lines_of, shared
from ehfl.report.write import counted, listed, percent
from ehfl.scheduling import Summary
from ehfl.validation import described

if TYPE_CHECKING:  # SciPy, behind estimates, takes longer to load than `ehfl simulate` to print its table
    from ehfl.analysis.statistics import Estimate
    from ehfl.energy import EnergyTotals, Fleet
    from ehfl.planning import Optimum, Share
    from ehfl.scheduling import Participation

ON_TARGET = 0.95  # share of its rounds with as many as wanted from which on a seed counts as on target
_SAME = {"scheduler", "clients", "rounds", "target"}  # for all seeds
_UNEVEN = 0.01  # chi^2 of weights from which on they are a tenth off, root mean square


@dataclass(frozen=True, slots=True)
class Shown:
    """What is kept of a participation; who took part is not, since a large fleet's would fill the memory."""

    summary: Summary
    totals: EnergyTotals
    counts: IntArray
    spent: IntArray
    quantum: float | None  # what a unit is [J], where that is known
    round_length: float | None  # [s], where that is known
    possible: Optimum | None = None  # what any scheduler could have reached, where that was asked for
    share: Share | None = None  # how much of it this one did, unless it had other means
    other_means: bool = False  # whether turns were paid for by mains, or had fewer steps: then it has no share

    @staticmethod
    def of(played: Participation, file: Path | None = None) -> Shown:
        """Return what is kept of a participation; save all of it in a file, if there is one."""
        if file is not None:
            file.parent.mkdir(parents=True, exist_ok=True)
            played.save(file)
        means = played.mains_powered or played.steps is not None
        return Shown(played.summary(), played.totals, played.counts, played.spent, played.quantum, played.round_length,
                     other_means=means)  # fmt: skip

    def beside(self, possible: Optimum | None) -> Shown:
        """Return the same with its share of what any scheduler could have reached."""
        if possible is None:
            return self
        share = None if self.other_means else possible.share_of(self.counts)
        return replace(self, possible=possible, share=share)

    def as_facts(self) -> dict[str, Any]:
        """Return the figures by name, ready for JSON; energies in whole quanta, and their totals in joules, too."""
        lists = {"counts": self.counts.tolist(), "spent": self.spent.tolist()}
        energy = asdict(self.totals)
        shares: dict[str, Any] = {}
        if self.possible is not None:
            shares = {"possible": self.possible.as_facts(), "share": None if self.share is None else asdict(self.share)}
        return self.summary.as_dict() | {"energy": energy, **_joules(energy, self.quantum)} | shares | lists


@dataclass(frozen=True, slots=True)
class Simulations:
    """One scheduler's participations in figures, one a seed."""

    summaries: tuple[Summary, ...]
    shares: tuple[Share | None, ...] = ()  # of what was possible, where that was asked for; None on mains power

    @staticmethod
    def of(many: Sequence[Shown]) -> Simulations:
        """Return the figures of what was kept."""
        return Simulations(tuple(one.summary for one in many), tuple(one.share for one in many if one.possible))

    @property
    def seeds(self) -> int:
        """How many there are."""
        return len(self.summaries)

    @property
    def on_target(self) -> int:
        """How many seeds had as many participants as wanted in at least 95 % of their rounds."""
        return sum(one.on_target >= ON_TARGET for one in self.summaries)

    def values(self, figure: str) -> list[float]:
        """Return a figure of the summary, seed by seed."""
        return [getattr(one, figure) for one in self.summaries]

    def mean(self, figure: str) -> float:
        """Return its mean over the seeds."""
        return sum(self.values(figure)) / self.seeds

    def reached(self, figure: str) -> list[float] | None:
        """Return a share of what was possible, seed by seed; None where there is none to be had."""
        found = [getattr(one, figure) for one in self.shares if one is not None]
        return found if found and len(found) == self.seeds else None

    def over_seeds(self, figure: str) -> Estimate | float:
        """Return its mean over the seeds with a 95 % interval, or the only value."""
        return cells.over_seeds(self.values(figure))

    def as_facts(self) -> dict[str, Any]:
        """Return the estimates by figure, and the share of seeds on target, ready for JSON."""
        from ehfl.analysis.statistics import estimate

        figures = self.summaries[0].as_dict().keys() - _SAME
        shares = {name: self.reached(name) for name in ("mean_sqrt", "least")}
        return {
            "seeds_on_target": self.on_target / self.seeds,
            "estimates": {name: asdict(estimate(self.values(name))) for name in sorted(figures)}
            | {f"share_{name}": asdict(estimate(found)) for name, found in shares.items() if found is not None},
        }


Played = Mapping[str, Sequence[Shown]]  # one a seed, by the arm's label


def simulate_facts(fleet: Fleet, seeds: Sequence[int], played: Played) -> dict[str, Any]:
    """Return everything for JSON: of one seed its figures, of several the estimates and each seed's."""
    import numpy as np

    import ehfl
    from ehfl.files import finite

    levels = {name: np.asarray(getattr(fleet, name)).tolist() for name in ("capacity", "initial", "cost")}
    single = len(seeds) == 1
    return {
        "version": ehfl.__version__,
        "fleet": {"clients": fleet.clients, "harvest": described(fleet.harvest), "unit": fleet.unit}
        | {name: size for name in ("quantum", "round_length") if (size := getattr(fleet, name)) is not None}
        | {name: finite(value, instead="inf") for name, value in levels.items()}
        | _joules(levels, fleet.quantum),
        **({"seed": seeds[0]} if single else {"seeds": list(seeds)}),
        "schedulers": {
            label: many[0].as_facts()
            if single
            else Simulations.of(many).as_facts() | {"by_seed": [one.as_facts() for one in many]}
            for label, many in played.items()
        },
    }


def _joules(energy: Mapping[str, Any], quantum: float | None) -> dict[str, Any]:
    """Return energies in joules, beside which they stand in quanta; nothing where these have no size."""
    import numpy as np

    from ehfl.files import finite

    if quantum is None:
        return {}
    return {"joules": finite({name: (np.asarray(x) * quantum).tolist() for name, x in energy.items()}, instead="inf")}


def simulate_output(fleet: Fleet, seeds: Sequence[int], played: Played, swept: Sequence[str] = ()) -> Output:
    """Return what `ehfl simulate` prints; `swept` are the keys of the fleet's spec in which arms differ."""
    from ehfl.quantities import as_time

    simulations = {label: Simulations.of(many) for label, many in played.items()}
    first = next(iter(simulations.values())).summaries[0]
    amounts = [f"battery {_amount_of(fleet.capacity, fleet)}"]
    if (fleet.costs != 1).any() or fleet.unit != "units":
        amounts.append(f"cost {_amount_of(fleet.cost, fleet)}")
    played_for = f"seed {seeds[0]}" if len(seeds) == 1 else f"{len(seeds):,} seeds"
    length = "" if fleet.round_length is None else f" of {as_time(fleet.round_length)}"
    title = f"{fleet.clients:,} clients, {described(fleet.harvest)}, {', '.join(amounts)}"
    title += f"; swept: {', '.join(swept)}" if swept else ""
    fact = f"{first.rounds:,} rounds{length}, {played_for}, {_targets(simulations)} wanted a round"
    table, full = simulate_table(simulations), full_table(simulations)
    return Output((title, fact), table, tuple(_verdict(simulations)), (full,), "who took part: --figure n.png")


def _targets(simulations: Mapping[str, Simulations]) -> str:
    """Return the clients wanted a round, "5 clients", the range where arms differ in it."""
    targets = [many.summaries[0].target for many in simulations.values()]
    least, most = min(targets), max(targets)
    return counted(most, "client") if least == most else f"{least:,} to {counted(most, 'client')}"


def _amount_of(value: Any, fleet: Fleet) -> str:
    """Return an amount of energy, or the range of one per client, with its unit; in joules where they are known."""
    import numpy as np

    from ehfl.quantities import as_energy

    low, high, unit = float(np.min(value)), float(np.max(value)), fleet.unit
    if fleet.quantum is not None:
        ends = dict.fromkeys(as_energy(end * fleet.quantum) for end in (low, high))
        return " to ".join(ends)
    numbers = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    return numbers if high == np.inf and low == high else f"{numbers} {unit}"


def _verdict(simulations: Mapping[str, Simulations]) -> Iterator[str]:
    """Say who meets the target most often, who trains nobody, and whose clients weigh unevenly."""
    target = _targets(simulations)
    met = {label: many.mean("on_target") for label, many in simulations.items()}
    most = max(met.values())
    best = [label for label, share in met.items() if share == most]
    often = " most often" if len(best) < len(met) else ""
    yield f"The target of {target} is met{often} under {listed(best)}: in {percent(most)} of rounds."
    if idle := [label for label, many in simulations.items() if not many.mean("mean")]:
        yield f"No client ever takes part under {listed(idle)}."
    uneven = [label for label, many in simulations.items() if many.mean("chi_square") >= _UNEVEN and label not in idle]
    if uneven:
        worst = max(uneven, key=lambda label: simulations[label].mean("chi_square"))
        low, high = (simulations[worst].mean(name) for name in ("least_weight", "most_weight"))
        weights = f"clients weigh {low:.2f} to {high:.2f} of what is fair in a plain mean"
        yield f"Under {worst} {weights}: ehfl audit shows what that does to labels."


def simulate_table(simulations: Mapping[str, Simulations]) -> Table:
    """Return schedulers as rows."""
    many = list(simulations.values())
    intervals = f"± 95 % interval over {many[0].seeds} seeds" if many[0].seeds > 1 else ""
    shares = [share for one in many for share in one.shares]
    bound = "what is achievable is an upper bound" if any(share and not share.exact for share in shares) else ""
    return table_of(list(_columns(simulations)), list(simulations), "; ".join(filter(None, (intervals, bound))))


def _columns(simulations: Mapping[str, Simulations]) -> Iterator[Column]:
    first, blank = next(iter(simulations.values())), ""

    def column(head: str, figure: str, factor: float = 1.0) -> Column:
        return number_column(head, {label: many.over_seeds(figure) for label, many in simulations.items()}, factor)

    def plain(head: str, of: Callable[[Simulations], float]) -> Column:
        return number_column(head, {label: of(many) for label, many in simulations.items()})

    yield pair_column("clients\na round, sd", column(blank, "mean"), plain(blank, lambda many: many.mean("std")))
    fewest = plain(blank, lambda many: float(min(many.values("min"))))
    most = plain(blank, lambda many: float(max(many.values("max"))))
    yield pair_column("fewest\nto most", fewest, most, "-")
    yield column("empty\nrounds", "empty_rounds")
    yield column(f"{_targets(simulations)}\n[% rounds]", "on_target", 100)
    if first.seeds > 1:
        sure = {label: f"{many.on_target} of {many.seeds}" for label, many in simulations.items()}
        yield ("seeds on\ntarget", sure)
    yield plain("longest\nshort", lambda many: float(max(many.values("worst_streak"))))
    if any(many.shares for many in simulations.values()):
        reached = {label: _reached(many) for label, many in simulations.items()}
        yield number_column("share of\npossible [%]", reached, 100)
    least = plain(blank, lambda many: many.mean("least_weight"))
    yield pair_column("weight in\nmean x N", least, plain(blank, lambda many: many.mean("most_weight")), "-")
    for head, figure in (("wasted\n[%]", "waste"), ("lost\n[%]", "lost")):
        if any(max(many.values(figure)) > 0 for many in simulations.values()):
            yield column(head, figure, 100)


def _reached(many: Simulations, figure: str = "mean_sqrt") -> Estimate | float | None:
    found = many.reached(figure)
    return None if found is None else cells.over_seeds(found)


def full_table(simulations: Mapping[str, Simulations]) -> Table:
    """Return every figure, schedulers side by side."""
    many = list(simulations.values())
    losses = any(max(one.values("lost")) > 0 for one in many)
    lines = simulated(many[0].seeds, losses=losses, possible=any(one.shares for one in many))
    return Table(tuple(simulations), lines_of(lines, many))


def simulated(seeds: int = 1, *, losses: bool = False, possible: bool = False) -> Iterator[Quantity[Simulations]]:
    """Yield a line for each figure; with several seeds, means with their intervals.

    What was lost has a line where any battery has `losses`; shares of what was `possible` have two where asked for.
    """
    group, over = "Participants a round", ", mean over seeds" if seeds > 1 else ""
    yield shared(group, "participants, mean", _line("mean"))
    yield shared(group, "standard deviation", _line("std"), nested=True)
    yield Quantity(group, "lowest", f"The fewest in any round{over}", _line("min"), nested=True)
    yield Quantity(group, "highest", f"The most in any round{over}", _line("max"), nested=True)
    yield shared(group, "empty rounds", _line("empty_rounds"))
    met, streak = "Share of rounds with as many as wanted", "Most rounds in a row with fewer than wanted"
    yield Quantity(group, "rounds on target", met, _line("on_target", cells.share))
    yield Quantity(group, "longest streak short", streak, _line("worst_streak"))
    if seeds > 1:
        yield Quantity(group, "in the worst seed", "The longest of all seeds",
                       lambda many: cells.amount(max(many.values("worst_streak"))), nested=True)  # fmt: skip
        sure = f"Seeds with as many as wanted in at least {ON_TARGET:.0%} of their rounds"
        yield Quantity(group, "seeds on target", sure, lambda many: Cell(f"{many.on_target} of {many.seeds}"))
    yield shared(group, "clients short a round", _line("shortfall"))
    if possible:
        yield shared(POSSIBLE, "share of possible", lambda many: cells.share(_reached(many)))
        yield shared(POSSIBLE, "of the lowest", lambda many: cells.share(_reached(many, "least")), nested=True)
    yield Quantity(ENERGY, "energy spent", "Share of all energy that rounds took", _line("used", cells.share))
    yield shared(ENERGY, "harvest wasted", _line("waste", cells.share))
    if losses:
        yield shared(ENERGY, "energy lost", _line("lost", cells.share))
    yield shared(ENERGY, "fairness (Jain)", _line("fairness", cells.index))
    yield shared(ENERGY, "chi^2 of weights", _line("chi_square", cells.index))
    yield shared(ENERGY, "smallest weight [1/N]", _line("least_weight"), nested=True)
    yield shared(ENERGY, "largest weight [1/N]", _line("most_weight"), nested=True)


def _line(figure: str, cell: Callable[[Estimate | float], Cell] = cells.amount) -> Callable[[Simulations], Cell]:
    return lambda many: cell(many.over_seeds(figure))
