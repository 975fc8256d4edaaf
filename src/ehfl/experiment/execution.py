"""One run, from its spec to its folder."""

from __future__ import annotations

import json
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ehfl import own_code
from ehfl.experiment import building
from ehfl.experiment.claim import claimed
from ehfl.experiment.inputs import Inputs, check_inputs, check_still
from ehfl.experiment.provenance import about_here, now
from ehfl.experiment.reading import write_spec
from ehfl.experiment.spec import Run, Setting
from ehfl.files import InUse, sole_use
from ehfl.run_folder import OtherRun, RunFolder
from ehfl.scheduling import Lockstep, Participation, simulate, wants_losses
from ehfl.validation import FAILURES, UserError, one_line

if TYPE_CHECKING:
    from ehfl.history import History
    from ehfl.learning import Task, Training
    from ehfl.learning.training import OnRound

    Play = Callable[[Run, "Threads", RunFolder, OnRound | None], History]  # plays the rounds of a run, in its folder

_KEPT_LEVELS = 2_000_000  # battery levels (clients x rounds) that are kept for the figures
PATIENCE_SECONDS = 5.0  # a worker whose parent was killed needs a moment to notice and leave its folder


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    arm: str
    seed: int
    error: str | None = None  # one line; meta.json has the traceback


@dataclass(frozen=True, slots=True)
class Threads:
    """How many threads of torch a run may have: at most so many, or, where somebody asked for it, exactly."""

    most: int
    exactly: bool = False

    def for_model(self, n_parameters: int) -> int:
        """Return how many a model of that size is trained on."""
        from ehfl.learning.device import pick_threads

        return pick_threads(self.most if self.exactly else None, n_parameters, self.most)


def execute(
    run: Run,
    folder: RunFolder,
    threads: Threads,
    inputs: Inputs,
    on_round: OnRound | None = None,
    play: Play | None = None,
    *,
    patience: float = PATIENCE_SECONDS,
) -> Outcome:
    """Play and train a single run in its folder; what goes wrong is returned as one line, not raised.

    `play` plays the rounds on devices; unless given, `run_training` plays them in this process. A process that is in
    the folder has `patience` seconds to leave it.
    """
    try:
        folder.path.mkdir(parents=True, exist_ok=True)
        with sole_use(folder.path, patience), own_code.held(run.spec.code):
            facts = run.facts()
            # Looked at once more under the lock: another process may have been here since the runner looked.
            folder.check_free_for(facts)
            check_inputs(folder, inputs)
            folder.write_spec(write_spec(facts))
            if folder.finished:
                folder.check_untouched(folder.meta())
            else:
                check_still(run, inputs, data=loaded_task(run.setting)[1])
                _work(run, folder, threads, inputs, on_round, play)
    except FAILURES as error:  # one arm's failure must not stop the others
        return Outcome(run.arm.label, run.seed, one_line(error))
    return Outcome(run.arm.label, run.seed)


def _work(
    run: Run, folder: RunFolder, threads: Threads, inputs: Inputs, on_round: OnRound | None, play: Play | None
) -> None:
    """Do the work; a failure is written into meta.json, with its traceback, before it goes on its way."""
    where = check_clients(folder, on_devices=play is not None)
    before = folder.meta()
    if "threads" in before:  # a resumed run keeps its number of threads, which decides the last bits
        threads = Threads(before["threads"], before.get("threads_exactly", False))
    beginning = about_here() | {"started": now()} | before  # a resumed run keeps where and when it began
    state = {"clients": where, "inputs": inputs, "status": "running", "error": None, "traceback": None}
    claim = claimed(folder, **beginning | {"threads": threads.most, "threads_exactly": threads.exactly} | state)
    try:
        history = (play or run_training)(run, threads, folder, claim.watching(on_round))
        claim.check()
    except InUse:  # whoever has the run now says how it ends
        raise
    except FAILURES as error:
        with suppress(OSError, UserError):  # a full disk may have no room for the reason either
            folder.add_meta(status="failed", error=one_line(error), traceback=traceback.format_exception(error))
        raise
    folder.finish(history)


