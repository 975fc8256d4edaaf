"""From a setting to the things it names. Each error carries the key that the wrong value was given under."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import fields
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from ehfl.arrays import IntArray, spread
from ehfl.energy import HARVESTS, Fleet, per_client_parameters
from ehfl.energy.contract import InQuanta, Portions, is_power
from ehfl.energy.fleet import MONTH
from ehfl.experiment.spec.costing import ENERGIES, LOSSES, is_costing, turn_in_joules
from ehfl.machine import check_memory
from ehfl.partition import PARTITIONS, InLabelOrder, Partition
from ehfl.randomness import MAX_CLIENTS, TILE
from ehfl.registry import Table
from ehfl.scheduling import SCHEDULERS, Chances, Decider, Scheduler, brings_steps, chances, wants_losses
from ehfl.theory import StepSize, check_causal, step_size_of
from ehfl.validation import FAILURES, InvalidValue, SpecError, UserError, at, one_line, renamed, whole_number

if TYPE_CHECKING:
    from ehfl.experiment.spec.models import Setting
    from ehfl.learning import Aggregation, LocalSgd, Task, TaskSize

_ESTIMATED_ROUNDS = 20_000  # that are simulated where chances cannot be computed, in 20 to 200 seeds: about a second
_BYTES_A_CLIENT = 20  # its level, and its turns, counted and squared for the table

Made = TypeVar("Made")


class Memo(Generic[Made]):
    """The last `most` things made, by the content that they were made from; arms and seeds share them."""

    def __init__(self, most: int) -> None:
        self._most, self._made = most, dict[bytes, Made]()

    def get(self, parts: Any, make: Callable[[], Made]) -> Made:
        """Return what was made from equal parts, or make it."""
        key = blake2b(pickle.dumps(parts)).digest()  # tables hold lists and arrays, which have no hash
        made = self._made.pop(key, None) or make()
        self._made[key] = made  # the last to go
        if len(self._made) > self._most:
            del self._made[next(iter(self._made))]
        return made

    def clear(self) -> None:
        """Forget everything, since files or user code may have changed."""
        self._made.clear()


FLEETS: Memo[Fleet] = Memo(16)
_CHANCES: Memo[Chances] = Memo(1000)
SIZES: Memo[TaskSize] = Memo(100)
_TASKS: Memo[tuple[Task, str]] = Memo(1)  # one, since its data may be large


def forget() -> None:
    """Clear all memos, since files or user code may have changed since the last comparison."""
    for memo in (FLEETS, _CHANCES, SIZES, _TASKS):
        memo.clear()


def fleet_of(setting: Setting) -> Fleet:
    """Return the fleet, the same one for equal settings."""
    # `rate` is the short form of bernoulli's
    return build_fleet(fleet_table(setting), "fleet.harvest" if setting.fleet.rate is None else "fleet")


def fleet_table(setting: Setting) -> Table:
    """Return the fleet's table, as `build_fleet` takes it."""
    fleet = setting.fleet
    given = {name: value for name, value in fleet if value is not None}
    return given | {"harvest": fleet.harvest_table()} | turn_of(setting)


def turn_of(setting: Setting) -> Table:
    """Return the cost of a turn and, if known, of a step in it, for the fleet's table.

    A cost by devices and radios is computed, in joules, and so is a step's cost unless it is given.
    """
    fleet, learning = setting.fleet, setting.learning
    turn: Table = {"cost": fleet.cost}
    if is_costing(fleet.cost):
        assert fleet.round_length is not None  # else the cost was refused
        turn = turn_in_joules(fleet.cost, learning, fleet.clients, lambda: size_of(setting), fleet.round_length)
    given = {} if fleet.step_cost is None else {"step_cost": fleet.step_cost}
    return turn | given | {"steps": learning.local_steps}


def size_of(setting: Setting) -> TaskSize:
    """Return the size of the task, which is loaded for it."""
    from ehfl.learning import task_size

    def count() -> TaskSize:
        task = task_of(setting)
        with calling_user_code("learning.task", "take a step"):
            return task_size(task, setting.learning.buffers or "mean")

    return SIZES.get((setting.learning.task, setting.learning.data, setting.learning.buffers), count)


def build_fleet(table: Table, key: str = "fleet.harvest") -> Fleet:
    """Return the fleet that a resolved table describes, which is all that a device needs of a spec."""
    return FLEETS.get(table, lambda: _build_fleet(table, key))


