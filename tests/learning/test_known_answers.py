"""Known answers: step sizes, losses, metrics and the model of six trainings, as commit b0f74f9 gave them.

The code of that commit was independent of what is tested here, and results that users published rest on it. A change
that makes one of these tests fail changes somebody's results: say so in CHANGELOG.md, or do not make it.

Every number is compared with a tolerance, since float32 kernels round differently on another processor or with another
torch. One rounding is at most u = 2^-24, relative. The longest sum of a step, the gradient of the second convolution,
has 50 x 16 = 800 terms, and a training has up to 20 x 5 = 100 steps. Roundings are independent enough to add up like a
random walk, so TOLERANCE = sqrt(800 x 100) u = 1.7e-5. (Measured under `make test-processors`: at most 5e-7.) The
model is compared by its length and by projections on fixed vectors with entries in [-1, 1], up to TOLERANCE times its
length. At most one of the 360 test images may change sides. Participants are integers, and equal everywhere.
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ehfl import SCHEDULERS, Bernoulli, Fleet, Lockstep, simulate
from ehfl.learning import train
from ehfl.partition import PARTITIONS, InLabelOrder
from ehfl.runs import History

ANSWERS: dict[str, dict[str, Any]] = json.loads(Path(__file__).with_name("known_answers.json").read_text())
CASES: dict[str, dict[str, Any]] = {
    "digits nominal": {"task": "digits", "rounds": 12, "step_size": "nominal"},
    "digits linear weighted dirichlet": {
        "task": "digits", "rounds": 8, "step_size": "linear", "partition": "dirichlet:0.5", "aggregation": "weighted"
    },
    "digits clipped shards by label": {
        "task": "digits", "rounds": 8, "step_size": "constant", "partition": InLabelOrder(PARTITIONS.make("shards:2")),
        "clip": 0.5, "weight_decay": 0.01, "local_steps": 2, "batch_size": 20,
    },
    "quadratic theorem": {"task": "quadratic", "rounds": 20, "step_size": "theorem", "local_steps": 1},
    "quadratic causal weighted": {
        "task": "quadratic", "rounds": 20, "step_size": "nominal-causal", "aggregation": "weighted"
    },
    "wells linear causal": {"task": "wells", "rounds": 20, "step_size": "linear-causal", "scheduler": "greedy"},
}  # fmt: skip
FLEET = Fleet(10, Bernoulli(0.5))
TOLERANCE = math.sqrt(800 * 100) * 2**-24
FREQUENCIES = (0.0, 0.7, 1.3, 2.9)  # of the vectors that models are projected on


def trained(name: str, lockstep: bool = False) -> History:
    case = dict(CASES[name])
    task, rounds = case.pop("task"), case.pop("rounds")
    scheduler = SCHEDULERS.make(case.pop("scheduler", "myopic"))
    plan = Lockstep(FLEET, scheduler, rounds, seed=3) if lockstep else simulate(FLEET, scheduler, rounds, seed=3)
    return train(task, plan, seed=3, eval_every=4, workers=1, device="cpu", **case)


def answer(history: History) -> dict[str, Any]:
    """Return what is compared, in the form of the file."""
    weights = history.weights.astype(np.float64)
    waves = np.cos(np.multiply.outer(FREQUENCIES, np.arange(weights.size)))
    return {
        "length": float(np.linalg.norm(weights)),
        "projections": (waves @ weights).tolist(),
        "records": [
            [r.round, r.participants, r.step_size, r.train_loss, r.test_loss, r.test_metric] for r in history.records
        ],
    }


def agree(found: dict[str, Any], known: dict[str, Any], metric_tolerance: float) -> bool:
    """Return whether two answers are the same but for rounding."""
    models = zip([found["length"], *found["projections"]], [known["length"], *known["projections"]], strict=True)
    tolerances = [  # (relative, absolute) of each entry of a record
        (0.0, 0.0),
        (0.0, 0.0),
        (1e-12, 0.0),  # step sizes are computed in float64
        (TOLERANCE, 0.0),
        (TOLERANCE, 0.0),
        (TOLERANCE, metric_tolerance),
    ]
    return all(abs(a - b) <= TOLERANCE * known["length"] for a, b in models) and all(
        (a is None) == (b is None) and (a is None or math.isclose(a, b, rel_tol=relative, abs_tol=absolute))
        for ours, theirs in zip(found["records"], known["records"], strict=True)
        for a, b, (relative, absolute) in zip(ours, theirs, tolerances, strict=True)
    )


@pytest.mark.parametrize("name", CASES)
def test_steps_losses_metrics_and_model_are_those_of_before(name: str) -> None:
    metric_tolerance = 1.01 / 360 if name.startswith("digits") else 0.0

    assert agree(answer(trained(name)), ANSWERS[name], metric_tolerance)


@pytest.mark.parametrize("name", [name for name in CASES if "causal" in name or "theorem" in name])
def test_decided_in_lockstep_they_are_the_same(name: str) -> None:
    """Bit for bit, since both are computed in this process."""
    assert answer(trained(name, lockstep=True)) == answer(trained(name))


def test_the_answers_are_to_every_question_and_tell_differences() -> None:
    """A file that lost its lines, or a tolerance too wide, would test nothing."""
    assert ANSWERS.keys() == CASES.keys()
    for name, known in ANSWERS.items():
        assert len(known["records"]) == CASES[name]["rounds"]
        assert agree(known, known, 0.0)
        for column in (2, 3, 4):  # step size, training loss, test loss
            other = json.loads(json.dumps(known))
            other["records"][7][column] *= 1.0001
            assert not agree(other, known, 0.01)
        for index in range(len(FREQUENCIES)):
            other = json.loads(json.dumps(known))
            other["projections"][index] += 1e-4 * known["length"]
            assert not agree(other, known, 0.01)
        assert not agree(known | {"length": known["length"] * 1.0001}, known, 0.01)
