"""The server: a run, its folder and its checkpoints as in one process, its rounds on devices."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp

from ehfl.experiment import Outcome, Run, Spec, building, read_spec, run_all
from ehfl.experiment.comparison_folder import list_runs
from ehfl.experiment.execution import Threads, keep_chances, loaded_task
from ehfl.experiment.runner import OnLook
from ehfl.flower.devices import Dealt, OnDevices
from ehfl.flower.exchange import Exchange
from ehfl.flower.specs import one_run
from ehfl.history import History, Record
from ehfl.learning import Training, deal
from ehfl.learning.device import pick_device
from ehfl.learning.first_model import initial_model
from ehfl.learning.server import Server
from ehfl.learning.tasks import label_counts
from ehfl.learning.training import OnRound
from ehfl.run_folder import RunFolder
from ehfl.validation import InvalidValue, UserError, shown

log = logging.getLogger("ehfl.flower")
LOG = "server.log"  # beside the runs
_TOKEN = "flower_run"  # the key of meta.json under which nodes' accounts know the run


def server_app(spec: Path) -> ServerApp:
    """Return Flower's ServerApp for a spec; run-config says which arm and seed, and where run folders are kept."""
    app = ServerApp()

    @app.main()
    def main(grid: Grid, context: Context) -> None:
        config = context.run_config
        runs, read = _folder(config.get("runs")), read_spec(spec)
        chosen = one_run(read, config.get("arm") or None, config.get("seed"))
        with _logged(runs / read.name):
            for outcome in serve(chosen, runs, Exchange(grid)):
                if outcome.error:
                    raise UserError(outcome.error)
            list_runs(read, chosen.runs()[0], runs / read.name)
            log.info("the run is finished: ehfl report %s", runs / read.name)

    return app


def _folder(given: object) -> Path:
    """Return where run folders are kept, which an app's own pyproject.toml says."""
    if not isinstance(given, str) or not Path(given).is_absolute():
        raise InvalidValue("runs", "the path of a folder, from / on, in run-config", shown(given))
    return Path(given)


@contextmanager
def _logged(folder: Path) -> Iterator[None]:
    """Let what the server says stand in Flower's log, which `flwr run --stream` shows, and in a file that stays."""
    # Opened with the first line, when the run was let into the folder: one that is refused leaves nothing.
    kept = logging.FileHandler(folder / LOG, encoding="utf-8", delay=True)
    kept.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(message)s"))
    log.handlers = [*logging.getLogger("flwr").handlers, kept]
    log.setLevel(logging.INFO)
    try:
        yield
    finally:
        log.handlers = []
        log.setLevel(logging.NOTSET)
        kept.close()


def serve(spec: Spec, runs: Path, exchange: Exchange, on_look: OnLook | None = None) -> list[Outcome]:
    """Play every run of the spec on the nodes of the exchange, one after the other; return how each ended."""
    notes: list[str] = []

    def play(run: Run, threads: Threads, folder: RunFolder, on_round: OnRound | None) -> History:
        while notes:  # only now is there a folder for the log
            log.info("%s", notes.pop(0))
        return play_on_devices(run, threads, folder, on_round, exchange=exchange)

    return run_all(spec, runs / spec.name, on_look=on_look, on_note=notes.append, play=play)


def play_on_devices(
    run: Run, threads: Threads, folder: RunFolder, on_round: OnRound | None, *, exchange: Exchange
) -> History:
    """Return the history of a run whose clients are devices; after a kill it goes on behind the last whole round."""
    setting = run.setting
    task = loaded_task(setting)[0]

    @cache
    def dealt() -> Dealt:  # not at all where every node owns its data
        parts = deal(task, setting.fleet.clients, building.partition_of(setting), run.seed)
        return Dealt([part.size for part in parts], label_counts(task, parts))

    clients = OnDevices(run, _token(folder), exchange, dealt)
    log.info("%s seed %d, %d rounds, in %s", run.arm.label, run.seed, setting.rounds, folder.path)

    def after_round(record: Record) -> None:
        log.info("%s", in_a_line(record, setting.rounds, task.metric.name))
        if on_round is not None:
            on_round(record)

    model = initial_model(task, run.seed, pick_device(setting.learning.device))
    training = Training(
        task,
        Server(model, building.aggregation_of(setting), clients.n_clients),
        clients,
        step_size=building.step_size_rule_of(setting),
        eval_every=setting.evaluation.every,
        identity=run.identity(),
    )
    keep_chances(setting, folder)
    # A round of devices takes seconds and cannot be played again as it was, so each is kept at once.
    history = training.run(
        threads.for_model(training.n_parameters), folder.path, checkpoint_every=1, on_round=after_round
    )
    history.participation.save(folder.participation)
    return history


def in_a_line(record: Record, rounds: int, metric_name: str) -> str:
    """Return what came of a round on devices."""
    seen = record.devices
    assert seen is not None
    heard = sum(energy is not None for energy in seen.energy)
    who = f"{heard} of {len(seen.energy)} clients online, {len(seen.took_part)} took part, {len(seen.lost)} lost"
    reached = "" if record.test_metric is None else f", {metric_name} {record.test_metric:.4g}"
    return f"round {record.round} ({record.round + 1} of {rounds}): {who}{reached}"


def _token(folder: RunFolder) -> str:
    """Return what nodes' accounts know the run by: made once, so that a restarted server finds them as they were."""
    token = folder.meta().get(_TOKEN)
    if not isinstance(token, str):
        token = secrets.token_hex(8)
        folder.add_meta(**{_TOKEN: token})
    return token