def _build_fleet(table: Table, key: str) -> Fleet:
    # before anything is spread over them
    clients = whole_number("fleet.clients", table["clients"], low=1, high=MAX_CLIENTS)
    check_memory("fleet.clients", clients, _BYTES_A_CLIENT * clients)
    made = HARVESTS.make(_spread_parameters(table["harvest"], clients), key)
    means = "mean_watts" if is_power(made) else "mean_rates"
    with at(key), calling_user_code("", f"compute {means}"):
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
    losses = {name: spread(table[name], clients) for name in LOSSES if table.get(name) is not None}
    if isinstance(energies["initial"], str):  # a percentage of the capacity that age has left
        share = float(energies["initial"].rstrip(" %")) / 100
        energies |= {"initial": share * np.asarray(energies["capacity"]) * losses.get("health", 1.0)}
    sizes = {name: table[name] for name in ("quantum", "arrival") if table.get(name) is not None}
    with at("fleet"):
        return Fleet.in_joules(clients, harvest, round_length=table["round_length"], **energies, **losses, **sizes)


def describe_fleet(fleet: Fleet) -> Table:
    """Return the section of a spec that makes an equal fleet, up to the last bits of its losses."""
    size, length, harvest = fleet.quantum or 1, fleet.round_length, fleet.harvest
    names = ("capacity", "initial", "cost", *(["step_cost"] if fleet.step_cost is not None else []))
    amounts = {name: np.asarray(getattr(fleet, name)) * size for name in names}
    if not amounts["initial"].any():
        del amounts["initial"]  # the default
    table: Table = {"clients": fleet.clients} | {name: values.tolist() for name, values in amounts.items()}
    if length is None:
        if fleet.storage is not None:
            raise InvalidValue("fleet", "one in joules if it has losses: a spec gives these by time", repr(fleet))
        return table | {"harvest": harvest, "unit": fleet.unit}
    if isinstance(harvest, Portions):
        table["arrival"], harvest = harvest.quanta * size, harvest.harvest
    losses = {
        "efficiency": np.asarray(fleet.efficiency),
        "self_discharge": 1 - (1 - np.asarray(fleet.leak)) ** (MONTH * fleet.parts / length),
        "standby": np.asarray(fleet.drain) * size * fleet.parts / length,
    }
    power = harvest.power if isinstance(harvest, InQuanta) else harvest
    table |= {name: values.tolist() for name, values in losses.items()}
    return table | {"harvest": power, "round_length": length, "quantum": size}


def harvest_table(setting: Setting) -> Table:
    """Return the harvest's name and parameters, those per client spread over the clients."""
    return _spread_parameters(setting.fleet.harvest_table(), setting.fleet.clients)


def _spread_parameters(table: Table, n_clients: int) -> Table:
    own = per_client_parameters(table, "fleet.harvest")
    return table | {name: spread(table[name], n_clients) for name in own if name in table}


@contextmanager
def calling_user_code(key: str, purpose: str) -> Iterator[None]:
    """Turn an exception of user code into one line under its key: what it cannot do, and why."""
    try:
        yield
    except UserError:
        raise
    except FAILURES as error:
        raise SpecError(key, f"cannot {purpose}: {one_line(error)}") from error


def _whole(value: Any) -> Any:
    """Return amounts of energy as integers where they are whole; a spread is rounded to the nearest."""
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
    """Return the number of clients wanted per round, None for what the harvest sustains."""
    return setting.target if isinstance(setting.target, int) else None


def step_size_rule_of(setting: Setting) -> StepSize:
    """Return the rule for step sizes."""
    return step_size_of(setting.learning.step_size, "learning.step_size")


def partition_of(setting: Setting) -> Partition:
    """Return how the data are dealt out."""
    dealer = PARTITIONS.make(setting.learning.partition, "learning.partition")
    # The order is not a parameter of the partition: it assigns the shares that any partition deals to clients.
    return InLabelOrder(dealer) if setting.learning.order == "by-label" else dealer


def parts_of(setting: Setting, task: Task, seed: int) -> list[IntArray]:
    """Return the indices of each client's examples, dealt under a seed."""
    from ehfl.learning import deal

    calling = calling_user_code("partition", f"deal out the data under seed {seed}")
    with renamed(lambda name: "fleet.clients" if name == "clients" else f"learning.{name}"), calling:
        return deal(task, setting.fleet.clients, partition_of(setting), seed)


def aggregation_of(setting: Setting) -> Aggregation:
    """Return the aggregation, with the clients' chances of taking part if it wants them."""
    from ehfl.learning.aggregation.contract import informed, wants_probabilities

    made = plain_aggregation_of(setting)
    if not wants_probabilities(made):
        return made
    with at("learning.aggregation"):
        if wants_losses(scheduler_of(setting)):
            why = f"{setting.scheduler['name']} chooses by losses, so chances are not known before training"
            raise InvalidValue("probabilities", f"given, one in (0, 1] per client: {why}", "auto")
        return informed(made, _above_zero(chances_of(setting)))


def _above_zero(found: Chances) -> list[float]:
    """Return the clients' chances of taking part, all of which must be above 0."""
    for client in np.flatnonzero(found.probabilities == 0):
        how_often = "never takes part" if found.exact else f"took part in none of {found.seeds} simulated seeds"
        given = f"0 for client {client}, who {how_often}: its weight would be infinite"
        raise InvalidValue("probabilities", "above 0 for every client", given)
    chances: list[float] = found.probabilities.tolist()
    return chances


