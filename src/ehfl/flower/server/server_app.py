"""The server: a run with the same folder and checkpoints as in one process, but its clients are devices."""

from __future__ import annotations

import logging
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from flwr.app import Context
from flwr.serverapp import Grid, ServerApp
from torch import nn

from ehfl.arrays import IntArray
from ehfl.experiment import Outcome, Run, Spec, read_spec, run_all
from ehfl.experiment.run.compare import OnLook
from ehfl.experiment.run.execute import Cores, keep_chances
from ehfl.experiment.run.folder import list_runs
from ehfl.experiment.spec import build
from ehfl.flower.app.specs import one_run
from ehfl.flower.server.devices import OnDevices
from ehfl.flower.wire.exchange import Exchange
from ehfl.learning import Training, deal
from ehfl.learning.engine.device import pick_device
from ehfl.learning.engine.workers import Workers, pick_workers
from ehfl.learning.first_model import initial_model
from ehfl.learning.server import Server
from ehfl.learning.training import OnRound
from ehfl.runs import History, Record, RunFolder
from ehfl.validation import InvalidValue, UserError, shown

log = logging.getLogger("ehfl.flower")
LOG = "server.log"  # beside the runs
_TOKEN = "flower_run"  # the key in meta.json of the run's token in the nodes' accounts


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
    """Return the folder of run folders; an app's pyproject.toml sets it."""
    if not isinstance(given, str) or not Path(given).is_absolute():
        raise InvalidValue("runs", "the path of a folder, from / on, in run-config", shown(given))
    return Path(given)


@contextmanager
def _logged(folder: Path) -> Iterator[None]:
    """Write the server's log to Flower's log, which `flwr run --stream` shows, and to a permanent file."""
    # Opened at the first line, after the run got its folder: a rejected run leaves no file.
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
    """Play every run of the spec on the nodes of the exchange, one after the other; return their outcomes."""
    notes: list[str] = []

    def play(run: Run, threads: Cores, folder: RunFolder, on_round: OnRound | None) -> History:
        while notes:  # only now is there a folder for the log
            log.info("%s", notes.pop(0))
        return play_on_devices(run, threads, folder, on_round, exchange=exchange)

    return run_all(spec, runs / spec.name, on_look=on_look, on_note=notes.append, play=play)


def play_on_devices(
    run: Run, threads: Cores, folder: RunFolder, on_round: OnRound | None, *, exchange: Exchange
) -> History:
    """Return the history of a run whose clients are devices; after a kill it resumes after the last complete round."""
    setting = run.setting
    task = build.load_task(setting)[0]

    @cache
    def parts() -> list[IntArray]:  # never called if every node owns its data
        return deal(task, setting.fleet.clients, build.partition_of(setting), run.seed)

    clients = OnDevices(run, _token(folder), exchange, task, parts)
    log.info("%s seed %d, %d rounds, in %s", run.arm.label, run.seed, setting.rounds, folder.path)

    def after_round(record: Record, module: nn.Module) -> object:
        log.info("%s", in_a_line(record, setting.rounds, task.metric.name))
        return None if on_round is None else on_round(record, module)

    place = pick_device(setting.learning.device)
    buffers = build.local_sgd_of(setting).buffers
    model = initial_model(task, run.seed, place, buffers)
    workers = pick_workers(threads.asked, model.weights.numel(), place, threads.most)
    training = Training(
        task,
        Server(model, build.aggregation_of(setting), clients.n_clients, run.seed, buffers=buffers),
        clients,
        Workers(model, workers),
        step_size=build.step_size_rule_of(setting),
        eval_every=setting.evaluation.every,
        identity=lambda rounds: run.identity() | {"rounds": rounds},
    )
    keep_chances(setting, folder)
    # By default a checkpoint every round: one on devices takes seconds and cannot be repeated.
    history = training.run(folder.path, checkpoint_every=setting.checkpoint_every or 1, on_round=after_round)
    history.participation.save(folder.participation)
    return history


def in_a_line(record: Record, rounds: int, metric_name: str) -> str:
    """Return one line that summarises a round on devices."""
    seen = record.devices
    assert seen is not None
    heard = sum(energy is not None for energy in seen.energy)
    who = f"{heard} of {len(seen.energy)} clients online, {len(seen.took_part)} took part, {len(seen.lost)} lost"
    reached = "" if record.test_metric is None else f", {metric_name} {record.test_metric:.4g}"
    return f"round {record.round} ({record.round + 1} of {rounds}): {who}{reached}"


def _token(folder: RunFolder) -> str:
    """Return the run's token in the nodes' accounts; created once, so that a restarted server finds its accounts."""
    token = folder.meta().get(_TOKEN)
    if not isinstance(token, str):
        token = secrets.token_hex(8)
        folder.add_meta(**{_TOKEN: token})
    return token
