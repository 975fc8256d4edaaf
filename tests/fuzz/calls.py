"""The public functions and classes, and how their arguments are drawn when they are right."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable
from functools import cache
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

from .values import KNOWN, whole

Draw = Callable[[Random], Any]


@cache
def named(name: str) -> Any:
    """Return what is called module:name."""
    module, _, path = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    return found


def of(*values: Any) -> Draw:
    """Draw one of these."""
    return lambda chance: chance.choice(values)


def listed(draw: Draw, lengths: tuple[int, ...] = (3, 3, 3, 0, 1, 2)) -> Draw:
    """Draw a list, most often of three."""
    return lambda chance: [draw(chance) for _ in range(chance.choice(lengths))]


number = of(0, 1, 0.5, 2.0, 1e-3, 1e3, 0.1, 3)
counts = listed(of(0, 1, 2, 3))
etas = listed(of(0.0, 0.01, 0.1))
few = of(1, 2, 3)
either = of(*(True, False))
arm = of("myopic", "greedy", "round-robin")
seed = of(0, 1, 7, 2**64 - 1)


def constants(chance: Random) -> Any:
    return named("ehfl.theory:Constants")(number(chance) + 0.1, number(chance), number(chance) + 0.1)


def fleet(chance: Random) -> Any:
    harvest = chance.choice(("bernoulli:0.5", "bernoulli:1", "bernoulli:0"))
    return named("ehfl:Fleet")(whole(chance), harvest, capacity=chance.choice((1, 3, math.inf)), initial=1)


def scheduler(chance: Random) -> Any:
    return named("ehfl:SCHEDULERS").make(chance.choice(("myopic", "greedy", "round-robin", "power-of-choice:1")))


def totals(chance: Random) -> Any:
    level = whole(chance)
    return chance.choice((None, named("ehfl.energy:EnergyTotals")(level, 0, 0, level, 0, 0)))


def participation(chance: Random) -> Any:
    return named("ehfl:simulate")(fleet(chance), scheduler(chance), 3, 0)


def optimum(chance: Random) -> Any:
    return named("ehfl.planning:clairvoyant")(fleet(chance), 3)


def extremes(chance: Random) -> Any:
    return named("ehfl.theory:Extremes")(1, whole(chance), 5)


def batteries(chance: Random) -> Any:
    return named("ehfl.theory:Batteries")(whole(chance), chance.choice((0.5, 0, 0.9)), chance.choice((1, 2)))


def promised(chance: Random) -> Any:
    return named("ehfl.theory:promise")([1, 2, 3], 1, constants(chance))


def metric(chance: Random) -> Any:
    return named("ehfl:Metric")("gap", lower_is_better=chance.random() < 0.5, bounds=(0.0, 1.0))


def small_spec(chance: Random) -> Any:
    """Return a table that makes a spec of runs of no time at all."""
    learning = {"task": "quadratic", "local_steps": 1}
    return {
        "rounds": whole(chance),
        "seeds": 1,
        "schedulers": ["greedy"],
        "fleet": {"clients": 2},
        "learning": learning,
    }


def model(_: Random) -> Any:
    return named("ehfl:load_task")("quadratic").model(np.random.default_rng(0))


windowed: dict[str, Draw] = {"initial": number, "decay": number, "every": few, "window": few}
called: dict[str, Draw] = {"counts": counts, "rounds": of(None, 3, 5)}
ROOF = str(Path(__file__).parents[1] / "energy" / "roof.csv")
REGISTRIES = ("SCHEDULERS", "HARVESTS", "PARTITIONS", "AGGREGATIONS", "STEP_SIZES")

# Each public thing with how its arguments are drawn when they are right.
CALLS: list[tuple[str, dict[str, Draw]]] = [
    ("ehfl:Fleet", {"clients": few, "harvest": of("bernoulli:0.5", "bernoulli:0.1"),
                    "capacity": of(1, 3, math.inf, [1, 2]), "initial": of(0, 1), "cost": of(1, 2, [1, 2]),
                    "unit": of("mJ", "units")}),
    ("ehfl:Bernoulli", {"rate": of(0, 0.5, 1, [0.1, 0.2])}),
    ("ehfl:Markov", {"stay_on": of(0.5, 0.9, [0.1, 0.2]), "stay_off": of(0.5, 0.8), "size": few}),
    ("ehfl:Poisson", {"rate": of(0, 2.5, [0.1, 2])}),
    ("ehfl:Compound", {"rate": of(0, 0.5, [0.1, 2]), "mean_size": of(1, 3.5, [1, 2])}),
    ("ehfl:Periodic", {"pattern": of([1, 0], [0, 2, 300]), "shift": of(0, 1, [0, 1])}),
    ("ehfl:Replay", {"arrivals": of([[1, 0]], [[1], [2]], np.ones((2, 3), int))}),
    ("ehfl:Trace", {"file": of(ROOF), "watts": of(1, 0.5, [1, 2]), "columns": of(None, "roof", ["wall", "roof"]),
                    "format": of("auto", "power"), "ohms": of(None), "assign": of("cycle", "each"),
                    "beyond": of("repeat"), "shift": of("none", "even", "random", "days")}),
    ("ehfl:Ledger", {"fleet": fleet, "rounds": few, "seed": seed, "clients": of(None, range(1), range(2)),
                     "totals": totals}),
    ("ehfl:Decider", {"fleet": fleet, "scheduler": scheduler, "rounds": few, "seed": seed}),
    ("ehfl:simulate", {"fleet": fleet, "scheduler": scheduler, "rounds": few, "seed": seed, "target": of(None, 1),
                       "workers": of(None, 1)}),
    ("ehfl:chances", {"fleet": fleet, "scheduler": scheduler, "rounds": few, "seed": seed, "seeds": of(2, 3),
                      "target": of(None, 1)}),
    ("ehfl.planning:clairvoyant", {"fleet": fleet, "rounds": few, "seed": seed, "first": of(None, 0)}),
    ("ehfl.planning:share", {"played": participation, "optimum": optimum}),
    ("ehfl:observed_chances", {"participations": participation}),
    ("ehfl:Play", {"fleet": fleet, "scheduler": scheduler, "rounds": few, "seed": seed}),
    ("ehfl:Lockstep", {"fleet": fleet, "scheduler": scheduler, "rounds": few, "seed": seed}),
    ("ehfl:check_scheduler", {"scheduler": scheduler, "clients": few, "rounds": few, "seed": seed}),
    ("ehfl.energy:Device", {"flop_per_joule": number, "joules_per_sample": of(None, 0.1)}),
    ("ehfl.energy:Radio", {"session": number, "joules_per_bit_up": number, "joules_per_bit_down": number}),
    ("ehfl.energy:device_of", {"name": of("cortex-m4", None), "flop_per_joule": of(None, 1.0)}),
    ("ehfl.energy:radio_of", {"name": of("ble", None), "session": of(None, 1.0)}),
    ("ehfl:check_harvest", {"harvest": of("bernoulli:0.5"), "clients": few, "rounds": few, "seed": seed}),
    ("ehfl:check_partition", {"partition": of("iid", "shards:1"), "clients": few, "seed": seed}),
    ("ehfl:check_aggregation", {"aggregation": of("mean", "fedau", "scheduled"), "clients": few, "rounds": few,
                                "seed": seed}),
    ("ehfl:check_task", {"task": of("quadratic"), "examples": few, "seed": seed}),
    ("ehfl:evaluate", {"task": of("quadratic"), "model": model}),
    ("ehfl.learning:accuracy_by_class", {"task": of("quadratic"), "model": model}),
    ("ehfl:load_model", {"folder": of("nowhere", "."), "task": of(None, "quadratic"), "trust": either}),
    ("ehfl:compare", {"spec": small_spec, "jobs": of(1), "runs": of("runs"), "rounds": few, "seeds": few,
                      "fleet": of({"clients": 2}), "learning.task": of("quadratic")}),
    ("ehfl.experiment:run_all", {"spec": lambda chance: named("ehfl.experiment:read_spec")(small_spec(chance)),
                                 "experiment": of("runs"), "jobs": of(1), "on": of("local"), "on_look": of(None)}),
    ("ehfl.experiment.audit:audit", {"spec": small_spec, "seeds": of(2, 3), "with_floor": either, "on_arm": of(None),
                               "on_gradients": of(None)}),
    ("ehfl.experiment:read_spec", {"source": small_spec, "overrides": of((), ["rounds=2"], {"rounds": 2})}),
    ("ehfl.experiment:make_spec", {"facts": small_spec, "folder": of(None)}),
    ("ehfl.learning:LocalSgd", {"local_steps": few, "batch_size": few, "clip": of(None, 1.0), "weight_decay": of(0.0)}),
    ("ehfl:Myopic", {"target": of("auto", 1)}),
    ("ehfl:RoundRobin", {"per_round": of("auto", 1)}),
    ("ehfl:UniformRandom", {"target": of("auto", 1)}),
    ("ehfl:OldestFirst", {"target": of("auto", 1)}),
    ("ehfl:F3ast", {"target": of("auto", 1), "rate": of(0.01, 1)}),
    ("ehfl:EnergyCycles", {}),
    ("ehfl:MostRoundsLeft", {"target": of("auto", 1)}),
    ("ehfl:Threshold", {"reserve": of(0, 0.5, 3), "target": of("auto", 1)}),
    ("ehfl:Lyapunov", {"v": of("auto", 0, 2.5)}),
    ("ehfl:AdaptiveSteps", {"target": of("auto", 1), "reserve": of(0, 0.5, 3)}),
    ("ehfl:Forecast", {"horizon": of(1, 5), "target": of("auto", 1)}),
    ("ehfl:PowerOfChoice", {"target": of("auto", 1), "candidates": of("auto", 2)}),
    ("ehfl:Metric", {"name": of("accuracy", "gap"), "lower_is_better": either,
                     "bounds": of((0.0, 1.0), (0, 5), (None, None))}),
    ("ehfl.runs:Metric.check_goal", {"self": metric, "goal": number}),
    ("ehfl:Participation.clients", {"self": participation, "t": of(0, 1, 2)}),
    ("ehfl:Participation.summary", {"self": participation, "target": of(None, 1)}),
    ("ehfl:Participation.load", {"path": of("nowhere.npz", ".")}),
    ("ehfl:read", {"folder": of(".", "nowhere")}),
    ("ehfl:load_task", {"task": of("quadratic", "wells", {"name": "wells"})}),
    ("ehfl:train", {"task": of("quadratic", "wells"), "participation": participation, "local_steps": few,
                    "batch_size": few, "step_size": of(0.1, "nominal"), "partition": of("iid"), "seed": seed}),
    ("ehfl.scheduling:jain", {"turns": counts}),
    ("ehfl.scheduling:check_target", {"target": of(None, 1), "fleet": fleet}),
    ("ehfl.analysis:estimate", {"values": listed(number)}),
    ("ehfl.analysis:difference", {"values": listed(number), "baseline": listed(number)}),
    ("ehfl.theory:Constants", {"smoothness": number, "variance": number, "gap": number}),
    ("ehfl.theory:Extremes", {"n_min": of(0, 1), "n_max": few, "rounds": few}),
    ("ehfl.theory:bound", {"counts": counts, "etas": etas, "local_steps": few, "smoothness": number, "variance": number,
                           "gap": number}),
    ("ehfl.theory:largest_step", {"local_steps": few, "smoothness": number}),
    ("ehfl.theory:leading_order", {"counts": counts, "etas": etas, "local_steps": few}),
    ("ehfl.theory:largest_eta", {"extremes": extremes, "local_steps": few, "smoothness": number,
                                 "printed": either}),
    ("ehfl.theory:theorem1", {"extremes": extremes, "eta": number, "constants": constants}),
    ("ehfl.theory:theorem2", {"extremes": extremes, "eta": number, "local_steps": few, "constants": constants}),
    ("ehfl.theory:best_along", {"rule": of("constant", "sqrt", "linear"), "counts": counts, "local_steps": few,
                                "constants": constants}),
    ("ehfl.theory:best_of_all", {"counts": counts, "local_steps": few, "constants": constants}),
    ("ehfl.theory:pace", {"value": number, "counts": counts, "local_steps": few, "constants": constants}),
    ("ehfl.theory:promise", {"counts": counts, "local_steps": few, "constants": constants, "eta": of(None, 0.1)}),
    ("ehfl.theory:bound_slowdown", {"kept": promised, "mains": counts, "local_steps": few, "constants": constants}),
    ("ehfl.theory:Quadratic", {"curvature": listed(number), "minimiser": of(0.0, [1.0, 2.0, 3.0]), "variance": number}),
    ("ehfl.theory:Wells", {"curvature": listed(number), "minimiser": of(0.0), "variance": number}),
    ("ehfl.theory:step_size_of", {"given": of("nominal", 0.1, "constant:0.3", {"name": "linear"})}),
    ("ehfl.theory:step_size_table", {"given": of("nominal", 0.1, "constant:0.3")}),
    ("ehfl.theory:Batteries", {"clients": of(2), "rate": of(0.5, 0, [0.1, 1]), "capacity": of(1, 3, math.inf),
                               "initial": of(0, 1, [1, 0])}),
    ("ehfl.theory:turnout_law", {"scheduler": arm, "batteries": batteries, "rounds": few, "target": of(None, 1)}),
    ("ehfl.theory:long_run_turnout", {"scheduler": arm, "batteries": batteries, "target": of(None, 1)}),
    ("ehfl.theory:pooled_turnout", {"batteries": batteries, "rounds": few, "target": of(None, 1)}),
    ("ehfl.theory:critical_shortfall", {"target": few, "variance": number, "rounds": few}),
    ("ehfl.theory:known_problems", {"dimension": few}),
    ("ehfl.theory:Constant", {"value": number}),
    ("ehfl.theory:Theorem", {"eta": number}),
    *((f"ehfl.theory:{rule}", windowed) for rule in ("Nominal", "Linear", "NominalCausal", "LinearCausal")),
    *((f"ehfl.theory:{rule}.__call__", {"self": lambda _, rule=rule: named(f"ehfl.theory:{rule}")()} | called)
      for rule in ("Nominal", "Linear", "NominalCausal", "LinearCausal", "Constant", "Theorem")),
    *((f"ehfl:{registry}.{method}", {"given": of(*KNOWN, {"name": "myopic"}, {"name": "iid"})})
      for registry in REGISTRIES for method in ("make", "table", "spelled_out")),
]  # fmt: skip
