"""`train`: from what a user names to a run, in memory or in a folder."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ehfl.files import sole_use
from ehfl.history import History
from ehfl.learning.aggregation import AGGREGATIONS, Aggregation
from ehfl.learning.device import pick_threads
from ehfl.learning.in_process import training_in_process
from ehfl.learning.local_sgd import LocalSgd
from ehfl.learning.tasks import TASKS, Task
from ehfl.learning.training import OnRound
from ehfl.partition import PARTITIONS, Partition
from ehfl.scheduling import Lockstep, Participation
from ehfl.theory import StepSize, step_size_of
from ehfl.validation import check_function, path_of, whole_number


def train(
    task: Task | str,
    participation: Participation | Lockstep,
    *,
    local_steps: int = 5,
    batch_size: int = 50,
    clip: float | None = None,
    weight_decay: float = 0.0,
    step_size: str | float | Mapping[str, Any] | StepSize = "nominal",
    aggregation: str | Mapping[str, Any] | Aggregation = "mean",
    partition: str | Mapping[str, Any] | Partition = "iid",
    seed: int = 0,
    eval_every: int = 10,
    device: str = "auto",
    threads: int | None = None,
    run_dir: str | os.PathLike[str] | None = None,
    checkpoint_every: int = 10,
    on_round: OnRound | None = None,
) -> History:
    """Return the history of local SGD on the task, with the participants of each round as given.

    A `Lockstep` in the place of a participation is decided while it is trained. `step_size`, `aggregation` and
    `partition` are names, tables of a name and parameters, or things of your own; a number is a constant step. The
    model is evaluated before the first round, after every `eval_every` rounds and after the last. With a `run_dir`,
    rounds go to rounds.jsonl and the model to checkpoints; a run that was killed goes on from there when called again,
    and ends with the same bits on the same machine, device and number of threads. Without one, nothing is written.

    >>> from ehfl import AlwaysOn, Bernoulli, Fleet, simulate
    >>> mains = simulate(Fleet(clients=4, harvest=Bernoulli(0.5)), AlwaysOn(2), rounds=20)
    >>> history = train("quadratic", mains, step_size=0.1)
    >>> history.records[-1].test_loss < 0.3
    True
    """
    whole_number("checkpoint_every", checkpoint_every, low=1)
    check_function("on_round", on_round)
    training = training_in_process(
        TASKS.make(task),
        participation,
        rule=LocalSgd(local_steps, batch_size, clip, weight_decay),
        step_size=step_size_of(step_size),
        aggregation=AGGREGATIONS.make(aggregation),
        partition=PARTITIONS.make(partition),
        seed=seed,
        eval_every=eval_every,
        device=device,
    )
    threads = pick_threads(threads, training.n_parameters)
    if run_dir is None:
        return training.run(threads, on_round=on_round)
    folder = path_of("run_dir", run_dir)
    folder.mkdir(parents=True, exist_ok=True)
    with sole_use(folder):
        return training.run(threads, folder, checkpoint_every=checkpoint_every, on_round=on_round)
