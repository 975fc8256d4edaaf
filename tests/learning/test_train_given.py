"""What may be given to `train`: names, tables and things alike; what may not is refused in one line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ehfl import Participation
from ehfl.learning import Mean, Task, Weighted, load_task, train
from ehfl.partition import Iid, Shards
from ehfl.theory import Constant
from ehfl.validation import InvalidValue

QUICK: dict[str, Any] = {"local_steps": 2, "batch_size": 8, "eval_every": 3, "checkpoint_every": 2, "device": "cpu"}
STEPS = "a number in [0, 1e30] for each round (8)"


@pytest.mark.parametrize(
    ("names", "things"),
    [
        ({"partition": "iid"}, {"partition": Iid()}),
        ({"partition": "shards:3"}, {"partition": {"name": "shards", "num_shards_per_partition": 3}}),
        ({"partition": {"name": "shards"}}, {"partition": Shards()}),
        ({"aggregation": "mean"}, {"aggregation": Mean()}),
        ({"aggregation": {"name": "weighted"}, "partition": "dirichlet:0.5"},
         {"aggregation": Weighted(), "partition": "dirichlet:alpha=0.5"}),
        ({"step_size": 0.1}, {"step_size": Constant(0.1)}),
        ({"step_size": {"name": "nominal", "initial": 0.3}}, {"step_size": "nominal:0.3"}),
    ],
)  # fmt: skip
def test_names_tables_and_things_are_the_same_run(
    blobs: Task, gaps: Participation, names: dict[str, Any], things: dict[str, Any]
) -> None:
    named, given = (train(blobs, gaps, **QUICK | options) for options in (names, things))

    assert named.records == given.records
    assert named.weights.tobytes() == given.weights.tobytes()


def test_a_task_is_known_by_its_name_too(gaps: Participation) -> None:
    named, given = (train(task, gaps, **QUICK) for task in ("digits", load_task("digits")))

    assert named.weights.tobytes() == given.weights.tobytes()
    assert named.metric.name == "accuracy"


def test_other_choices_are_another_run(blobs: Task, gaps: Participation) -> None:
    """Else the names above could all be ignored."""
    changes: list[dict[str, Any]] = [
        {}, {"partition": "shards"}, {"partition": "dirichlet:0.5"}, {"step_size": 0.1}, {"seed": 1}, {"clip": 0.1},
        {"partition": "dirichlet:0.5", "aggregation": "weighted"}, {"weight_decay": 0.1}, {"local_steps": 1},
    ]  # fmt: skip

    assert len({train(blobs, gaps, **QUICK | change).weights.tobytes() for change in changes}) == len(changes)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"step_size": "nominl"}, "step_size must be one of theorem, .* got nominl (did you mean nominal?)"),
        ({"step_size": -1.0}, "step_size must be a number in [1e-30, 1e30], got -1.0"),
        ({"step_size": lambda counts: np.ones(3)}, f"step_size must be {STEPS}, got shape (3,)"),
        ({"step_size": lambda counts: np.full(8, np.nan)}, f"step_size must be {STEPS}, got nan in round 0"),
        ({"step_size": lambda counts: [0.1] * 7 + [-0.1]}, f"step_size must be {STEPS}, got -0.1 in round 7"),
        ({"step_size": lambda counts: np.full(8, 1e300)}, f"step_size must be {STEPS}, got 1e+300 in round 0"),
        ({"step_size": lambda counts: ["small"] * 8}, f"step_size must be {STEPS}, got an array of <U5 and shape (8,)"),
        ({"aggregation": "men"}, "aggregation must be one of mean, .* got men (did you mean mean?)"),
        ({"aggregation": {"name": "mean", "mu": 1}}, "aggregation.mu must be a parameter of mean, .* got mu"),
        ({"partition": "idd"}, "partition must be one of iid, .* got idd (did you mean iid?)"),
        ({"partition": "dirichlet"}, "partition.alpha must be given: dirichlet needs it, got nothing"),
        ({"partition": "dirichlet:-1"}, "partition.alpha must be a number in (0, 1e9], got -1"),
        ({"partition": 3}, "partition must be .*, got 3 without partition"),
        ({"clip": "small"}, "clip must be a number in [1e-30, 1e30] or None, got 'small'"),
        ({"clip": -1}, "clip must be a number in [1e-30, 1e30] or None, got -1"),
        ({"weight_decay": None}, "weight_decay must be a number in [0, 1e30], got None"),
        ({"batch_size": "8"}, "batch_size must be a whole number >= 1, got '8'"),
        ({"device": 3}, "device must be one of auto, cpu, cuda, mps, got 3"),
        ({"step_size": None}, "step_size must be .* got None.*"),
        ({"seed": "0"}, "seed must be a whole number in .* got '0'"),
        ({"device": "tpu"}, "device must be one of auto, cpu, cuda, mps, got tpu"),
        ({"eval_every": 0}, "eval_every must be a whole number >= 1, got 0"),
        ({"checkpoint_every": 0}, "checkpoint_every must be a whole number >= 1, got 0"),
        ({"workers": 0}, "workers must be a whole number .*, got 0"),
        ({"local_steps": 0}, "local_steps must be a whole number >= 1, got 0"),
        ({"seed": -1}, "seed must be a whole number in .*, got -1"),
    ],
)
def test_bad_input_is_refused_in_one_line(
    blobs: Task, gaps: Participation, wrong: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(message).replace(re.escape('.*'), '.*')}$"):
        train(blobs, gaps, **QUICK | wrong)


@pytest.mark.parametrize(
    ("task", "message"),
    [("digit", r"task must be one of digits, .* got digit \(did you mean digits\?\)"),
     (3, "task must be .*, got 3 without name")],
)  # fmt: skip
def test_a_task_that_is_none_is_refused_in_one_line(gaps: Participation, task: Any, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        train(task, gaps, **QUICK)


@pytest.mark.parametrize("played", [None, "myopic", [[0, 1], [1]], 3])
def test_a_participation_that_is_none_is_refused_in_one_line(blobs: Task, played: Any) -> None:
    with pytest.raises(InvalidValue, match=r"^participation must be .* simulate returned, or a Lockstep, got "):
        train(blobs, played, **QUICK)


def test_numpy_numbers_are_as_good_as_pythons(blobs: Task, gaps: Participation, tmp_path: Path) -> None:
    given: dict[str, Any] = {"local_steps": np.int64(2), "batch_size": np.int32(8), "clip": np.float32(0.5)}

    found = train(blobs, gaps, **QUICK | given, run_dir=tmp_path / "numpy")

    plain = train(blobs, gaps, **QUICK | {"clip": 0.5}, run_dir=tmp_path / "python")
    assert found.weights.tobytes() == plain.weights.tobytes()
