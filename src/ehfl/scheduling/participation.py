"""The participants and the energy of every round: the output of scheduling for learning, theory and planning."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import BoolArray, Clients, FloatArray, IntArray, Levels
from ehfl.energy import EnergyTotals
from ehfl.files import parse_json, written_whole
from ehfl.machine import check_memory
from ehfl.randomness import TILE, frozen
from ehfl.scheduling.summary import Summary, summarise
from ehfl.validation import UserError

_AT_ONCE = 2**22  # turns per block, to limit the memory for a large fleet
_FORMAT = 2
_ARRAYS = ("offsets", "indices", "spent", "final_energy")
_OPTIONAL = ("energy", "weights", "steps")
_FACTS = ("n_clients", "target", "scheduler", "mains_powered", "unit", "seed")
_OPTIONAL_FACTS = ("quantum", "round_length")


@dataclass(frozen=True, eq=False, slots=True)
class PackedClients:
    """The participants of a large fleet's rounds, each in the smaller format: ascending clients, or one bit per client.

    Writing new memory takes longer than the round itself: half a million participants are 2 MB as numbers and an eighth
    of a megabyte as bits.

    >>> packed = PackedClients(6, (pack(np.array([1, 2, 5], np.int32), 6),))
    >>> packed.rounds[0].tolist(), packed.clients(0).tolist()
    ([38], [1, 2, 5])
    """

    n_clients: int
    rounds: tuple[NDArray[Any], ...]  # of each round: int32 are clients, uint8 are bits, the first client's lowest

    def clients(self, t: int) -> Clients:
        """Return the sorted participants of round t."""
        kept = self.rounds[t]
        if kept.dtype != np.uint8:
            return kept
        bits = np.unpackbits(kept, count=self.n_clients, bitorder="little")
        return np.flatnonzero(bits.view(np.bool_)).astype(np.int32)


def pack(clients: Clients, n_clients: int) -> NDArray[Any]:
    """Return the ascending participants of a round in the smaller format, as a new array."""
    n_bytes = -(-n_clients // 8)
    if clients.nbytes <= n_bytes:
        return clients.copy()
    if n_clients <= TILE:
        flags = np.zeros(n_clients, np.bool_)
        flags[clients] = True
        return np.packbits(flags, bitorder="little")
    from ehfl.scheduling import kernels

    bits = np.empty(n_bytes, np.uint8)
    kernels.pack(frozen(clients), bits)
    return bits


@dataclass(frozen=True, eq=False, slots=True)
class Participation:
    """The participants of every round in compact form, and the energy balance.

    >>> from ehfl import Fleet, Greedy, Replay, simulate
    >>> played = simulate(Fleet(clients=3, harvest=Replay([[1, 0, 1], [0, 1, 0]])), Greedy(), rounds=2)
    >>> played.counts.tolist(), played.clients(1).tolist(), played.totals.stored
    ([0, 2], [0, 2], 1)
    """

    n_clients: int
    offsets: IntArray  # (n_rounds + 1,): round t's turns are those from offsets[t] to offsets[t + 1]
    participants: Clients | PackedClients  # of all rounds in a row, (sum of counts,), or round by round
    spent: NDArray[np.int64]  # payments in each round, (n_rounds,); on devices also for lost updates
    final_energy: Levels  # E_i(T), (n_clients,)
    totals: EnergyTotals
    target: int  # clients per round
    scheduler: str  # its repr
    seed: int
    mains_powered: bool = False  # whether participants paid nothing from their batteries
    unit: str = "units"  # of energy
    energy: Levels | None = None  # E_i(t), (n_rounds + 1, n_clients), where it was recorded
    weights: FloatArray | None = None  # of each turn, like indices, if the scheduler gives any
    quantum: float | None = None  # size of a unit [J], if known
    round_length: float | None = None  # [s], where that is known
    steps: IntArray | None = None  # local steps of each turn, like indices, if the scheduler sets them

    @property
    def rounds(self) -> int:
        """The number of rounds T."""
        return self.offsets.size - 1

    @property
    def counts(self) -> IntArray:
        """n_t, shape (n_rounds,)."""
        return np.diff(self.offsets)

    @property
    def indices(self) -> Clients:
        """The participants of all rounds in a row, (sum of counts,); for a large fleet, unpacked on every access."""
        if isinstance(self.participants, PackedClients):
            return np.concatenate([self.participants.clients(t) for t in range(self.rounds)])
        return self.participants

    def clients(self, t: int) -> Clients:
        """Return the sorted participants N_t of round t."""
        if not 0 <= operator.index(t) < self.rounds:
            raise IndexError(f"round must be in [0, {self.rounds - 1}], got {t}")
        if isinstance(self.participants, PackedClients):
            return self.participants.clients(t)
        return self.participants[self.offsets[t] : self.offsets[t + 1]]

    def weights_of(self, t: int) -> FloatArray | None:
        """Return the weights of the turns of round t, in the order of its clients; None if all are equal."""
        return None if self.weights is None else self.weights[self.offsets[t] : self.offsets[t + 1]]

    def steps_of(self, t: int) -> IntArray | None:
        """Return the local steps of the turns of round t, in the order of its clients; None if all are K."""
        return None if self.steps is None else self.steps[self.offsets[t] : self.offsets[t + 1]]

    def took_part(self) -> BoolArray:
        """Return whether each client took part, shape (n_rounds, n_clients): one byte each, so for small fleets."""
        check_memory("clients", self.n_clients, float(self.rounds) * self.n_clients)
        found = np.zeros((self.rounds, self.n_clients), dtype=np.bool_)
        found[np.repeat(np.arange(self.rounds), self.counts), self.indices] = True
        return found

    def turns(self) -> IntArray:
        """Return the number of turns of each client, shape (n_clients,)."""
        total: IntArray = sum(
            (np.bincount(clients, minlength=self.n_clients) for _, clients in self._in_parts()),
            np.zeros(self.n_clients, np.int64),
        )
        return total

    def weight_sums(self) -> FloatArray:
        """Return the sum over all rounds of 1{i in S} / |S|, a client's weight in a plain mean; shape (n_clients,)."""
        total = np.zeros(self.n_clients)
        for n_t, clients in self._in_parts():
            total += np.bincount(clients, np.repeat(1 / np.maximum(n_t, 1), n_t), minlength=self.n_clients)
        return total

    def _in_parts(self) -> Iterator[tuple[IntArray, Clients]]:
        """Yield n_t and the participants of blocks of rounds, each with at most `_AT_ONCE` turns or a single round."""
        begin, counts = 0, self.counts
        while begin < self.rounds:
            end = int(np.searchsorted(self.offsets, self.offsets[begin] + _AT_ONCE, side="right")) - 1
            end = max(end, begin + 1)
            yield counts[begin:end], np.concatenate([self.clients(t) for t in range(begin, end)])
            begin = end

    def summary(self, target: int | None = None) -> Summary:
        """Return the statistics of this participation; `target` overrides the target of the shortfall."""
        return summarise(self, target)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to an npz file, atomically."""
        place = Path(path)
        facts = {name: getattr(self, name) for name in (*_FACTS, *_OPTIONAL_FACTS)} | {
            "format": _FORMAT,
            "totals": asdict(self.totals),
        }
        arrays = {name: getattr(self, name) for name in _ARRAYS} | {"facts": np.array(json.dumps(facts))}
        arrays |= {name: value for name in _OPTIONAL if (value := getattr(self, name)) is not None}
        with written_whole(place) as file:
            np.savez_compressed(file, **arrays)  # no object arrays, so nothing is pickled

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Participation:
        """Read what `save` wrote; raise an error that names a damaged or foreign file; no code in it is executed."""
        place = Path(path)
        with place.open("rb") as file:
            try:
                # zipfile compares a checksum of every array.
                with np.load(file, allow_pickle=False) as stored:
                    return _from_arrays({name: stored[name] for name in stored.files})
            except Exception as error:  # zipfile, zlib, json and NumPy have one each for a damaged file
                raise UserError(f"{path} is not a participation file: {' '.join(str(error).split())}") from error


def _from_arrays(arrays: dict[str, Any]) -> Participation:
    facts = parse_json(str(arrays.pop("facts")))
    if facts.get("format") != _FORMAT:
        raise ValueError(f"format {facts.get('format')}, this version reads {_FORMAT}")
    facts = {name: facts[name] for name in _FACTS} | {
        **{name: facts.get(name) for name in _OPTIONAL_FACTS},  # older files do not have them
        "totals": EnergyTotals(**facts["totals"]),
    }
    return Participation(participants=arrays.pop("indices"), **facts, **arrays)
