"""What a turn takes in joules and seconds, from a table of devices and radios and from what is learned.

    cost = { device = "cortex-m4", radio = "esp32-wifi-mqtt" }
    cost = { device = ["cortex-m4", "raspberry-pi"], radio = "ble", session = 0.01 }    # clients in turn have either
    cost = [{ device = "cortex-m4", radio = "ble" }, { joules_per_sample = 0.01, radio = "ble" }]    # likewise

Sizes of ehfl's own tasks are in a file, so that a simulation need not import torch; others are counted.
"""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any, NamedTuple

from ehfl import energy
from ehfl.energy import Device, Radio, RoundCost, RoundTime
from ehfl.quantities import as_bytes, as_time, is_quantity, quantity
from ehfl.registry import Table
from ehfl.toml_values import holds
from ehfl.validation import InvalidValue, at, closest, is_number, short

if TYPE_CHECKING:
    from ehfl.experiment.spec.models import LearningSpec
    from ehfl.learning import TaskSize

# Keys of the fleet that are amounts of energy, and what is lost of it; here, since a device needs no pydantic.
ENERGIES = ("capacity", "initial", "cost", "step_cost")
LOSSES = ("efficiency", "self_discharge", "reserve", "health", "standby")
_NAMES = ("device", "radio")  # each a name, or a list over which clients take turns
_OF_DEVICE = tuple(field.name for field in fields(Device))
_OF_RADIO = tuple(field.name for field in fields(Radio))
_NUMBERS = (*_OF_RADIO, *_OF_DEVICE, "model_bytes", "flop_per_sample", "samples")
_KEYS = (*_NAMES, *_NUMBERS)
Load = Callable[[], "TaskSize"]


def is_costing(value: Any) -> bool:
    """Return whether a cost is given by devices and radios: a table other than {low, high}, or a list of tables.

    >>> is_costing({"device": "cortex-m4", "radio": "ble"}), is_costing({"low": 1, "high": 2}), is_costing([1, 2])
    (True, False, False)
    """
    first = value[0] if isinstance(value, list | tuple) and value else value
    return isinstance(first, Mapping) and first.keys() != {"low", "high"}


def read_costing(value: Any, key: str) -> Any:
    """Return the table, or the tables as a tuple, if all keys are known and all values of the right kind."""
    if isinstance(value, Mapping):
        return _read_table(value, key, lists=True)
    return tuple(_read_table(table, f"{key}[{place}]", lists=False) for place, table in enumerate(value, start=1))


def _read_table(table: Any, key: str, *, lists: bool) -> Table:
    if not isinstance(table, Mapping):
        raise InvalidValue(key, 'a table like { device = "cortex-m4", radio = "ble" }', short(repr(table)))
    with at(key):
        for name, value in table.items():
            if name not in _KEYS:
                raise InvalidValue(str(name), f"one of {', '.join(_KEYS)}", f"{name}{closest(str(name), _KEYS)}")
            if name in _NAMES and not (holds(value, str) if lists else isinstance(value, str)):
                raise InvalidValue(name, f"a name{' or a list of names' if lists else ''}", short(repr(value)))
            if name in _NUMBERS and not (is_number(value) or (name == "session" and is_quantity(value))):
                raise InvalidValue(name, "a number", short(repr(value)))
        found = {name: list(value) if isinstance(value, tuple) else value for name, value in table.items()}
        return found | ({"session": quantity("session", table["session"], "J")} if "session" in table else {})


class Turn(NamedTuple):
    """What computes and sends, what it has to do, and what that takes."""

    key: str  # where it stands in the spec
    device: Device
    radio: Radio
    work: Table  # keywords of `round_cost` and `round_time`

    @property
    def cost(self) -> RoundCost:
        """The energy by parts [J]."""
        return energy.round_cost(self.device, self.radio, **self.work)

    @property
    def time(self) -> RoundTime:
        """The time by parts [s]."""
        return energy.round_time(self.device, self.radio, **self.work)

    def fits_memory(self) -> bool:
        """Return whether the weights alone fit into the device's memory, as far as that is known."""
        return self.device.memory is None or self.work["model_bytes"] <= self.device.memory


def turns_of(costing: Any, learning: LearningSpec, clients: int, load: Load, key: str = "fleet.cost") -> list[Turn]:
    """Return the kinds of turns over which the clients take turns; one if all are alike.

    `load` counts the task's size; it is called only for tasks that are not ehfl's own.
    """
    kinds = _kinds(costing, clients, key)
    turns = [_turn(table, place, learning, clients, load) for table, place in kinds]
    return turns[:1] if len({json.dumps(table) for table, _ in kinds}) == 1 else turns


def check_feasible(turns: Sequence[Turn], round_length: float) -> None:
    """Refuse a turn that takes longer than a round, or weights that the device cannot hold, with what would fit.

    Figures that are unknown take no time: what passes may still be too slow.
    """
    for turn in turns:
        needs, total, memory = [], turn.time.total, turn.device.memory
        if total > round_length:
            needs.append(f"{as_time(total)} in a round of {as_time(round_length)} ({_slow(turn, round_length)})")
        if memory is not None and not turn.fits_memory():
            weights = as_bytes(turn.work["model_bytes"])
            needs.append(f"{weights} of memory for weights on a device that has {as_bytes(memory)}")
        if needs:
            allowed = f"a turn that fits ({_remedies(turn, round_length)})"
            raise InvalidValue(turn.key, allowed, f"one that needs {' and '.join(needs)}")


def _slow(turn: Turn, round_length: float) -> str:
    """Return the parts of a turn that take a hundredth of a round or more."""
    duty = f"silence by a duty cycle of {100 * turn.radio.duty_cycle:g} %"
    return ", ".join(
        f"{duty if name == 'silence' else name} {as_time(seconds)}"
        for name, seconds in turn.time.parts()
        if seconds >= round_length / 100
    )


