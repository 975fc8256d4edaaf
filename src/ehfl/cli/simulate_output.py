"""What `ehfl simulate` shows: a table, JSON or a figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ehfl.cli.options import scheduler_names
from ehfl.cli.output import print_table, say_where

if TYPE_CHECKING:
    from ehfl import Fleet
    from ehfl.analysis.simulations import Simulations
    from ehfl.arrays import IntArray
    from ehfl.energy import EnergyTotals
    from ehfl.experiment import Spec
    from ehfl.planning import Optimum, Share
    from ehfl.scheduling import Participation, Summary


@dataclass(frozen=True, slots=True)
class Shown:
    """What is shown of a participation; who took part is not, since a large fleet's would fill the memory."""

    summary: Summary
    totals: EnergyTotals
    counts: IntArray
    spent: IntArray
    quantum: float | None  # what a unit is [J], where that is known
    round_length: float | None  # [s], where that is known
    possible: Optimum | None = None  # what any scheduler could have reached, where that was asked for
    share: Share | None = None  # how much of it this one did, unless it had other means

    @staticmethod
    def of(played: Participation, possible: Optimum | None = None) -> Shown:
        """Return what is shown of this one."""
        lengths = played.quantum, played.round_length
        shown = Shown(played.summary(), played.totals, played.counts, played.spent, *lengths)
        if possible is None:
            return shown
        from ehfl.planning import share

        return replace(shown, possible=possible, share=share(played, possible))

    def as_facts(self) -> dict[str, Any]:
        """Return the figures by name, ready for JSON; energies in whole quanta, and their totals in joules, too."""
        lists = {"counts": self.counts.tolist(), "spent": self.spent.tolist()}
        energy = asdict(self.totals)
        shares: dict[str, Any] = {}
        if self.possible is not None:
            shares = {"possible": self.possible.as_facts(), "share": None if self.share is None else asdict(self.share)}
        return self.summary.as_dict() | {"energy": energy, **_joules(energy, self.quantum)} | shares | lists


def _joules(energy: Mapping[str, Any], quantum: float | None) -> dict[str, Any]:
    """Return energies in joules, beside which they stand in quanta; nothing where these have no size."""
    import numpy as np

    from ehfl.files import finite

    if quantum is None:
        return {}
    return {"joules": finite({name: (np.asarray(x) * quantum).tolist() for name, x in energy.items()}, instead="inf")}


Played = dict[str, list[Shown]]  # one a seed, by the arm's label


def as_facts(fleet: Fleet, seeds: Sequence[int], played: Played) -> dict[str, Any]:
    """Return everything for JSON: of one seed its figures, of several the estimates and each seed's."""
    import numpy as np

    import ehfl
    from ehfl.files import finite

    levels = {name: np.asarray(getattr(fleet, name)).tolist() for name in ("capacity", "initial", "cost")}
    single = len(seeds) == 1
    return {
        "version": ehfl.__version__,
        "fleet": {"clients": fleet.clients, "harvest": repr(fleet.harvest), "unit": fleet.unit}
        | {name: size for name in ("quantum", "round_length") if (size := getattr(fleet, name)) is not None}
        | {name: finite(value, instead="inf") for name, value in levels.items()}
        | _joules(levels, fleet.quantum),
        **({"seed": seeds[0]} if single else {"seeds": list(seeds)}),
        "schedulers": {
            label: many[0].as_facts()
            if single
            else _over_seeds(many).as_facts() | {"by_seed": [one.as_facts() for one in many]}
            for label, many in played.items()
        },
    }


def _over_seeds(many: Sequence[Shown]) -> Simulations:
    from ehfl.analysis.simulations import Simulations

    shares = tuple(one.share for one in many if one.possible is not None)
    return Simulations(tuple(one.summary for one in many), shares)


def print_played(fleet: Fleet, spec: Spec, played: Played) -> None:
    """Print the schedulers side by side."""
    from ehfl.quantities import as_time
    from ehfl.report import summary_table

    rounds = next(iter(played.values()))[0].summary.rounds
    amounts = [f"battery {_amount(fleet.capacity, fleet)}"]
    if (fleet.costs != 1).any() or fleet.unit != "units":
        amounts.append(f"cost {_amount(fleet.cost, fleet)}")
    seeds = f"seed {spec.seeds[0]}" if len(spec.seeds) == 1 else f"{len(spec.seeds):,} seeds"
    length = "" if fleet.round_length is None else f" of {as_time(fleet.round_length)}"
    title = f"{fleet.clients:,} clients, {fleet.harvest!r}, {', '.join(amounts)}, {rounds:,} rounds{length}, {seeds}"
    print_table(title, summary_table({label: _over_seeds(many) for label, many in played.items()}))


def _amount(value: Any, fleet: Fleet) -> str:
    """Return an amount of energy, or the range of one per client, with its unit; in joules where they are known."""
    import numpy as np

    from ehfl.quantities import as_energy

    low, high, unit = float(np.min(value)), float(np.max(value)), fleet.unit
    if fleet.quantum is not None:
        ends = dict.fromkeys(as_energy(end * fleet.quantum) for end in (low, high))
        return " to ".join(ends)
    numbers = f"{low:g}" if low == high else f"{low:g} to {high:g}"
    return numbers if high == np.inf and low == high else f"{numbers} {unit}"


def draw(spec: Spec, played: Played, figure: Path) -> None:
    """Write the figure of who took part."""
    import numpy as np

    from ehfl.report import draw_participation

    counts = {label: np.stack([one.counts for one in many]) for label, many in played.items()}
    target = next(iter(played.values()))[0].summary.target
    lengths = {label: many[0].round_length for label, many in played.items()}
    draw_participation(counts, figure, schedulers=scheduler_names(spec), target=target, round_lengths=lengths)
    say_where("figure", figure)
