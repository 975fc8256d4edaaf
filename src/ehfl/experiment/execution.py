"""One run, from its spec to its folder; what a worker process does."""

from __future__ import annotations

import os
import signal
import threading
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from ehfl.experiment.building import fleet_of, partitioner_of, policy_of, steps_of
from ehfl.experiment.inputs import Inputs, check_inputs
from ehfl.experiment.run_folder import RunFolder, about_here, now
from ehfl.experiment.spec import Spec
from ehfl.files import sole_use
from ehfl.scheduling import simulate
from ehfl.validation import UserError, one_line

if TYPE_CHECKING:
    from ehfl.learning import Task

_KEPT_LEVELS = 2_000_000  # battery levels (clients x rounds) that are kept for the figures
_PATIENCE = 5.0  # for a worker whose parent was killed to notice it [s]


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    arm: str
    seed: int
    error: str | None = None  # one line; the whole story is in meta.json


def execute(run: Spec, experiment: Path, threads: int, inputs: Inputs) -> Outcome:
    """Play and train a single run in its folder; whatever goes wrong is told, not raised."""
    folder = RunFolder.of(run, experiment)
    try:
        folder.path.mkdir(parents=True, exist_ok=True)
        with sole_use(folder.path, _PATIENCE):
            folder.claim(run)
            check_inputs(folder, inputs)
            if not folder.finished:
                _try(run, folder, threads, inputs)
    except Exception as error:  # one arm's failure must not stop the others
        nameless = isinstance(error, OSError) and not error.filename
        return Outcome(run.arm.label, run.seed, f"{folder.path}: {one_line(error)}" if nameless else one_line(error))
    return Outcome(run.arm.label, run.seed)


def _try(run: Spec, folder: RunFolder, threads: int, inputs: Inputs) -> None:
    """Do the work; a failure is put down in the folder, with its whole story, before it goes on its way."""
    before = folder.meta()
    threads = before.get("threads", threads)  # a run that goes on keeps to the bits that it began with
    first = about_here() | {"started": now()} | before  # what was told when the run began stays
    folder.tell(**first | {"threads": threads, "inputs": inputs, "status": "running", "error": None, "traceback": None})
    try:
        _work(run, folder, threads)
    except Exception as error:
        with suppress(OSError, UserError):  # a full disk takes no explanation either; the line goes to the terminal
            folder.tell(status="failed", error=one_line(error), traceback=traceback.format_exception(error))
        raise


def _work(run: Spec, folder: RunFolder, threads: int) -> None:
    from ehfl.learning import train
    from ehfl.learning.device import thread_limit

    task, fleet = _loaded(run.learning.task, run.learning.data), fleet_of(run)
    kept = fleet.clients * run.rounds <= _KEPT_LEVELS
    played = simulate(fleet, policy_of(run, run.arm), run.rounds, run.seed, record_energy=kept, threads=1)
    played.save(folder.participation)
    with thread_limit(threads):
        train(
            task,
            played,
            local_steps=run.learning.local_steps,
            batch_size=run.learning.batch_size,
            step_size=steps_of(run, run.arm),
            weighted=run.learning.weighted,
            clip=run.learning.clip,
            weight_decay=run.learning.weight_decay,
            partition=partitioner_of(run),
            seed=run.seed,
            eval_every=run.evaluation.every,
            device=run.learning.device,
            run_dir=folder.path,
        )
    metric = {"name": task.metric_name, "lower_is_better": getattr(task, "lower_is_better", False)}
    folder.tell(status="finished", metric=metric)


@lru_cache(maxsize=1)
def _loaded(task: str, data: str | None) -> Task:
    from ehfl.learning import load_task

    return load_task(task, data)


def serve(parent: int) -> None:
    """Begin a worker process: leave Ctrl-C to the parent, and end with it; a run can be killed at any instant.

    The parent says who it is: killed early, it is gone before a worker could ask.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(0.2)
    os._exit(1)
