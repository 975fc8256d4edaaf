"""A run on real devices in figures: who was online, who took part, whose work was lost, what batteries held."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import FloatArray, IntArray
from ehfl.runs import Devices, Record
from ehfl.scheduling import Participation


class DeviceState(IntEnum):
    """What a server saw of a device in a round."""

    DARK = 0  # it did not answer
    ONLINE = 1  # it answered and was not asked to train
    LOST = 2  # it was asked, and its update does not count
    TOOK_PART = 3


@dataclass(frozen=True, slots=True)
class Device:
    """One device over all rounds."""

    client: int
    online: int  # rounds in which it answered
    took_part: int  # rounds in which its update counted
    lost: Mapping[str, int]  # updates that it was asked for and that do not count, by reason, most frequent first
    last_heard: int | None  # the last round in which it answered, their number if after all; None: it never did
    level: float | None  # of the battery after the last round as far as is known; None: it never answered
    lowest: float | None  # of the levels that it reported; all in joules where that is what quanta are
    mean: float | None  # of those at the start of a round

    @property
    def losses(self) -> int:
        """How many of its updates were lost."""
        return sum(self.lost.values())


@dataclass(frozen=True, eq=False, slots=True)
class DeviceLog:
    """What the server of one run saw of its devices."""

    states: NDArray[np.int8]  # a `DeviceState` each, (n_rounds, n_clients)
    levels: FloatArray  # E_i(t) as reported, (n_rounds, n_clients); NaN where a device was dark
    devices: tuple[Device, ...]
    wasted_energy: float  # what lost updates cost at the least, all devices together, in joules or the fleet's unit

    @property
    def online(self) -> int:
        """In how many rounds a device answered, all devices together."""
        return sum(device.online for device in self.devices)

    @property
    def possible(self) -> int:
        """In how many rounds a device could have answered, all devices together."""
        return self.states.size

    @property
    def asked(self) -> int:
        """How many updates were asked for."""
        return int((self.states >= DeviceState.LOST).sum())

    @property
    def lost(self) -> int:
        """How many of them do not count."""
        return sum(device.losses for device in self.devices)

    @property
    def reasons(self) -> dict[str, int]:
        """Why they do not: how often each reason was given, most frequent first."""
        return alike(sum((Counter(device.lost) for device in self.devices), Counter()))

    def as_facts(self) -> dict[str, Any]:
        """Return the figures, of all devices together and of each, ready for JSON."""
        totals = {name: getattr(self, name) for name in ("online", "possible", "asked", "lost", "reasons")}
        return totals | {"wasted_energy": self.wasted_energy, "devices": [asdict(device) for device in self.devices]}


def device_log(records: Sequence[Record], played: Participation) -> DeviceLog | None:
    """Return what records say of devices, None where there were none."""
    rounds = [record.devices for record in records if record.devices is not None]
    if not rounds or len(rounds) < len(records):
        return None
    states = np.array([_states(seen) for seen in rounds])
    levels = np.array([seen.energy for seen in rounds], dtype=np.float64)  # None becomes NaN
    lost: list[Counter[str]] = [Counter() for _ in range(played.n_clients)]
    for seen in rounds:
        for client, reason in seen.lost.items():
            lost[client][reason] += 1
    size = 1 if played.quantum is None else played.quantum
    devices = tuple(
        _device(client, states[:, client], levels[:, client], lost[client], int(played.final_energy[client]), size)
        for client in range(played.n_clients)
    )
    told = np.array([seen.spent for seen in rounds], dtype=np.int64)
    counted = _cost(told) @ np.array([device.took_part for device in devices])
    return DeviceLog(states, levels * size, devices, max(0, int(played.spent.sum() - counted)) * size)


def _states(seen: Devices) -> NDArray[np.int8]:
    states = np.array(
        [DeviceState.DARK if level is None else DeviceState.ONLINE for level in seen.energy], dtype=np.int8
    )
    states[list(seen.took_part)] = DeviceState.TOOK_PART
    states[list(seen.lost)] = DeviceState.LOST
    return states


def _device(
    client: int, states: NDArray[np.int8], levels: FloatArray, lost: Counter[str], final: int, size: float
) -> Device:
    """Return what became of one device; `states` and `levels` are its own, (n_rounds,), in quanta of this size."""
    (heard,) = np.isfinite(levels).nonzero()
    if not heard.size:
        return Device(client, 0, 0, alike(lost), None, None, None, None)
    reported = levels[heard]
    return Device(
        client,
        online=heard.size,
        took_part=int((states == DeviceState.TOOK_PART).sum()),
        lost=alike(lost),
        # A level that is not the last reported one was reported after the last round.
        last_heard=int(heard[-1]) if final == reported[-1] else len(states),
        level=final * size,
        lowest=min(int(reported.min()), final) * size,
        mean=float(reported.mean()) * size,
    )


def _cost(told: IntArray) -> IntArray:
    """Return what a turn costs each client, (n_clients,), or more; 0 for one that never paid.

    `told` is what each had paid after each round as far as it had said so, (n_rounds, n_clients). A client may say so
    late, so that a step of it is the cost of several turns: the smallest one is taken.

    >>> _cost(np.array([[2, 0], [2, 0], [6, 0], [8, 0]])).tolist()
    [2, 0]
    """
    steps = np.diff(told, axis=0, prepend=0)
    largest = np.iinfo(np.int64).max
    costs: IntArray = np.where(steps > 0, steps, largest).min(axis=0)
    return np.where(costs == largest, 0, costs)


def alike(reasons: Mapping[str, int]) -> dict[str, int]:
    """Return reasons with how often they were given, most frequent first; those that differ in numbers are one.

    >>> alike({"late": 2, "round 3 is over": 1, "round 7 is over": 2, "no reply in 30 s": 1})
    {'round … is over': 3, 'late': 2, 'no reply in 30 s': 1}
    """
    groups: dict[str, Counter[str]] = {}
    for reason, times in reasons.items():
        groups.setdefault(_NUMBER.sub("…", reason), Counter())[reason] += times
    found = {next(iter(group)) if len(group) == 1 else key: group.total() for key, group in groups.items()}
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))


_NUMBER = re.compile(r"\d+(?:[.,]\d+)*(?:e[+-]?\d+)?")
