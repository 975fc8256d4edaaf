"""Trials on devices made by hand: a text a round, a letter a client. No training."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ehfl.analysis import Trial
from ehfl.energy import EnergyTotals
from ehfl.runs import Devices, Record
from ehfl.scheduling import SCHEDULERS, Participation

SILENT, NAN = "no reply in 30 s", "its update is not finite"
_LOST = {"S": SILENT, "N": NAN}


def device_trial(
    rounds: Sequence[str], arm: str = "greedy", seed: int = 0, *, mains: bool = False, level: int = 3
) -> Trial:
    """Return a trial: T took part, S stayed silent when asked, N sent NaN, o was online and not asked, . was dark.

    Each turn costs one unit, lost ones too, which the server hears of when the client next answers or trains. All
    report `level`, less 1 for each of their turns so far, at least 0; accuracy rises by 0.1 a round.
    """
    seen = _seen(rounds, level)
    records = [
        Record(t, len(one.took_part), 0.1, 0.5 if one.took_part else None, 0.9 - 0.1 * t, 0.1 + 0.1 * t, devices=one)
        for t, one in enumerate(seen)
    ]
    return Trial(arm, seed, _played(seen, mains), records, scheduler=arm if arm in SCHEDULERS.members else "")


def _seen(rounds: Sequence[str], level: int) -> list[Devices]:
    found: list[Devices] = []
    turns, told = [0] * len(rounds[0]), [0] * len(rounds[0])
    for letters in rounds:
        energy = tuple(None if letter == "." else max(level - turns[i], 0) for i, letter in enumerate(letters))
        for client, letter in enumerate(letters):
            told[client] = told[client] if letter == "." else turns[client]
            turns[client] += letter in "TSN"
            told[client] = turns[client] if letter == "T" else told[client]
        lost = {client: _LOST[letter] for client, letter in enumerate(letters) if letter in _LOST}
        asked = tuple(client for client, letter in enumerate(letters) if letter in "TSN")
        found.append(Devices(energy, asked, lost, tuple(told)))
    return found


def _played(seen: Sequence[Devices], mains: bool) -> Participation:
    took_part = [one.took_part for one in seen]
    known = np.zeros((len(seen) + 1, len(seen[0].energy)), dtype=np.int32)  # the last levels that were heard of
    for t, one in enumerate(seen):
        known[t] = [known[t - 1, i] if level is None else level for i, level in enumerate(one.energy)]
        known[t + 1] = known[t]
    spent = np.diff([sum(one.spent) for one in seen], prepend=0)  # a payment counts when the server hears of it
    first, stored, total = int(known[0].sum()), int(known[-1].sum()), int(spent.sum())
    paid = 0 if mains else total
    return Participation(
        n_clients=known.shape[1],
        offsets=np.cumsum([0, *map(len, took_part)], dtype=np.int32),
        participants=np.array([client for clients in took_part for client in clients], dtype=np.int32),
        spent=spent,
        final_energy=known[-1],
        totals=EnergyTotals(first, stored + paid, paid, stored, first, total - paid),
        target=2,
        scheduler="ByHand()",
        seed=0,
        mains_powered=mains,
        energy=known,
    )
