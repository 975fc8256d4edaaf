"""Known answers: who took part, every level and every total of 98 simulations, as commit b0f74f9 gave them.

The code of that commit was independent of what is tested here, and results that users published rest on it. A change
that makes one of these tests fail changes the participants of somebody's experiment: say so in CHANGELOG.md, or do not
make it. The digests are of arrays as 64-bit numbers, so that a smaller type alone changes nothing.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ehfl.energy import Bernoulli, Fleet, Replay
from ehfl.scheduling import SCHEDULERS, simulate

ANSWERS: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("known_answers.json").read_text())

# The arrivals of "replayed" come from a generator of NumPy's, whose stream NumPy keeps from release to release.
FLEETS = {
    "paper": Fleet(10, Bernoulli(0.5)),
    "one unit": Fleet(10, Bernoulli(0.5), capacity=1),
    "uneven": Fleet(12, Bernoulli(np.linspace(0.1, 0.9, 12)), capacity=4, initial=2, cost=2),
    "own start": Fleet(6, Bernoulli(0.3), capacity=7, initial=[0, 1, 2, 3, 4, 5]),
    "replayed": Fleet(5, Replay(np.random.default_rng(1).integers(0, 4, (60, 5))), capacity=6, cost=3),
    "large": Fleet(9000, Bernoulli(0.4), capacity=3, initial=1),
    "large uneven": Fleet(5000, Bernoulli(np.linspace(0.0, 1.0, 5000)), cost=2),
}


def digest(*arrays: NDArray[np.generic]) -> str:
    found = hashlib.sha256()
    for array in arrays:
        found.update(f"{array.shape}".encode() + np.ascontiguousarray(array).astype(np.int64).tobytes())
    return found.hexdigest()[:16]


@pytest.mark.parametrize("case", ANSWERS)
def test_participants_levels_and_totals_are_those_of_before(case: str) -> None:
    name, scheduler, target = case.split(" | ")
    fleet = FLEETS[name]
    wanted = None if target == "auto" else int(target)
    played = simulate(fleet, SCHEDULERS.make(scheduler), 60, 7, target=wanted, record_energy=fleet.clients < 100)

    totals = played.totals
    assert {
        "participants": digest(played.offsets, played.indices),
        "final": digest(played.final_energy),
        "levels": None if played.energy is None else digest(played.energy),
        "totals": [totals.initial, totals.harvested, totals.spent, totals.stored, totals.wasted, totals.mains],
        "sustainable": fleet.sustainable,
    } == ANSWERS[case]
    assert played.target == (wanted or fleet.sustainable)
    assert played.spent.sum() == totals.spent + totals.mains


def test_the_answers_are_to_every_question() -> None:
    """A file that lost its lines would test nothing."""
    schedulers = {case.split(" | ")[1] for case in ANSWERS}

    assert len(ANSWERS) == len(FLEETS) * 7 * 2
    assert schedulers == {
        "myopic", "myopic:3", "greedy", "round-robin", "round-robin:1", "uniform-random", "always-on"
    }  # fmt: skip