def check_clients(folder: RunFolder, *, on_devices: bool) -> str:
    """Return where a run's clients are, as meta.json has it; refuse a run that was begun with them elsewhere."""
    where = "on devices" if on_devices else "in process"
    begun = folder.meta().get("clients", where)
    if begun != where:
        remedy = "delete the folder to run it again, or give this spec another name"
        raise OtherRun(f"{folder.path} was begun with its clients {begun}, not {where}: {remedy}")
    return where


def run_training(
    run: Run, threads: Threads, folder: RunFolder | None = None, on_round: OnRound | None = None
) -> History:
    """Return the history of a run, in a folder or in memory; the folder must be this process's own."""
    # Participation does not depend on learning, so it is played whole and kept before anything is trained.
    played = played_by(run)
    if folder is not None and isinstance(played, Participation):
        played.save(folder.participation)
    # A small model is trained on one thread whatever its share of cores: more would only get in each other's way.
    training = training_of(run, played)
    if folder is not None:
        keep_chances(run.setting, folder)
    path = None if folder is None else folder.path
    history = training.run(threads.for_model(training.n_parameters), path, on_round=on_round)
    # In lockstep who took part is known only now; until then rounds.jsonl holds what a resumed run needs.
    if folder is not None and isinstance(played, Lockstep):
        history.participation.save(folder.participation)
    return history


def played_by(run: Run) -> Participation | Lockstep:
    """Return who takes part when; still to be decided, in lockstep with learning, if the scheduler wants losses."""
    setting = run.setting
    fleet, scheduler = building.fleet_of(setting), building.scheduler_of(setting)
    target, kept = building.target_of(setting), fleet.clients * setting.rounds <= _KEPT_LEVELS
    if wants_losses(scheduler):
        return Lockstep(fleet, scheduler, setting.rounds, run.seed, target, record_energy=kept)
    return simulate(fleet, scheduler, setting.rounds, run.seed, target=target, record_energy=kept, threads=1)


def keep_chances(setting: Setting, folder: RunFolder) -> None:
    """Put the probabilities that a run is trained with into meta.json, where its aggregation wants any."""
    if building.wants_chances(setting):
        found = building.chances_of(setting)
        how = {"exact": found.exact, "seeds": found.seeds, "relative_error": found.relative_error}
        folder.add_meta(probabilities=how | {"values": found.turns.tolist()})


def training_of(run: Run, played: Participation | Lockstep) -> Training:
    """Return a run that is ready to be trained."""
    from ehfl.learning import training_in_process

    setting = run.setting
    return training_in_process(
        loaded_task(setting)[0],
        played,
        rule=building.local_sgd_of(setting),
        step_size=building.step_size_rule_of(setting),
        aggregation=building.aggregation_of(setting),
        partition=building.partition_of(setting),
        seed=run.seed,
        eval_every=setting.evaluation.every,
        device=setting.learning.device,
        identity=run.identity(),  # so that a checkpoint and the folder's spec.toml are known by the same facts
    )


# The last task and the fingerprint of its data, by what names it: the runs of a worker mostly share one.
_last_task: dict[str, tuple[Task, str]] = {}


def loaded_task(setting: Setting) -> tuple[Task, str]:
    """Return the task of a setting, its data read, and their fingerprint; the last one is kept."""
    from ehfl.learning import data_digest

    # By what names it, not by the setting: arms that differ in anything else share a task.
    key = json.dumps([setting.learning.task, setting.learning.data], sort_keys=True)
    if key not in _last_task:
        _last_task.clear()
        task = building.task_of(setting)
        with building.users_own("learning.task", "one with examples to train on and to test with"):
            _last_task[key] = task, data_digest(task)
    return _last_task[key]


def forget_task() -> None:
    """Let the next task be read anew."""
    _last_task.clear()
