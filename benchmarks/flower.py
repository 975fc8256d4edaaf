"""What a round costs on Flower: ehfl's server against bare FedAvg, and Flower's simulation against one process.

    make bench SLOW=1               or  python -m benchmarks.flower [--turns 4] [--rounds 6]

A round is the paper's: 5 of 10 clients, K = 5, batch 50, its CNN on CIFAR-shaped data. All three train the same clients
with the same engine. FedAvg is Flower's own strategy, without evaluation: sample, send, average. ehfl's server asks all
nodes for their energy first, checks what comes back, and keeps a line and a checkpoint each round. Both meet the same
actors of one simulation, in turns; in one process there is a worker a core. Medians of rounds, and the
spread of the turns: these machines are noisy, so only ratios mean something.
"""

from __future__ import annotations

import argparse
import logging
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from benchmarks.training import CifarShaped
from flwr.app import Array, ArrayRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid, ServerApp
from flwr.serverapp.strategy import FedAvg
from flwr.simulation import run_simulation

from ehfl.experiment import Run, make_spec, run_all
from ehfl.experiment.run.execute import Cores
from ehfl.flower.app.bundle import Bundle, NodeRun, digest_of_run
from ehfl.flower.app.specs import bundle_of
from ehfl.flower.local.simulation import ENVIRONMENT, RAY
from ehfl.flower.node.client_app import client_app
from ehfl.flower.node.setup import trainer_of
from ehfl.flower.server.server_app import play_on_devices
from ehfl.flower.wire.exchange import Exchange
from ehfl.learning import Examples
from ehfl.learning.engine.device import keep_freed_memory, pick_device
from ehfl.learning.first_model import initial_model
from ehfl.runs import History, RunFolder

CLIENTS, PER_ROUND, ETA = 10, 5, 0.05
Durations = list[float]


@dataclass(frozen=True, eq=False)
class FewTests(CifarShaped):
    """CIFAR-shaped data with few examples to test on: evaluation is left out of what is compared."""

    name: str = "cifar-shaped"

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "test", Examples(self.test.inputs[:100], self.test.targets[:100]))


def facts(rounds: int) -> dict[str, Any]:
    return {
        "name": "bench", "seeds": [0], "rounds": rounds, "scheduler": f"always-on:{PER_ROUND}",
        "fleet": {"clients": CLIENTS, "rate": 0.5},
        "learning": {"task": "benchmarks.flower:FewTests", "step_size": ETA, "device": "cpu"},
        "evaluation": {"every": rounds},
    }  # fmt: skip


def both_apps(state: Path, bundle: Bundle, run: NodeRun) -> ClientApp:
    """Return nodes that answer ehfl's server, and train for FedAvg whatever it sends them."""
    ours, app = client_app(bundle, state), ClientApp()

    @app.query()
    def query(message: Message, context: Context) -> Message:
        return ours(message, context)

    @app.train()
    def train(message: Message, context: Context) -> Message:
        return ours(message, context) if "ehfl" in message.content else bare_training(run, message, context)

    return app


def bare_training(run: NodeRun, message: Message, context: Context) -> Message:
    """Train as a client of FedAvg's: no energy, no checks."""
    import torch

    from ehfl.learning.aggregation.contract import Order

    engine, model = trainer_of(run)
    x = torch.from_numpy(message.content.array_records["arrays"]["weights"].numpy().copy())
    order = Order(int(context.node_config["partition-id"]), 0, x, engine.rule.local_steps, ETA)
    update = engine.train(order, model)
    arrays = ArrayRecord({"weights": Array(update.weights.numpy())})
    metrics = MetricRecord({"num-examples": update.examples, "loss": update.loss})
    return Message(RecordDict({"arrays": arrays, "metrics": metrics}), reply_to=message)


def fedavg(grid: Grid, first: ArrayRecord, rounds: int) -> Durations:
    """Return how long each round of FedAvg took."""
    stamps: list[float] = []
    share = PER_ROUND / CLIENTS
    strategy = FedAvg(share, fraction_evaluate=0.0, min_train_nodes=PER_ROUND, min_available_nodes=CLIENTS)
    strategy.start(grid, first, rounds, evaluate_fn=lambda round_, arrays: stamps.append(time.perf_counter()))
    return between(stamps)


def ehfl_server(grid: Grid, rounds: int, folder: Path) -> Durations:
    """Return how long each round of ehfl's server took, the first and the last left out, which evaluate."""
    return timed(rounds, folder, lambda *given: play_on_devices(*given, exchange=Exchange(grid)))


def one_process(rounds: int, folder: Path) -> Durations:
    """Return how long each round took in this process."""
    from ehfl.experiment import run_training

    return timed(rounds, folder, run_training)


def timed(rounds: int, folder: Path, play: Callable[..., History]) -> Durations:
    stamps: list[float] = []

    def stamped(run: Run, threads: Cores, place: RunFolder, on_round: object) -> History:
        return play(run, threads, place, lambda record, model: stamps.append(time.perf_counter()))

    for outcome in run_all(make_spec(facts(rounds)), folder, play=stamped):
        assert outcome.error is None, outcome.error
    return between(stamps)[:-1]


def between(stamps: Sequence[float]) -> Durations:
    return [after - before for before, after in pairwise(stamps)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=6, help="of each in a turn, at least 3")
    given = parser.parse_args()
    os.environ.update(ENVIRONMENT)
    logging.getLogger("flwr").setLevel(logging.ERROR)
    keep_freed_memory()
    found: dict[str, list[Durations]] = {"FedAvg": [], "ehfl": [], "one process": []}
    (run,) = make_spec(facts(given.rounds)).runs()
    bundle, server = bundle_of(run.spec), ServerApp()
    node_run = bundle.run(run.arm.label, run.seed, digest_of_run(run.facts()))
    weights = initial_model(FewTests(), 0, pick_device("cpu")).weights
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)

        @server.main()
        def turns(grid: Grid, context: Context) -> None:
            first = ArrayRecord({"weights": Array(weights.numpy())})
            fedavg(grid, first, 2)  # the data are made and the models built in the first rounds
            for turn in range(given.turns):
                found["FedAvg"].append(fedavg(grid, first, given.rounds))
                found["ehfl"].append(ehfl_server(grid, given.rounds, folder / f"flower-{turn}"))

        run_simulation(server, both_apps(folder / "nodes", bundle, node_run), CLIENTS, backend_config=RAY)
        for turn in range(given.turns):
            found["one process"].append(one_process(given.rounds, folder / f"process-{turn}"))
    show(found)


def show(found: dict[str, list[Durations]]) -> None:
    medians = {name: statistics.median(second for turn in turns for second in turn) for name, turns in found.items()}
    for name, seconds in medians.items():
        of_turns = [statistics.median(turn) for turn in found[name]]
        print(f"round of the paper   {name:<12} {seconds:.2f} s   (turns: {min(of_turns):.2f} to {max(of_turns):.2f})")
    ratios = [statistics.median(b) / statistics.median(a) for a, b in zip(found["FedAvg"], found["ehfl"], strict=True)]
    spread = f"(turns: {min(ratios):.2f} to {max(ratios):.2f})"
    print(f"ehfl's server        {medians['ehfl'] / medians['FedAvg']:.2f} times FedAvg's round {spread}")
    print(f"Flower's simulation  {medians['ehfl'] / medians['one process']:.2f} times the round of one process")


if __name__ == "__main__":
    main()
