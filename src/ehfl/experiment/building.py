"""From a setting to the things it names. Each error carries the key that the wrong value was given under."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import numpy as np

from ehfl.arrays import IntArray
from ehfl.energy import HARVESTS, Fleet, fleet_in_joules, per_client_parameters
from ehfl.energy.power import is_power
from ehfl.experiment.costing import ENERGIES, is_costing, turn_in_joules
from ehfl.machine import check_memory
from ehfl.partition import PARTITIONS, InLabelOrder, Partition
from ehfl.randomness import MAX_CLIENTS, TILE
from ehfl.registry import Table
from ehfl.scheduling import SCHEDULERS, Chances, Decider, Scheduler, brings_steps, chances, wants_losses
from ehfl.theory import StepSize, check_causal, step_size_of
from ehfl.validation import FAILURES, InvalidValue, UserError, at, one_line, renamed, whole_number

if TYPE_CHECKING:
    from ehfl.experiment.spec import Setting
    from ehfl.learning import Aggregation, LocalSgd, Task, TaskSize

_LOSSES = ("efficiency", "self_discharge", "reserve", "standby")
_ESTIMATED_ROUNDS = 20_000  # that are simulated where chances cannot be computed, in 20 to 200 seeds: about a second
_chances: dict[str, Chances] = {}  # by what decides them
_BYTES_A_CLIENT = 20  # its level, and its turns, counted and squared for the table


def fleet_of(setting: Setting) -> Fleet:
    """Return the fleet."""
    fleet = setting.fleet
    table = {name: value for name, value in fleet if value is not None} | turn_of(setting)
    key = "fleet.harvest" if fleet.rate is None else "fleet"  # `rate` is the short form of bernoulli's
    return fleet_in(table | {"harvest": fleet.harvest_table()}, key)


def turn_of(setting: Setting) -> Table:
    """Return what a turn costs, and a step of it where that is known, as the fleet's table has them.

    A cost by devices and radios is worked out, in joules, and so is a step's unless it is given.
    """
    fleet, learning = setting.fleet, setting.learning
    turn: Table = {"cost": fleet.cost}
    if is_costing(fleet.cost):
        turn = turn_in_joules(fleet.cost, learning, fleet.clients, lambda: size_of(setting))
    given = {} if fleet.step_cost is None else {"step_cost": fleet.step_cost}
    return turn | given | {"steps": learning.local_steps}


def size_of(setting: Setting) -> TaskSize:
    """Return how large the task is, which is loaded for it."""
    from ehfl.learning import task_size

    task = task_of(setting)
    with users_own("learning.task", "one that a step can be taken on"):
        return task_size(task)


def fleet_in(table: Table, key: str = "fleet.harvest") -> Fleet:
    """Return the fleet that a spec's table describes, every value spelled out; a device needs no more of a spec."""
    # before anything is spread over them
    clients = whole_number("fleet.clients", table["clients"], low=1, high=MAX_CLIENTS)
    check_memory("fleet.clients", clients, _BYTES_A_CLIENT * clients)
    made = HARVESTS.make(_spread_parameters(table["harvest"], clients), key)
    means = "mean_watts" if is_power(made) else "mean_rates"
    with at(key), users_own("", f"one whose {means} can be asked for"):
        getattr(made, means)(clients)  # refuses another number of clients
    energies = {name: spread(table[name], clients) for name in ENERGIES if table.get(name) is not None}
    if "step_cost" in energies:
        energies["steps"] = table["steps"]
    if table.get("round_length") is not None:
        return _in_joules(table, clients, made, energies)
    if is_power(made):
        raise InvalidValue(
            "fleet.round_length", f"given where a harvest is in watts ({table['harvest']['name']})", "none"
        )
    with at("fleet"):
        return Fleet(clients, made, **{name: _whole(value) for name, value in energies.items()}, unit=table["unit"])


def _in_joules(table: Table, clients: int, harvest: Any, energies: Table) -> Fleet:
    """Return the fleet of a table whose rounds have a length."""
    if isinstance(energies["initial"], str):  # a percentage of the capacity
        share = float(energies["initial"].rstrip(" %")) / 100
        energies |= {"initial": share * np.asarray(energies["capacity"])}
    losses = {name: spread(table[name], clients) for name in _LOSSES if table.get(name) is not None}
    sizes = {name: table[name] for name in ("quantum", "arrival") if table.get(name) is not None}
    with at("fleet"):
        return fleet_in_joules(clients, harvest, round_length=table["round_length"], **energies, **losses, **sizes)


