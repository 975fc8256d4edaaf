"""What schedulers made of a fleet's energy, seed by seed: the lines of the table of `ehfl simulate`, and its facts."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from ehfl.analysis.cells import Cell, Quantity, amount_cell, estimate_cell, index_cell, metric_cell, percent_cell
from ehfl.analysis.numbers import DASH
from ehfl.scheduling import Summary

if TYPE_CHECKING:  # SciPy, behind estimates, takes longer to load than `ehfl simulate` to print its table
    from ehfl.analysis.statistics import Estimate
    from ehfl.planning import Share

ON_TARGET = 0.95  # share of its rounds with as many as wanted from which on a seed counts as on target
ENERGY = "Energy and turns"
WASTED = "Share of the harvest that found the battery full"
LOST = "Share of all energy that charging, leaks and standing by took"
FAIR = "Jain's index of turns per client: 1 when all have equally many"
UNEVEN = (
    "N sum (q_i - 1/N)^2, with q_i what client i weighs in a plain mean of the participants: 0 when all weigh alike"
)
WEIGHT = "Weight in a plain mean of the participants, in parts of the 1/N that would be fair"
POSSIBLE = "on these harvests any scheduler could have reached, had it known them all"
LEAST, MOST = "least heard [1/N]", "most heard [1/N]"
_SAME = {"scheduler", "clients", "rounds", "target"}  # for all seeds


@dataclass(frozen=True, slots=True)
class Simulations:
    """One scheduler's participations in figures, one a seed."""

    summaries: tuple[Summary, ...]
    shares: tuple[Share | None, ...] = ()  # of what was possible, where that was asked for; None on mains power

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

    def reached(self, figure: str) -> list[float] | None:
        """Return a share of what was possible, seed by seed; None where there is none to be had."""
        found = [getattr(one, figure) for one in self.shares if one is not None]
        return found if found and len(found) == self.seeds else None

    def estimate(self, figure: str) -> Estimate:
        """Return its mean over the seeds with a 95 % interval."""
        from ehfl.analysis.statistics import estimate

        return estimate(self.values(figure))

    def as_facts(self) -> dict[str, Any]:
        """Return the estimates by figure, and the share of seeds on target, ready for JSON."""
        from ehfl.analysis.statistics import estimate

        figures = self.summaries[0].as_dict().keys() - _SAME
        shares = {name: self.reached(name) for name in ("mean_sqrt", "least")}
        return {
            "seeds_on_target": self.on_target / self.seeds,
            "estimates": {name: asdict(self.estimate(name)) for name in sorted(figures)}
            | {f"share_{name}": asdict(estimate(found)) for name, found in shares.items() if found is not None},
        }


def simulated(seeds: int = 1, *, losses: bool = False, possible: bool = False) -> list[Quantity[Simulations]]:
    """Return the lines of the table of `ehfl simulate`; with several seeds, means with their intervals.

    What was lost has a line where any battery has `losses`; shares of what was `possible` have two where asked for.
    """
    group = "Participants a round"
    over = " over seeds" if seeds > 1 else ""
    several: list[Quantity[Simulations]] = [
        Quantity(group, "in the worst seed", "The longest of all seeds",
                 lambda many: amount_cell(max(many.values("worst_streak"))), nested=True),
        Quantity(group, "seeds on target", f"Seeds with as many as wanted in at least {ON_TARGET:.0%} of their rounds",
                 lambda many: Cell(f"{many.on_target} of {many.seeds}")),
    ]  # fmt: skip
    return [
        Quantity(group, "participants, mean", f"Clients that took part in a round, mean{over}", _amount("mean")),
        Quantity(group, "standard deviation", f"Of their number over the rounds, mean{over}", _amount("std"),
                 nested=True),
        Quantity(group, "lowest", f"The fewest in any round{over and ', mean' + over}", _amount("min"), nested=True),
        Quantity(group, "highest", f"The most in any round{over and ', mean' + over}", _amount("max"), nested=True),
        Quantity(group, "empty rounds", "Rounds without any participant", _amount("empty_rounds")),
        Quantity(group, "rounds on target", "Share of rounds with as many as wanted", _share("on_target")),
        Quantity(group, "longest streak short", "Most rounds on end with fewer than wanted", _amount("worst_streak")),
        *(several if seeds > 1 else []),
        Quantity(group, "clients short a round", "Clients missing to the target, mean", _amount("shortfall")),
        *(_shares() if possible else []),
        Quantity(ENERGY, "energy spent", "Share of all energy that rounds took", _share("used")),
        Quantity(ENERGY, "harvest wasted", WASTED, _share("waste")),
        *([Quantity(ENERGY, "energy lost", LOST, _share("lost"))] if losses else []),
        Quantity(ENERGY, "fairness (Jain)", FAIR, _cell("fairness", index_cell, estimate_cell)),
        Quantity(ENERGY, "chi^2 of weights", UNEVEN, _cell("chi_square", index_cell, estimate_cell)),
        Quantity(ENERGY, LEAST, f"{WEIGHT}, of the client with the least", _amount("least_weight"), nested=True),
        Quantity(ENERGY, MOST, f"{WEIGHT}, of the client with the most", _amount("most_weight"), nested=True),
    ]  # fmt: skip


def _shares() -> list[Quantity[Simulations]]:
    group = "What was possible"
    return [
        Quantity(group, "share of possible", f"Mean of sqrt(n_t), in parts of the largest that {POSSIBLE}",
                 _reached("mean_sqrt")),
        Quantity(group, "of the lowest", f"Fewest in a round from the first on that can have any, likewise: {POSSIBLE}",
                 _reached("least"), nested=True),
    ]  # fmt: skip


def _reached(figure: str) -> Callable[[Simulations], Cell]:
    from ehfl.history import Metric

    share = Metric(figure, bounds=(0, 1))

    def cell(many: Simulations) -> Cell:
        from ehfl.analysis.statistics import estimate

        found = many.reached(figure)
        if found is None:
            return Cell(DASH)
        return percent_cell(found[0]) if many.seeds == 1 else metric_cell(share, estimate(found))

    return cell


def _cell(
    figure: str, of_one: Callable[[float], Cell], of_several: Callable[[Estimate], Cell]
) -> Callable[[Simulations], Cell]:
    def cell(many: Simulations) -> Cell:
        return of_one(many.values(figure)[0]) if many.seeds == 1 else of_several(many.estimate(figure))

    return cell


def _amount(figure: str) -> Callable[[Simulations], Cell]:
    return _cell(figure, amount_cell, estimate_cell)


def _share(figure: str) -> Callable[[Simulations], Cell]:
    from ehfl.history import Metric

    share = Metric(figure, bounds=(0, 1))
    return _cell(figure, percent_cell, lambda found: metric_cell(share, found))
