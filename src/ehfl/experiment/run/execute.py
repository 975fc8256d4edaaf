"""One run, from its spec to its folder."""

from __future__ import annotations

import platform
import socket
import subprocess
import traceback
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import ehfl
from ehfl import user_code
from ehfl.experiment.play import World
from ehfl.experiment.run.folder import claimed, now
from ehfl.experiment.run.inputs import Inputs, check_inputs, check_still
from ehfl.experiment.spec import build
from ehfl.experiment.spec.models import Run, Setting
from ehfl.experiment.spec.read import write_spec
from ehfl.runs import CHECKPOINT, InUse, OtherRun, RunFolder, sole_use, write_sealed
from ehfl.scheduling import Lockstep, Participation
from ehfl.validation import FAILURES, UserError, one_line

if TYPE_CHECKING:
    from ehfl.learning import Training
    from ehfl.learning.training import OnRound
    from ehfl.runs import History

    Play = Callable[[Run, "Cores", RunFolder, OnRound | None], History]  # plays the rounds of a run, in its folder

ON_DEVICES = "on devices"  # where a run's clients are, in meta.json
_KEPT_LEVELS = 2_000_000  # battery levels (clients x rounds) that are kept for the figures
PATIENCE_SECONDS = 5.0  # a worker whose parent was killed needs a moment to notice and leave its folder


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a run ended."""

    arm: str
    seed: int
    error: str | None = None  # one line; meta.json has the traceback


@dataclass(frozen=True, slots=True)
class Cores:
    """How many workers a run may have: at most `most`, or the number that the user asked for."""

    most: int
    asked: int | None = None


def execute(
    run: Run,
    folder: RunFolder,
    threads: Cores,
    inputs: Inputs,
    on_round: Callable[..., object] | None = None,
    play: Play | None = None,
    *,
    patience: float = PATIENCE_SECONDS,
) -> Outcome:
    """Play and train a single run in its folder; errors are returned as one line, not raised.

    `play` plays the rounds on devices, `run_training` by default in this process. `on_round` is called after each
    round with as many of (record, model, run) as it takes. Another process in the folder has `patience` seconds to
    leave it.
    """
    try:
        folder.path.mkdir(parents=True, exist_ok=True)
        with sole_use(folder.path, patience), user_code.held(run.spec.code):
            facts = run.facts()
            # Checked again under the lock: another process may have been here since the runner checked.
            folder.check_free_for(facts)
            check_inputs(folder, inputs)
            finished = folder.finished_after(run.setting.rounds)
            write_sealed(folder.path, write_spec(facts))
            if finished:
                folder.check_untouched(folder.meta())
            else:
                check_still(run, inputs, data=build.load_task(run.setting)[1])
                _work(run, folder, threads, inputs, on_round, play)
    except FAILURES as error:  # one arm's failure must not stop the others
        return Outcome(run.arm.label, run.seed, one_line(error))
    return Outcome(run.arm.label, run.seed)


def _work(
    run: Run,
    folder: RunFolder,
    threads: Cores,
    inputs: Inputs,
    on_round: Callable[..., object] | None,
    play: Play | None,
) -> None:
    """Play the rounds; a failure is written into meta.json, with its traceback, and raised again."""
    where = check_clients(folder, on_devices=play is not None)
    before = folder.meta()
    beginning = about_here() | {"started": now()} | before  # a resumed run keeps where and when it began
    state = {"clients": where, "inputs": inputs, "status": "running", "error": None, "traceback": None}
    claim = claimed(folder, **beginning | state)
    try:
        history = (play or run_training)(run, threads, folder, claim.watching(run, on_round))
        claim.check()
    except InUse:  # the process that has the run now records how it ends
        raise
    except FAILURES as error:
        with suppress(OSError, UserError):  # on a full disk this fails too
            folder.add_meta(status="failed", error=one_line(error), traceback=traceback.format_exception(error))
        raise
    if len(history.records) < run.setting.rounds:
        why = f"on_round stopped it after {len(history.records)} of {run.setting.rounds} rounds"
        folder.add_meta(status="failed", error=why)
    else:
        folder.finish(history)


def check_extension(run: Run, folder: RunFolder) -> None:
    """Refuse to extend a finished run of fewer rounds where these depend on how many rounds there are.

    A run whose memory of clients was deleted with its files cannot be extended either.
    """
    from ehfl.learning.checkpoint import read_checkpoint
    from ehfl.learning.memory import check_kept

    if not folder.finished or folder.finished_after(run.setting.rounds):
        return
    folder.check_untouched(folder.meta())
    old, rounds, rule = (
        Participation.load(folder.participation),
        run.setting.rounds,
        build.step_size_rule_of(run.setting),
    )
    n, counts, differs = old.rounds, old.counts, ""
    check_kept(read_checkpoint(folder.path / CHECKPOINT).state, folder.path, n)
    # On devices, which cannot repeat their rounds, and in lockstep, the past is what was recorded.
    played = None if folder.meta().get("clients") == ON_DEVICES else played_by(run)
    if isinstance(played, Participation):
        counts, turns = played.counts, old.indices.size
        alike = np.array_equal(played.offsets[: n + 1], old.offsets)
        if not alike or not np.array_equal(played.indices[:turns], old.indices):
            differs = "participants"
    if not np.array_equal(rule(counts, rounds)[:n], rule(old.counts, n)):
        differs = f"step sizes ({run.setting.learning.step_size['name']})"
    if differs:
        why = f"its {differs} depend on the number of rounds"
        raise OtherRun(f"{folder.path} cannot go on from {n} to {rounds} rounds, {why}: give this spec another name")


def check_clients(folder: RunFolder, *, on_devices: bool) -> str:
    """Return where a run's clients are, for meta.json; refuse a run that was begun with them elsewhere."""
    where = ON_DEVICES if on_devices else "in process"
    begun = folder.meta().get("clients", where)
    if begun != where:
        remedy = "delete the folder to run it again, or give this spec another name"
        raise OtherRun(f"{folder.path} was begun with its clients {begun}, not {where}: {remedy}")
    return where


