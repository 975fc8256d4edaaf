"""Known answers: step sizes, losses, metrics and the model of six trainings, as commit b0f74f9 gave them.

The code of that commit was independent of what is tested here, and results that users published rest on it. A change
that makes one of these tests fail changes somebody's results: say so in CHANGELOG.md, or do not make it.

Float32 kernels (products, convolutions, exponentials) round otherwise on another processor or with another torch. So
the file holds the digest of a canary, a small computation that uses the same kernels and nothing of ehfl. Where the
canary gives the same digest, every number and every bit of the model must be equal but for test losses and metrics:
these were means over chunks of 200 examples then and are computed on the whole test set now. Its float32 sum is rounded
otherwise, about log2(360) = 9 times by at most 2^-24 each, so 1e-6 is wide enough; accuracy differs by one rounding of
a float64. Elsewhere numbers must agree to 1e-4, as must the length of the model, and at most one of the 360 test images
may be judged otherwise.
"""

from __future__ import annotations

import hashlib
import json
import math
import platform
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from ehfl import SCHEDULERS, Bernoulli, Fleet, Lockstep, simulate
from ehfl.learning import History, train
from ehfl.learning.device import thread_limit
from ehfl.partition import PARTITIONS, InLabelOrder

KNOWN: dict[str, Any] = json.loads(Path(__file__).with_name("known_answers.json").read_text())
ANSWERS: dict[str, dict[str, Any]] = KNOWN["training"]
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
TOLERANCE = 1e-4


def canary() -> str:
    """Return the digest of values and gradients that the digits' network and the problems are made of."""

    def made(*shape: int) -> Tensor:  # fixed numbers in (-1, 1), without any generator
        return ((torch.arange(math.prod(shape)) * 7919 % 2003).double() / 1001.5 - 1).float().view(shape)

    digest = hashlib.sha256()
    for batch in (20, 50, 160, 200):  # of training and of evaluation
        weights = [made(16, 1, 3, 3), made(32, 16, 3, 3), made(10, 128) / 4]
        leaves = [weight.requires_grad_() for weight in weights]
        hidden = torch.relu(torch.conv2d(made(batch, 1, 8, 8), leaves[0], padding=1, stride=2))
        hidden = torch.relu(torch.conv2d(hidden, leaves[1], padding=1, stride=2))
        outputs = torch.nn.functional.linear(hidden.flatten(1), leaves[2])
        loss = torch.nn.functional.cross_entropy(outputs, torch.arange(batch) % 10)
        point = made(20).requires_grad_()
        slope = torch.autograd.grad((made(batch, 20) @ point).mean(), point)
        for value in (loss, *torch.autograd.grad(loss, leaves), *slope):
            digest.update(value.detach().numpy().tobytes())
    return digest.hexdigest()[:16]


@pytest.fixture(scope="module")
def same_kernels() -> bool:
    with thread_limit(1):  # whatever other tests of this process have set
        return bool(canary() == KNOWN["kernels"]["canary"])


def trained(name: str, lockstep: bool = False) -> History:
    case = dict(CASES[name])
    task, rounds = case.pop("task"), case.pop("rounds")
    scheduler = SCHEDULERS.make(case.pop("scheduler", "myopic"))
    plan = Lockstep(FLEET, scheduler, rounds, seed=3) if lockstep else simulate(FLEET, scheduler, rounds, seed=3)
    return train(task, plan, seed=3, eval_every=4, threads=1, device="cpu", **case)


def answer(history: History) -> dict[str, Any]:
    """Return what is compared, in the form of the file."""
    return {
        "weights": hashlib.sha256(history.weights.tobytes()).hexdigest()[:16],
        "length": float(np.linalg.norm(history.weights.astype(np.float64))),
        "records": [
            [r.round, r.participants, r.step_size, r.train_loss, r.test_loss, r.test_metric] for r in history.records
        ],
    }


def same(found: dict[str, Any], known: dict[str, Any]) -> bool:
    """Return whether two answers are equal, test losses and metrics up to their rounding over chunks."""
    rounded = [
        (a is None) == (b is None) and (a is None or math.isclose(a, b, rel_tol=tolerance))
        for ours, theirs in zip(found["records"], known["records"], strict=True)
        for a, b, tolerance in zip(ours[4:], theirs[4:], (1e-6, 1e-15), strict=True)
    ]
    exact = [one | {"records": [record[:4] for record in one["records"]]} for one in (found, known)]
    return exact[0] == exact[1] and all(rounded)


def agree(found: dict[str, Any], known: dict[str, Any], metric_tolerance: float) -> bool:
    """Return whether two answers are the same but for rounding."""
    tolerances = [
        (0.0, 0.0),
        (0.0, 0.0),
        (1e-12, 0.0),
        (TOLERANCE, 0.0),
        (TOLERANCE, 0.0),
        (TOLERANCE, metric_tolerance),
    ]
    return math.isclose(found["length"], known["length"], rel_tol=TOLERANCE) and all(
        (a is None) == (b is None) and (a is None or math.isclose(a, b, rel_tol=relative, abs_tol=absolute))
        for ours, theirs in zip(found["records"], known["records"], strict=True)
        for a, b, (relative, absolute) in zip(ours, theirs, tolerances, strict=True)
    )


@pytest.mark.parametrize("name", CASES)
def test_steps_losses_metrics_and_model_are_those_of_before(name: str, same_kernels: bool) -> None:
    found = answer(trained(name))

    assert agree(found, ANSWERS[name], metric_tolerance=1.01 / 360 if name.startswith("digits") else 1e-6)
    if same_kernels:
        assert same(found, ANSWERS[name])


@pytest.mark.parametrize("name", [name for name in CASES if "causal" in name or "theorem" in name])
def test_decided_in_lockstep_they_are_the_same(name: str, same_kernels: bool) -> None:
    found = answer(trained(name, lockstep=True))

    assert agree(found, ANSWERS[name], metric_tolerance=1e-6)
    if same_kernels:
        assert same(found, ANSWERS[name])


def this_machine() -> dict[str, str]:
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.exists() else []
    processor = next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), "")
    capability = torch.backends.cpu.get_cpu_capability()
    return {"machine": platform.machine(), "processor": processor, "capability": capability, "torch": torch.__version__}


def test_where_the_canary_was_recorded_it_holds(same_kernels: bool) -> None:
    """Else a canary that was changed would turn every exact comparison into a rough one, unnoticed."""
    recorded, here = KNOWN["kernels"], this_machine()

    if here.items() <= recorded.items():
        assert same_kernels, "the canary was changed, or an environment variable chooses other kernels"
    elif not same_kernels:
        pytest.skip(f"compared to {TOLERANCE} alone: recorded on {recorded}, this is {here}")


def test_the_answers_are_to_every_question_and_tell_differences() -> None:
    """A file that lost its lines, or a tolerance too wide, would test nothing."""
    assert ANSWERS.keys() == CASES.keys()
    for name, known in ANSWERS.items():
        assert len(known["records"]) == CASES[name]["rounds"]
        assert agree(known, known, 0.0) and same(known, known)
        for column in (2, 3, 4):  # step size, training loss, test loss
            other = json.loads(json.dumps(known))
            other["records"][7][column] *= 1.001
            assert not agree(other, known, 0.01) and not same(other, known)
        assert not same(known | {"weights": "0"}, known)
        assert not agree(known | {"length": known["length"] * 1.001}, known, 0.01)