def harvest_table(setting: Setting) -> Table:
    """Return the harvest's name and parameters, those per client spread over the clients."""
    return _spread_parameters(setting.fleet.harvest_table(), setting.fleet.clients)


def _spread_parameters(table: Table, n_clients: int) -> Table:
    own = per_client_parameters(table, "fleet.harvest")
    return table | {name: spread(table[name], n_clients) for name in own if name in table}


@contextmanager
def users_own(key: str, allowed: str) -> Iterator[None]:
    """Let whatever the user's own code raises inside become one line under its key."""
    try:
        yield
    except UserError:
        raise
    except FAILURES as error:
        raise InvalidValue(key, allowed, one_line(error)) from error


def spread(value: Any, n_clients: int) -> Any:
    """Return one number, or one per client; the ends of a spread become evenly spaced numbers.

    >>> spread({"low": 0.1, "high": 0.3}, 3).tolist()
    [0.1, 0.2, 0.3]
    """
    if isinstance(value, Mapping) and value.keys() == {"low", "high"}:
        return np.linspace(value["low"], value["high"], n_clients)
    return list(value) if isinstance(value, tuple) else value


def _whole(value: Any) -> Any:
    """Return amounts of energy as whole numbers, as far as they are: a spread is rounded to the nearest."""
    if isinstance(value, np.ndarray):  # only a spread comes as an array
        value = np.rint(value)
    numbers = np.asarray(value)
    if numbers.dtype.kind == "f" and (np.abs(numbers) < 2**62).all() and (numbers % 1 == 0).all():
        return numbers.astype(np.int64)
    return value


def scheduler_of(setting: Setting) -> Scheduler:
    """Return the scheduler."""
    return SCHEDULERS.make(setting.scheduler, "scheduler")


def target_of(setting: Setting) -> int | None:
    """Return how many clients are wanted a round, None for what the harvest sustains."""
    return setting.target if isinstance(setting.target, int) else None


def step_size_rule_of(setting: Setting) -> StepSize:
    """Return the rule for step sizes."""
    return step_size_of(setting.learning.step_size, "learning.step_size")


def partition_of(setting: Setting) -> Partition:
    """Return how the data are dealt out."""
    dealer = PARTITIONS.make(setting.learning.partition, "learning.partition")
    # The order is no parameter of a partition: it says who gets which of the shares that any of them deals.
    return InLabelOrder(dealer) if setting.learning.order == "by-label" else dealer


def parts_of(setting: Setting, task: Task, seed: int) -> list[IntArray]:
    """Return each client's example numbers of the task's, dealt out under a seed."""
    from ehfl.learning import deal

    try:
        with users_own("partition", "one that can deal out the data"):
            return deal(task, setting.fleet.clients, partition_of(setting), seed)
    except InvalidValue as error:
        key = "fleet.clients" if error.name == "clients" else f"learning.{error.name}"
        complete = key == "fleet.clients" or f"seed {seed}" in str(error.given)
        given = error.given if complete else f"{error.given}, seed {seed}"
        raise InvalidValue(key, error.allowed, given) from error


def aggregation_of(setting: Setting) -> Aggregation:
    """Return what the server makes of updates; it knows how likely clients are to take part, if it wants to."""
    from ehfl.learning.aggregation import informed, wants_probabilities

    made = plain_aggregation_of(setting)
    if not wants_probabilities(made):
        return made
    with at("learning.aggregation"):
        if wants_losses(scheduler_of(setting)):
            why = f"{setting.scheduler['name']} chooses by losses, so that nobody knows before training who takes part"
            raise InvalidValue("probabilities", f"given, one in (0, 1] per client: {why}", "auto")
        return informed(made, _above_zero(chances_of(setting)))


def _above_zero(found: Chances) -> list[float]:
    """Return how likely clients are to take part; refuse a fleet in which one is not, as far as is known."""
    for client in np.flatnonzero(found.turns == 0):
        how_often = "never takes part" if found.exact else f"took part in none of {found.seeds} simulated seeds"
        given = f"0 for client {client}, who {how_often}: its weight would be infinite"
        raise InvalidValue("probabilities", "above 0 for every client", given)
    chances: list[float] = found.turns.tolist()
    return chances


def plain_aggregation_of(setting: Setting) -> Aggregation:
    """Return what the server makes of updates, as the spec alone has it."""
    from ehfl.learning import AGGREGATIONS

    return AGGREGATIONS.make(setting.learning.aggregation, "learning.aggregation")