def run_training(run: Run, threads: Cores, folder: RunFolder | None = None, on_round: OnRound | None = None) -> History:
    """Return the history of a run, in a folder that this process has locked, or in memory."""
    from ehfl.learning.training import CHECKPOINT_EVERY

    # Participation does not depend on learning, so it is played and saved before training.
    played = played_by(run)
    if folder is not None and isinstance(played, Participation):
        played.save(folder.participation)
    training = training_of(run, played, threads)
    if folder is not None:
        keep_chances(run.setting, folder)
    path = None if folder is None else folder.path
    history = training.run(path, checkpoint_every=run.setting.checkpoint_every or CHECKPOINT_EVERY, on_round=on_round)
    # In lockstep participation is known only now; until then rounds.jsonl holds what a resumed run needs.
    if folder is not None and isinstance(played, Lockstep):
        history.participation.save(folder.participation)
    return history


def played_by(run: Run) -> Participation | Lockstep:
    """Return the participation, to be decided in lockstep with learning if the scheduler wants losses."""
    world = World.of(run.setting)
    return world.begin(run.seed, record_energy=world.fleet.clients * world.rounds <= _KEPT_LEVELS)


def keep_chances(setting: Setting, folder: RunFolder) -> None:
    """Write the probabilities that a run is trained with into meta.json, if its aggregation wants any."""
    if build.wants_chances(setting):
        found = build.chances_of(setting)
        how = {"exact": found.exact, "seeds": found.seeds, "relative_error": found.relative_error}
        folder.add_meta(probabilities=how | {"values": found.probabilities.tolist()})


def training_of(run: Run, played: Participation | Lockstep, threads: Cores) -> Training:
    """Return a run's training, ready to start."""
    from ehfl.learning import training_in_process

    setting = run.setting
    return training_in_process(
        build.load_task(setting)[0],
        played,
        rule=build.local_sgd_of(setting),
        step_size=build.step_size_rule_of(setting),
        aggregation=build.aggregation_of(setting),
        partition=build.partition_of(setting),
        seed=run.seed,
        eval_every=setting.evaluation.every,
        device=setting.learning.device,
        workers=threads.asked,
        most_workers=threads.most,
        # By the same facts as the folder's spec.toml.
        identity=lambda rounds: run.identity() | {"rounds": rounds},
    )


def about_here() -> dict[str, Any]:
    """Return where the numbers come from: versions, commit and machine."""
    # Versions come from installed metadata: importing torch would take a second.
    packages = {name: version(name) for name in ("numpy", "torch")}
    return {
        "version": ehfl.__version__,
        "commit": _commit(),
        "host": socket.gethostname(),
        "platform": platform.platform(),
        "python": platform.python_version(),
        **packages,
    }


@cache
def _commit() -> str | None:
    """Return the commit of a checked-out ehfl, "+" after it if files were changed since; None if installed."""
    try:
        described = subprocess.run(
            ["git", "describe", "--always", "--dirty=+", "--abbrev=12", "--exclude=*"],
            cwd=Path(ehfl.__file__).parent, capture_output=True, text=True, check=True, timeout=10,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return described.stdout.strip() or None
