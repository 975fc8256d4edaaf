"""Whether a participation that was read, or made by hand, fits together: rounds, clients, and every unit of energy."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ehfl.arrays import IntArray
from ehfl.validation import UserError, is_label

if TYPE_CHECKING:
    from ehfl.scheduling.participation import Participation


def check_consistent(played: Participation) -> None:
    """Raise UserError, in one line, if a part of a participation does not fit another."""
    _check_facts(played)
    _check_rounds(played)
    _check_clients(played.offsets, played.indices, played.n_clients)
    _check_weights(played)
    _check_steps(played)
    _check_energy(played)


def _check_facts(played: Participation) -> None:
    whole = {"n_clients": played.n_clients, "target": played.target, "seed": played.seed, **asdict(played.totals)}
    for name, value in whole.items():
        if isinstance(value, bool) or not isinstance(value, int) or value < 0:
            raise UserError(f"{name} is no whole number >= 0")
    if not 1 <= played.target <= played.n_clients or played.seed >= 2**64:
        raise UserError("target and seed are not such that they could have been played")
    if not isinstance(played.scheduler, str) or not isinstance(played.mains_powered, bool):
        raise UserError("scheduler is no text, or mains_powered neither true nor false")
    if not is_label(played.unit, most=20):
        raise UserError("unit is not 1 to 20 printable characters")
    for name in ("quantum", "round_length"):
        size = getattr(played, name)
        if size is not None and (
            isinstance(size, bool) or not isinstance(size, int | float) or not 0 < size < math.inf
        ):
            raise UserError(f"{name} is no number > 0")


def _check_rounds(played: Participation) -> None:
    offsets, indices = played.offsets, played.indices
    for name in ("offsets", "indices", "spent", "final_energy"):
        _check_whole_numbers(name, getattr(played, name), axes=1)
    if offsets.size < 2 or offsets[0] != 0 or offsets[-1] != indices.size or (np.diff(offsets) < 0).any():
        raise UserError("offsets do not fit the indices")
    if played.spent.shape != (played.rounds,) or (played.spent < 0).any():
        raise UserError("spent does not fit the rounds")
    # A round costs each participant at least one unit. Devices whose work was lost have paid in empty rounds, too.
    if (played.spent < played.counts).any():
        raise UserError("spent does not fit the participants")
    if played.final_energy.shape != (played.n_clients,) or (played.final_energy < 0).any():
        raise UserError("final_energy does not fit the clients")
    if played.energy is not None:
        _check_whole_numbers("energy", played.energy, axes=2)
        if played.energy.shape != (played.rounds + 1, played.n_clients) or (played.energy < 0).any():
            raise UserError("energy does not fit the rounds and clients")


def _check_whole_numbers(name: str, array: NDArray[np.generic], axes: int) -> None:
    if array.ndim != axes or array.dtype not in (np.dtype(np.int32), np.dtype(np.int64)):
        raise UserError(f"{name} has {array.ndim} axes of {array.dtype}, not {axes} of whole numbers")


def _check_clients(offsets: IntArray, indices: IntArray, n_clients: int) -> None:
    if not indices.size:
        return
    if indices.min() < 0 or indices.max() >= n_clients:
        raise UserError("indices name clients that do not exist")
    rises = np.diff(indices) > 0
    starts = offsets[1:-1]
    rises[starts[(starts > 0) & (starts < indices.size)] - 1] = True  # from one round to the next they may fall
    if not rises.all():
        raise UserError("indices name a client twice in a round, or are not in order")


def _check_weights(played: Participation) -> None:
    weights = played.weights
    if weights is None:
        return
    if weights.dtype != np.float64 or weights.shape != played.indices.shape:
        raise UserError("weights do not fit the indices")
    if not (np.isfinite(weights) & (weights > 0)).all():
        raise UserError("weights are not all finite and > 0")


def _check_steps(played: Participation) -> None:
    if played.steps is None:
        return
    _check_whole_numbers("steps", played.steps, axes=1)
    if played.steps.shape != played.indices.shape or (played.steps < 1).any():
        raise UserError("steps do not fit the indices, or are not all >= 1")


def _check_energy(played: Participation) -> None:
    totals, final = played.totals, played.final_energy
    paid = int(played.spent.sum(dtype=np.int64))
    if totals.initial + totals.harvested != totals.spent + totals.stored + totals.wasted + totals.lost:
        raise UserError("energy is missing: initial + harvested is not spent + stored + wasted + lost")
    if (totals.mains, totals.spent) != ((paid, 0) if played.mains_powered else (0, paid)):
        raise UserError("what the rounds cost does not add up to what was spent")
    if totals.stored != int(final.sum(dtype=np.int64)):
        raise UserError("final_energy does not add up to what is stored")
    if played.energy is not None:
        began = int(played.energy[0].sum(dtype=np.int64))
        if began != totals.initial or not np.array_equal(played.energy[-1], final):
            raise UserError("energy does not begin with what there was, or end with what is left")