def wants_chances(setting: Setting) -> bool:
    """Return whether the aggregation wants to know how likely clients are to take part."""
    from ehfl.learning.aggregation import wants_probabilities

    return wants_probabilities(plain_aggregation_of(setting))


def chances_of(setting: Setting, seeds: int | None = None) -> Chances:
    """Return how likely each client is to take part, from so many simulated seeds where it cannot be computed.

    Estimates are made from the same weather for all runs, none of them a run's own, so that arms and seeds differ in
    nothing by it; they are kept, since all seeds of an arm share them, and arms with the same fleet and scheduler.
    """
    seeds = seeds or min(max(_ESTIMATED_ROUNDS // setting.rounds, 20), 200)
    # Costs on their own, since they may come from what is learned.
    parts = (seeds, setting.rounds, setting.target, setting.scheduler, setting.fleet, turn_of(setting))
    key = json.dumps(parts, sort_keys=True, default=str)
    if key not in _chances:
        fleet, scheduler = fleet_of(setting), scheduler_of(setting)
        _chances[key] = chances(fleet, scheduler, setting.rounds, seeds=seeds, target=target_of(setting))
    return _chances[key]


def forget_chances() -> None:
    """Let them be found anew: code of the user's own may have changed."""
    _chances.clear()


def local_sgd_of(setting: Setting) -> LocalSgd:
    """Return how a participant trains."""
    from ehfl.learning import LocalSgd

    with at("learning"):
        return LocalSgd(**{field.name: getattr(setting.learning, field.name) for field in fields(LocalSgd)})


def task_of(setting: Setting) -> Task:
    """Return the task, its data read."""
    from ehfl.learning import TASKS

    learning, key = setting.learning, "learning.task"
    table = TASKS.table(learning.task, key)
    if learning.data is not None:
        if not TASKS.takes(table, "data", key):
            raise InvalidValue("learning.data", f"left out: {table['name']} takes none", learning.data)
        table["data"] = learning.data
    beside = "data" not in learning.task  # unless `data` stands in the task's table, its key is beside it
    with renamed(lambda name: "learning.data" if beside and name == f"{key}.data" else name):
        return TASKS.make(table, key)


def check_step_size(setting: Setting) -> None:
    """Refuse step sizes that look ahead where the participants are only decided while learning goes on."""
    if wants_losses(scheduler_of(setting)):
        check_causal_steps(setting, f"{setting.scheduler['name']} chooses by losses")


def check_causal_steps(setting: Setting, why: str) -> None:
    """Refuse step sizes that look ahead, and say why."""
    check_causal(step_size_rule_of(setting), "learning.step_size", setting.learning.step_size["name"], why)


def check_fits(setting: Setting) -> None:
    """Refuse what each value alone does not show: rates that do not fit the clients, a target beyond them."""
    fleet = fleet_of(setting)
    with users_own("fleet.harvest", "one whose units can be asked for"):  # a record that ends sooner says so now
        fleet.harvest.units(0, range(setting.rounds - 1, setting.rounds), range(1))
    # Some clients that can never pay are a fleet with passengers; all of them are a mistake.
    if not (fleet.ceilings >= fleet.costs).any():
        given = f"{np.max(fleet.ceilings)} with a cost of {np.min(fleet.costs)}"
        raise InvalidValue("fleet.capacity", "at least what a round costs, or nobody could ever pay", given)
    if isinstance(setting.target, int) and setting.target > fleet.clients:
        raise InvalidValue("target", f"auto or in [1, {fleet.clients}] (the clients)", setting.target)
    if setting.flower.least_nodes > fleet.clients:  # a server would wait for them for ever
        allowed = f"a whole number in [1, {fleet.clients}] (the clients)"
        raise InvalidValue("flower.least_nodes", allowed, setting.flower.least_nodes)
    if brings_steps(scheduler_of(setting)) and fleet.step_costs is None:
        allowed = f"given, or a cost by device and radio: {setting.scheduler['name']} chooses how many steps a turn has"
        raise InvalidValue("fleet.step_cost", allowed, "nothing")
    # The first round is decided on trial: a width beyond the clients, or a scheduler that fails at once, shows here.
    decider = Decider(fleet, scheduler_of(setting), target=target_of(setting))
    if fleet.clients <= TILE:  # a large fleet's first round is played at once anyway, and takes its time
        with at("scheduler"):
            decider.decide(0, fleet.start())