def plain_aggregation_of(setting: Setting) -> Aggregation:
    """Return the aggregation as the spec has it, without chances."""
    from ehfl.learning import AGGREGATIONS

    return AGGREGATIONS.make(setting.learning.aggregation, "learning.aggregation")


def wants_chances(setting: Setting) -> bool:
    """Return whether the aggregation wants the clients' chances of taking part."""
    from ehfl.learning.aggregation.contract import wants_probabilities

    return wants_probabilities(plain_aggregation_of(setting))


def chances_of(setting: Setting, seeds: int | None = None) -> Chances:
    """Return each client's chance of taking part, from `seeds` simulated seeds where it cannot be computed.

    Estimates use the same weather for all runs, and not a run's own, so that they make no difference between arms and
    seeds. They are kept for all seeds of an arm and for arms with the same fleet and scheduler.
    """
    seeds = seeds or min(max(_ESTIMATED_ROUNDS // setting.rounds, 20), 200)
    parts = (seeds, setting.rounds, setting.target, setting.scheduler, fleet_table(setting))
    return _CHANCES.get(parts, lambda: chances(fleet_of(setting), scheduler_of(setting), setting.rounds, seeds=seeds,
                                               target=target_of(setting)))  # fmt: skip


def local_sgd_of(setting: Setting) -> LocalSgd:
    """Return how a participant trains."""
    from ehfl.learning import LocalSgd

    with at("learning"):
        given = {field.name: getattr(setting.learning, field.name) for field in fields(LocalSgd)}
        return LocalSgd(**{name: value for name, value in given.items() if value is not None})


def load_task(setting: Setting) -> tuple[Task, str]:
    """Return the task of a setting, its data read, and the digest of its data."""
    from ehfl.learning import data_digest

    def load() -> tuple[Task, str]:
        task = task_of(setting)
        with calling_user_code("learning.task", "give its examples"):
            return task, data_digest(task)

    # Keyed by its name and data alone: arms that differ in anything else share a task.
    return _TASKS.get((setting.learning.task, setting.learning.data), load)


def task_of(setting: Setting) -> Task:
    """Return the task, its data read."""
    from ehfl.learning import TASKS

    learning, key = setting.learning, "learning.task"
    table = TASKS.table(learning.task, key)
    if learning.data is not None:
        if not TASKS.takes(table, "data", key):
            raise InvalidValue("learning.data", f"left out: {table['name']} takes none", learning.data)
        table["data"] = learning.data
    beside = "data" not in learning.task  # then the data's key is learning.data, not learning.task.data
    with renamed(lambda name: "learning.data" if beside and name == f"{key}.data" else name):
        return TASKS.make(table, key)


def check_causal_steps(setting: Setting, why: str) -> None:
    """Refuse step sizes that look ahead, and say why."""
    check_causal(step_size_rule_of(setting), "learning.step_size", setting.learning.step_size["name"], why)


def check_fits(setting: Setting) -> None:
    """Refuse values that do not fit together, such as a target above the number of clients."""
    fleet = fleet_of(setting)
    with calling_user_code("fleet.harvest", "compute units"):  # a record that ends sooner says so now
        fleet.harvest.units(0, range(setting.rounds - 1, setting.rounds), range(1))
    # Some clients that can never pay are allowed; if all are, it is a mistake.
    if not (fleet.ceilings >= fleet.costs).any():
        given = f"{np.max(fleet.ceilings)} with a cost of {np.min(fleet.costs)}"
        raise InvalidValue("fleet.capacity", "at least what a round costs, or no client could ever pay", given)
    if isinstance(setting.target, int) and setting.target > fleet.clients:
        raise InvalidValue("target", f"auto or in [1, {fleet.clients}] (the clients)", setting.target)
    if setting.flower.least_nodes > fleet.clients:  # the server would wait forever
        allowed = f"a whole number in [1, {fleet.clients}] (the clients)"
        raise InvalidValue("flower.least_nodes", allowed, setting.flower.least_nodes)
    scheduler = scheduler_of(setting)
    if brings_steps(scheduler):
        why = f"{setting.scheduler['name']} chooses how many of local_steps a turn has"
        if fleet.step_costs is None:
            raise InvalidValue("fleet.step_cost", f"given, or a cost by device and radio: {why}", "nothing")
        if setting.learning.local_epochs is not None:
            raise InvalidValue("learning.local_epochs", f"left out: {why}", setting.learning.local_epochs)
    # The first round is decided on trial, to refuse a width above the clients or a scheduler that fails at once.
    decider = Decider(fleet, scheduler, target=target_of(setting))
    if fleet.clients <= TILE:  # a large fleet's first round takes long, and is played right after this anyway
        with at("scheduler"):
            decider.decide(0, fleet.start())
