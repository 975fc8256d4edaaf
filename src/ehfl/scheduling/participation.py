"""The participants and the energy of every round: the output of scheduling for learning, theory and planning."""

from __future__ import annotations

import json
import operator
import os
from collections.abc import Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import BoolArray, Clients, FloatArray, IntArray, Levels
from ehfl.energy import EnergyTotals
from ehfl.files import parse_json, written_whole
from ehfl.machine import check_memory
from ehfl.randomness import TILE, frozen
from ehfl.theory.participants import chi_square_of
from ehfl.validation import UserError, whole_number

_AT_ONCE = 2**22  # turns per block, to limit the memory for a large fleet
_FORMAT = 2


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
        return np.flatnonzero(flags_of(kept, self.n_clients)).astype(np.int32)


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


def flags_of(bits: NDArray[np.uint8], n_clients: int) -> BoolArray:
    """Return whether each client takes part, of a round that was packed as bits."""
    return np.unpackbits(bits, count=n_clients, bitorder="little").view(np.bool_)


@dataclass(frozen=True, slots=True)
class Summary:
    """Statistics of a participation; n_t is the number of participants of round t."""

    scheduler: str
    clients: int
    rounds: int
    target: int  # reference of the shortfall [clients per round]
    mean: float  # of n_t
    std: float  # of n_t over the rounds (divided by T)
    min: int
    max: int
    empty_rounds: int  # rounds with n_t = 0
    on_target: float  # share of rounds with n_t >= target
    worst_streak: int  # longest run of rounds with n_t < target
    shortfall: float  # mean of max(target - n_t, 0) [clients per round]
    waste: float  # share of the harvest that a full battery rejected
    lost: float  # share of all energy (initial and harvested) that charging, leaks and standing by took
    used: float  # share of all energy (initial and harvested) spent on rounds
    fairness: float  # Jain's index of turns per client: 1 when all are equal, 1/M when one takes all
    chi_square: float  # M sum_i (q_i - 1/M)^2 of the weights q_i in a plain mean of the participants; 0 when equal
    least_weight: float  # the smallest of them, in parts of 1/M; all are 0 where no client ever took part
    most_weight: float  # the largest

    def as_dict(self) -> dict[str, str | int | float]:
        """Return the figures by name, ready for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        rows = {name: f"{value:.4g}" if isinstance(value, float) else value for name, value in self.as_dict().items()}
        return "\n".join(f"{name.replace('_', ' '):<13} {value}" for name, value in rows.items())


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
        counts, totals = self.counts, self.totals
        if target is None:
            target = self.target
        whole_number("target", target, low=1, high=self.n_clients)
        weights = self.weight_sums() / max(int(np.count_nonzero(counts)), 1)
        supply = totals.initial + totals.harvested
        return Summary(
            scheduler=self.scheduler,
            clients=self.n_clients,
            rounds=self.rounds,
            target=target,
            mean=float(counts.mean()),
            std=float(counts.std()),
            min=int(counts.min()),
            max=int(counts.max()),
            empty_rounds=int((counts == 0).sum()),
            on_target=float((counts >= target).mean()),
            worst_streak=longest_run(counts < target),
            shortfall=float(np.maximum(target - counts, 0).mean()),
            waste=totals.wasted / totals.harvested if totals.harvested else 0.0,
            lost=totals.lost / supply if supply else 0.0,
            used=totals.spent / supply if supply else 0.0,
            fairness=jain(self.turns()),
            chi_square=float(chi_square_of(weights)),
            least_weight=float(weights.min()) * self.n_clients,
            most_weight=float(weights.max()) * self.n_clients,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to an npz file, atomically."""
        place = Path(path)
        values = {one.name: getattr(self, one.name) for one in fields(self)}
        values |= {"participants": None, "indices": self.indices, "totals": asdict(self.totals), "format": _FORMAT}
        arrays: dict[str, Any] = {name: value for name, value in values.items() if isinstance(value, np.ndarray)}
        facts = {name: value for name, value in values.items() if name not in arrays and value is not None}
        with written_whole(place) as file:
            np.savez_compressed(file, facts=np.array(json.dumps(facts)), **arrays)  # no objects: nothing is pickled

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
    if (there := facts.pop("format", None)) != _FORMAT:
        raise ValueError(f"format {there}, this version reads {_FORMAT}")
    totals = EnergyTotals(**facts.pop("totals"))
    return Participation(participants=arrays.pop("indices"), totals=totals, **facts, **arrays)


def longest_run(flags: NDArray[np.bool_]) -> int:
    """Return the length of the longest run of set flags.

    >>> longest_run(np.array([True, False, True, True, False]))
    2
    """
    bounds = np.flatnonzero(np.diff(np.concatenate(([False], flags, [False]))))  # where runs begin and end, in turn
    return int((bounds[1::2] - bounds[::2]).max(initial=0))


def jain(shares: IntArray) -> float:
    """Return Jain's fairness index (sum x)^2 / (n sum x^2), in [1/n, 1]; 1 where all are 0.

    R. Jain, D. Chiu and W. Hawe, DEC Research Report TR-301, 1984.

    >>> jain(np.array([1, 1, 1, 1])), jain(np.array([4, 0, 0, 0]))
    (1.0, 0.25)
    """
    shares = shares.astype(np.float64)
    squares = float(shares @ shares)
    return float(shares.sum()) ** 2 / (shares.size * squares) if squares else 1.0
