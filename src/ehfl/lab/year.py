"""A year of a fleet on the sun, in rounds of an hour, under one scheduler and one seed: what the lab plays and shows.

It is the same play as that of `ehfl simulate` with the spec that is shown. Weather is made once a site and kept.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ehfl.arrays import FloatArray
from ehfl.experiment.plan import calendar_of
from ehfl.experiment.play import World
from ehfl.experiment.spec.read import make_spec, write_spec
from ehfl.runs import Facts

SITES = ("north-carolina", "florida", "alaska")  # whose weather comes with pvlib
SCHEDULERS = ("myopic", "greedy", "round-robin", "uniform-random", "oldest-first", "threshold", "always-on")
_DAYS, _ROUNDS_A_DAY = 365, 24


@dataclass(frozen=True, slots=True)
class Nodes:
    """A fleet of equal nodes, and what is wanted of it; what the sliders set."""

    watts: float = 0.15  # of each panel, at 1,000 W/m^2
    battery: float = 1.0  # [Wh]
    cost: float = 300.0  # of a turn [J]
    clients: int = 50
    target: int = 10  # clients wanted a round
    scheduler: str = "myopic"
    site: str = SITES[0]

    def facts(self) -> Facts:
        """Return the spec, with only the keys that differ from the defaults."""
        harvest = {"name": "sun", "watts": self.watts, "site": self.site, "azimuth_spread": 45, "shading": 0.3}
        amounts = {"capacity": f"{self.battery:g} Wh", "initial": "50 %", "cost": f"{self.cost:g} J"}
        fleet = {"clients": self.clients, "round_length": "1 h", **amounts, "harvest": harvest}
        rounds = _DAYS * _ROUNDS_A_DAY
        return {"name": "lab", "rounds": rounds, "target": self.target, "scheduler": self.scheduler, "fleet": fleet}


@dataclass(frozen=True, eq=False, slots=True)
class Year:
    """Who took part in a year."""

    on_target: float  # share of rounds with as many participants as wanted
    mean: float  # participants a round
    empty: int  # rounds without a participant
    wasted: float  # share of the harvest that found the batteries full
    by_day: FloatArray  # participants a round, (365,)
    by_hour: FloatArray  # share of rounds on target, by month and hour, (12, 24)
    spec: str  # as TOML


def play_year(nodes: Nodes) -> Year:
    """Play a year; refuse with one line what the spec refuses."""
    spec = make_spec(nodes.facts())
    world = World.of(spec.base)
    played = world.play(spec.seeds[0], threads=1)
    summary, met = played.summary(), played.counts >= nodes.target
    calendar = calendar_of(world.fleet)
    assert calendar is not None  # the sun has dates
    by_day = played.counts.reshape(_DAYS, _ROUNDS_A_DAY).mean(axis=1)
    by_hour = calendar.by_month_and_hour(met.astype(np.float64))
    return Year(float(met.mean()), summary.mean, summary.empty_rounds, summary.waste, by_day, by_hour,
                write_spec(nodes.facts()))  # fmt: skip