def _remedies(turn: Turn, round_length: float) -> str:
    """Return the known devices and radios with which the turn would fit, and the rounds that it would fit into."""
    found = []
    if not _computes(turn, round_length):
        known = {name: turn._replace(device=energy.device_of(name)) for name in energy.devices()}
        able = [name for name, other in known.items() if _computes(other, round_length)]
        found.append(f"on {', '.join(able) or 'no known device'}")
    if not _sends(turn, round_length):
        quick = [name for name in energy.radios() if _sends(turn._replace(radio=energy.radio_of(name)), round_length)]
        found.append(f"over {', '.join(quick) or 'no known radio'}")
    if turn.fits_memory():
        found.append(f"in rounds of {as_time(turn.time.total)} or more")
    return "; ".join(found)


def _computes(turn: Turn, round_length: float) -> bool:
    """Return whether the device is known to hold the weights and to train on them within a round."""
    return turn.device.memory is not None and turn.fits_memory() and turn.time.computing <= round_length


def _sends(turn: Turn, round_length: float) -> bool:
    """Return whether the radio is known to get the model and to send it within a round."""
    time = turn.time
    return time.session + time.download + time.upload + time.silence <= round_length


def turn_in_joules(costing: Any, learning: LearningSpec, clients: int, load: Load, round_length: float) -> Table:
    """Return the cost of a turn and of a step in it [J], one number for all or one per client; and its time [s]."""
    turns = turns_of(costing, learning, clients, load)
    check_feasible(turns, round_length)
    kinds = [turn.cost for turn in turns]
    costs = kinds if len(kinds) == 1 else [kinds[client % len(kinds)] for client in range(clients)]
    amounts = {"cost": [cost.total for cost in costs]}
    if learning.local_epochs is None:  # otherwise all turns are whole
        amounts["step_cost"] = [cost.step(learning.local_steps) for cost in costs]
    table: Table = {name: values if len(values) > 1 else values[0] for name, values in amounts.items()}
    return table | {"turn_time": max(turn.time.total for turn in turns)}


def _kinds(costing: Any, clients: int, key: str) -> list[tuple[Table, str]]:
    """Return the tables over which the clients take turns, each with its key."""
    if not isinstance(costing, Mapping):
        return [(table, f"{key}[{place}]") for place, table in enumerate(costing, start=1)][:clients]
    lists = {name: costing[name] for name in _NAMES if isinstance(costing.get(name), list)}
    period = math.lcm(*(len(names) for names in lists.values()))
    return [
        ({**costing, **{name: names[client % len(names)] for name, names in lists.items()}}, key)
        for client in range(min(period, clients))
    ]


def _turn(table: Table, key: str, learning: LearningSpec, clients: int, load: Load) -> Turn:
    with at(key):
        device = energy.device_of(table.get("device"), **{name: table.get(name) for name in _OF_DEVICE})
        radio = energy.radio_of(table.get("radio"), **{name: table.get(name) for name in _OF_RADIO})
    by_epochs = learning.local_epochs is not None and "samples" not in table
    wanted = ["model_bytes"] + ["flop_per_sample"] * (device.joules_per_sample is None) + ["examples"] * by_epochs
    # The task, which may have to be loaded, is asked only where a size is missing.
    known = {} if table.keys() >= {*wanted} else _known_size(learning, load, with_examples=by_epochs)
    size: dict[str, Any] = {name: table.get(name, known.get(name)) for name in wanted}
    sent = _sent(learning.aggregation)
    if by_epochs:  # of a client with a mean share: shares differ between seeds, and a fleet does not
        samples = math.ceil((learning.local_epochs or 0) * size.pop("examples") / clients)
    else:
        samples = table.get("samples", learning.local_steps * learning.batch_size)
    with at(key):
        if "flop_per_sample" in wanted and not size["flop_per_sample"]:
            why = f"{learning.task['name']} is no network whose work could be counted"
            raise InvalidValue("flop_per_sample", f"given, above 0: {why}", size["flop_per_sample"] or "nothing")
        turn = Turn(key, device, radio, {"samples": samples} | size | sent)
        _ = turn.cost  # refuses values that cannot be
        return turn


def _known_size(learning: LearningSpec, load: Load, *, with_examples: bool) -> dict[str, int]:
    """Return the size of the task, from the file or counted."""
    task = learning.task
    name, network = task["name"], task.get("network", "paper")
    known = _sizes()["tasks"].get(name if network == "paper" else f"{name} {network}")
    if known is None or (with_examples and ("examples" not in known or "records" in task)):
        return load()._asdict()
    return known


def _sent(aggregation: Table) -> dict[str, int]:
    """Return how many models a turn sends each way."""
    known = _sizes()["aggregations"].get(aggregation["name"])
    if known is not None and aggregation.get("of", "mean") in _sizes()["aggregations"]:
        inner = _sizes()["aggregations"][aggregation.get("of", "mean")]  # what it goes around may send more
        return {name: max(known[name], inner[name]) for name in known}
    from ehfl.learning import AGGREGATIONS
    from ehfl.learning.aggregation.contract import traffic_of

    sent = traffic_of(AGGREGATIONS.make(aggregation, "learning.aggregation"), n_params=0)
    return {"models_down": sent.down, "models_up": sent.up}


@cache
def _sizes() -> dict[str, dict[str, dict[str, int]]]:
    """Return sizes of ehfl's tasks and aggregations, without importing torch."""
    text = files("ehfl").joinpath("learning", "tasks", "sizes.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)
