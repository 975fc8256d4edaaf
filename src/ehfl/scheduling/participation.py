"""Who took part in which round, and what it cost: what scheduling hands to learning, theory and planning."""

from __future__ import annotations

import json
import operator
import os
import zipfile
import zlib
from dataclasses import asdict, dataclass
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import BoolArray, Clients, FloatArray, IntArray, Levels
from ehfl.energy import EnergyTotals
from ehfl.files import parse_json, refuse_pipe, written_whole
from ehfl.machine import check_memory
from ehfl.scheduling.archive import read_archive
from ehfl.scheduling.consistency import check_consistent
from ehfl.scheduling.summary import Summary, summarise
from ehfl.validation import UserError, path_of

_FORMAT = 2
_ARRAYS = ("offsets", "indices", "spent", "final_energy")
_OPTIONAL = {
    "energy": "the recorded energy is",
    "weights": "the weights of turns are",
    "steps": "the steps of turns are",
}
_FACTS = ("n_clients", "target", "scheduler", "mains_powered", "unit", "seed")
_OPTIONAL_FACTS = ("quantum", "round_length")


@dataclass(frozen=True, eq=False, slots=True)
class Participation:
    """The participants of every round, compactly, and what became of the energy.

    >>> from ehfl import Fleet, Greedy, Replay, simulate
    >>> played = simulate(Fleet(clients=3, harvest=Replay([[1, 0, 1], [0, 1, 0]])), Greedy(), rounds=2)
    >>> played.counts.tolist(), played.clients(1).tolist(), played.totals.stored
    ([0, 2], [0, 2], 1)
    """

    n_clients: int
    offsets: IntArray  # (n_rounds + 1,): round t's clients are indices[offsets[t] : offsets[t + 1]]
    indices: Clients  # (sum of counts,)
    spent: NDArray[np.int64]  # what was paid in each round, (n_rounds,): by participants and, on devices, in vain
    final_energy: Levels  # E_i(T), (n_clients,)
    totals: EnergyTotals
    target: int  # how many clients were wanted a round
    scheduler: str  # as Python writes it
    seed: int
    mains_powered: bool = False  # whether participants paid nothing from their batteries
    unit: str = "units"  # what energy is counted in
    energy: Levels | None = None  # E_i(t), (n_rounds + 1, n_clients), where it was recorded
    weights: FloatArray | None = None  # of each turn, like indices, where the scheduler brings any
    quantum: float | None = None  # what a unit is [J], where that is known
    round_length: float | None = None  # [s], where that is known
    steps: IntArray | None = None  # local steps of each turn, like indices, where the scheduler chooses how many

    @property
    def rounds(self) -> int:
        """The number of rounds T."""
        return self.offsets.size - 1

    @property
    def counts(self) -> IntArray:
        """n_t, shape (n_rounds,)."""
        return np.diff(self.offsets)

    def clients(self, t: int) -> Clients:
        """Return the sorted participants N_t of round t."""
        if not 0 <= operator.index(t) < self.rounds:
            raise IndexError(f"round must be in [0, {self.rounds - 1}], got {t}")
        return self.indices[self.offsets[t] : self.offsets[t + 1]]

    def weights_of(self, t: int) -> FloatArray | None:
        """Return how much the turns of round t count, in the order of its clients; None where nobody says so."""
        return None if self.weights is None else self.weights[self.offsets[t] : self.offsets[t + 1]]

    def steps_of(self, t: int) -> IntArray | None:
        """Return how many local steps the turns of round t have, in the order of its clients; None where all have K."""
        return None if self.steps is None else self.steps[self.offsets[t] : self.offsets[t + 1]]

    def took_part(self) -> BoolArray:
        """Return who took part in which round, shape (n_rounds, n_clients): a byte each, so for small fleets."""
        check_memory("clients", self.n_clients, float(self.rounds) * self.n_clients)
        found = np.zeros((self.rounds, self.n_clients), dtype=np.bool_)
        found[np.repeat(np.arange(self.rounds), self.counts), self.indices] = True
        return found

    def turns(self) -> IntArray:
        """Return how often each client took part, shape (n_clients,)."""
        return np.bincount(self.indices, minlength=self.n_clients)

    def summary(self, target: int | None = None) -> Summary:
        """Return the figures that describe this participation; shortfall is against another `target` if given."""
        return summarise(self, target)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to an npz file, which is whole or absent; one whose parts do not fit together is refused."""
        place = path_of("path", path)
        check_consistent(self)  # what would not be read again is not written
        facts = {name: getattr(self, name) for name in (*_FACTS, *_OPTIONAL_FACTS)} | {
            "format": _FORMAT,
            "totals": asdict(self.totals),
            **{f"has_{name}": getattr(self, name) is not None for name in _OPTIONAL},
        }
        arrays = {name: getattr(self, name) for name in _ARRAYS} | {"facts": np.array(json.dumps(facts))}
        arrays |= {name: value for name in _OPTIONAL if (value := getattr(self, name)) is not None}
        with written_whole(place) as file:
            np.savez_compressed(file, **arrays)  # no array of objects among them, so nothing is pickled

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Participation:
        """Read what `save` wrote; a file of another kind is refused by name, and nothing in it is executed."""
        place = path_of("path", path)
        refuse_pipe(place)
        with place.open("rb") as file:
            try:
                return _read(file)
            except _UNREADABLE as error:
                raise UserError(f"{path} is not a participation file: {' '.join(str(error).split())}") from error


# What zipfile, zlib and json raise for files that are damaged or of another kind, beside ValueError.
_UNREADABLE = (
    ValueError, LookupError, TypeError, EOFError, OSError, RuntimeError, zipfile.BadZipFile, zlib.error
)  # fmt: skip


def _read(file: BinaryIO) -> Participation:
    arrays: dict[str, Any] = dict(read_archive(file, ("facts", *_ARRAYS), optional=_OPTIONAL))
    facts = parse_json(str(arrays.pop("facts")))
    if facts.get("format") != _FORMAT:
        raise ValueError(f"format {facts.get('format')}, this version reads {_FORMAT}")
    for name, what in _OPTIONAL.items():
        if facts.get(f"has_{name}", False) != (name in arrays):  # older files know of no weights, nor of steps
            raise ValueError(f"{what} missing")
    if missing := [name for name in (*_FACTS, "totals") if name not in facts]:
        raise ValueError(f"it does not say {', '.join(missing)}")
    named = {name: facts[name] for name in _FACTS} | {name: facts.get(name) for name in _OPTIONAL_FACTS}
    loaded = Participation(totals=EnergyTotals(**facts["totals"]), **named, **arrays)
    check_consistent(loaded)
    return loaded
