"""How fast rounds train: the paper's against plain torch and the machine's matmul, and many small clients; in one run.

    make bench                      or  python -m benchmarks.training [--rounds 4] [--workers 2]

A round is 5 clients, K = 5, batch 50, the paper's CNN on CIFAR-shaped data. "plain" is the way most people would write
it: nn.Conv2d and nn.LocalResponseNorm in NCHW, a DataLoader and a fresh optimizer per client, state_dict copies and
their mean. The matmul rate is the best of several square float32 products. They take turns, and the medians are
compared: these machines are noisy, so only ratios mean something. A sample's forward and backward counts 195 MFLOP.
"""

from __future__ import annotations

import argparse
import copy
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn
from torch.utils.data import DataLoader, Subset, TensorDataset

from ehfl import AlwaysOn, Bernoulli, Fleet, simulate
from ehfl.arrays import IntArray
from ehfl.learning import Examples, LocalSgd, Mean, Metric, initialise, train
from ehfl.learning.aggregation.contract import Turns
from ehfl.learning.engine.device import keep_freed_memory
from ehfl.learning.engine.engine import Engine
from ehfl.learning.engine.flat import FlatModel
from ehfl.learning.engine.workers import Workers, cores
from ehfl.learning.evaluation import evaluate
from ehfl.learning.first_model import initial_model
from ehfl.learning.server import Server
from ehfl.learning.tasks import load_task
from ehfl.learning.tasks.cifar import Standardise, paper_network
from ehfl.learning.tasks.contract import accuracy
from ehfl.partition import Iid
from ehfl.validation import InvalidValue

CLIENTS, PER_ROUND, STEPS, BATCH, ETA = 10, 5, 5, 50, 0.05
FLOP_PER_SAMPLE = 195e6


@dataclass(frozen=True, eq=False)
class CifarShaped:
    """Random images in the shape and number of CIFAR-10: speed does not depend on what they show."""

    name: str = "cifar-shaped"
    metric: ClassVar[Metric] = Metric("accuracy", bounds=(0, 1))
    training: Examples = field(init=False)
    test: Examples = field(init=False)

    def __post_init__(self) -> None:
        rng = np.random.default_rng(0)
        for split, size in (("training", 50_000), ("test", 10_000)):
            images = torch.from_numpy(rng.integers(0, 256, (size, 32, 32, 3), dtype=np.uint8))
            object.__setattr__(self, split, Examples(images, torch.from_numpy(rng.integers(0, 10, size))))

    def model(self, rng: np.random.Generator) -> nn.Module:
        """Return the paper's CNN."""
        return paper_network(rng)

    def loss(self, outputs: Tensor, targets: Tensor) -> Tensor:
        """Return the mean cross entropy."""
        return nn.functional.cross_entropy(outputs, targets)

    def score(self, outputs: Tensor, targets: Tensor) -> float:
        """Return the accuracy."""
        return accuracy(outputs, targets)


def plain_network() -> nn.Module:
    def block(channels: int) -> list[nn.Module]:
        normalise = nn.LocalResponseNorm(9, alpha=0.001, beta=0.75, k=1.0)
        return [nn.Conv2d(channels, 64, 5, padding=2), nn.ReLU(), nn.MaxPool2d(2), normalise]

    head = [nn.Flatten(), nn.Linear(4096, 384), nn.ReLU(), nn.Linear(384, 192), nn.ReLU(), nn.Linear(192, 10)]
    return nn.Sequential(*block(3), *block(64), *head)


def plain_round(model: nn.Module, data: TensorDataset, parts: Sequence[IntArray]) -> None:
    """Train and average as one would write it in an afternoon, with all cores inside each operation."""
    start = copy.deepcopy(model.state_dict())
    states = []
    for part in parts:
        model.load_state_dict(start)
        optimizer = torch.optim.SGD(model.parameters(), lr=ETA)
        loader = iter(DataLoader(Subset(data, part.tolist()), batch_size=BATCH, shuffle=True))
        for _ in range(STEPS):
            inputs, targets = next(loader)
            optimizer.zero_grad()
            torch.autograd.backward(nn.functional.cross_entropy(model(inputs), targets))
            optimizer.step()
        states.append(copy.deepcopy(model.state_dict()))
    model.load_state_dict({name: torch.stack([state[name] for state in states]).mean(0) for name in start})


def seconds(work: Callable[[], object], clock: Callable[[], float] = time.perf_counter) -> float:
    start = clock()
    work()
    return clock() - start


def matmul_rate(clock: Callable[[], float], size: int = 2048, times: int = 4) -> float:
    """Return the best float32 rate of square products [FLOP/s]."""
    a, b, out = (torch.ones(size, size) for _ in range(3))
    return 2 * size**3 / min(seconds(lambda: torch.mm(a, b, out=out), clock) for _ in range(times))


def peak_mib() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


@dataclass(frozen=True, eq=False)
class Team:
    """What plays rounds: an engine, the server's model and the workers."""

    engine: Engine
    model: FlatModel
    workers: Workers

    def play(self, t: int, n_clients: int) -> None:
        """Play a round of both halves; the mean remembers nothing, so a server lasts a round."""
        server = Server(self.model, Mean(), len(self.engine.parts))
        turns = Turns(np.arange(n_clients, dtype=np.int32), np.full(n_clients, self.engine.rule.local_steps), n_clients)
        orders = server.orders(t, turns, ETA)
        server.absorb(t, self.workers.map(lambda model, order: self.engine.train(order, model), orders))


def compare_rounds(
    task: CifarShaped, team: Team, rounded: Team | None, parts: list[IntArray], rounds: int, *, cpu: bool
) -> None:
    """Print plain torch, ehfl, and ehfl in bf16 if the processor has it, in turns."""
    clock, threads = (time.process_time, 1) if cpu else (time.perf_counter, cores())
    few = torch.from_numpy(np.concatenate(parts[:PER_ROUND]))  # floats of all 50,000 would be 600 MB
    chosen = [np.arange(k * len(parts[0]), (k + 1) * len(parts[0])) for k in range(PER_ROUND)]
    images = Standardise()(task.training.inputs[few]).contiguous()
    data, plain = TensorDataset(images, task.training.targets[few]), plain_network()
    theirs, ours, bf16, rates = [], [], [], []
    for t in range(rounds + 1):
        torch.set_num_threads(threads)
        rates.append(matmul_rate(clock))
        theirs.append(seconds(lambda: plain_round(plain, data, chosen), clock))
        torch.set_num_threads(1)
        ours.append(seconds(lambda: team.play(t, PER_ROUND), clock))  # noqa: B023
        if rounded is not None:
            bf16.append(seconds(lambda: rounded.play(t, PER_ROUND), clock))  # noqa: B023
    a, b, ceiling = statistics.median(theirs[1:]), statistics.median(ours[1:]), statistics.median(rates[1:])
    work = PER_ROUND * STEPS * BATCH * FLOP_PER_SAMPLE
    ratios = [x / y for x, y in zip(theirs[1:], ours[1:], strict=True)]
    print(f"round of the paper   plain torch {a:.2f} s   ehfl {b:.2f} s   {a / b:.2f} times as fast", end="")
    print(f" (turns: {min(ratios):.2f} to {max(ratios):.2f})")
    if bf16:
        c = statistics.median(bf16[1:])
        print(f"in bf16              ehfl {c:.2f} s   {a / c:.2f} times as fast as plain torch in float32, ", end="")
        print(f"{b / c:.2f} times as ehfl in float32")
    print(f"float32 matmul       {ceiling / 1e9:.0f} GFLOP/s   ehfl {work / b / 1e9:.0f}, ", end="")
    print(f"{work / b / ceiling:.2f} of it   plain {work / a / ceiling:.2f}", flush=True)


def growth(team: Team, repeats: int) -> None:
    """Print the cost against clients per round: it must be linear."""
    sizes = (1, 2, 5, 10)
    took: dict[int, list[float]] = {n: [] for n in sizes}
    for t in range(repeats):
        for n in sizes:
            took[n].append(seconds(lambda: team.play(t, n)))  # noqa: B023
    best = {n: min(times) for n, times in took.items()}
    listed = "   ".join(f"{n}: {best[n]:.2f} s, {best[n] / n:.3f} s each" for n in sizes)
    print(f"clients a round      {listed}", flush=True)


def evaluation(task: CifarShaped, team: Team) -> None:
    before = peak_mib()
    took = min(seconds(lambda: evaluate(task, team.model.module, task.test)) for _ in range(2))
    print(f"evaluation           10,000 CIFAR images in {took:.2f} s, {peak_mib() - before:.0f} MiB more at its peak")


def beside_others(team: Team, repeats: int) -> None:
    """Print the round beside two processes that are always busy."""
    alone = min(seconds(lambda: team.play(t, PER_ROUND)) for t in range(repeats))  # noqa: B023
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(2)]
    try:
        beside = statistics.median(seconds(lambda: team.play(t, PER_ROUND)) for t in range(repeats))  # noqa: B023
    finally:
        for process in busy:
            process.kill()
    print(f"beside 2 processes   {beside:.2f} s, {beside / alone:.2f} times as long as alone", flush=True)


@dataclass(frozen=True, eq=False)
class MnistShaped(CifarShaped):
    """Random images in the shape of MNIST, and an MLP 784-64-10 of 50,890 weights."""

    name: str = "mnist-shaped"

    def __post_init__(self) -> None:
        rng = np.random.default_rng(0)
        for split, size in (("training", 20_000), ("test", 100)):
            images = torch.from_numpy(rng.random((size, 784), dtype=np.float32))
            object.__setattr__(self, split, Examples(images, torch.from_numpy(rng.integers(0, 10, size))))

    def model(self, rng: np.random.Generator) -> nn.Module:
        """Return the MLP."""
        return initialise(nn.Sequential(nn.Linear(784, 64), nn.ReLU(), nn.Linear(64, 10)), rng)


def small_clients(workers: int, repeats: int) -> None:
    """Print rounds of many clients with a small model: stacked and one by one, the cost a client, and MIFA's memory."""
    task, everyone = MnistShaped(), 1000

    def took(per_round: int, aggregation: str = "mean", **how: Any) -> float:
        mains = simulate(Fleet(clients=everyone, harvest=Bernoulli(0.5)), AlwaysOn(per_round), rounds=3)
        given: dict[str, Any] = {"batch_size": 10, "step_size": ETA, "eval_every": 3, "aggregation": aggregation} | how
        stamps: list[float] = []
        train(task, mains, on_round=lambda record: stamps.append(record.seconds), **given)
        return min(stamps[1:])

    ways: dict[str, Callable[[], float]] = {
        "one by one": lambda: took(100, engine="plain", workers=1),
        "stacked": lambda: took(100, workers=workers),
        "5": lambda: took(5, workers=workers),
        "50": lambda: took(50, workers=workers),
        "500": lambda: took(500, workers=workers),
        "mean": lambda: took(everyone, workers=workers),
        "mifa": lambda: took(everyone, "mifa", workers=workers),
    }
    best = {name: min(way() for _ in range(repeats)) for name, way in ways.items()}
    print(f"100 clients, MLP     one by one {best['one by one']:.3f} s   stacked, {workers} workers ", end="")
    print(f"{best['stacked']:.3f} s, {best['one by one'] / best['stacked']:.2f} times as fast")
    each = {n: 1e3 * best[str(n)] / n for n in (5, 50, 500)}
    print(
        f"                     a client of 5: {each[5]:.2f} ms   of 50: {each[50]:.2f} ms   of 500: {each[500]:.2f} ms"
    )
    print(f"1,000 clients, MLP   mean {best['mean']:.2f} s   mifa {best['mifa']:.2f} s, ", end="")
    print(f"{best['mifa'] / best['mean']:.2f} times as long", flush=True)


def digits(rounds: int) -> None:
    task = load_task("digits")
    mains = simulate(Fleet(clients=CLIENTS, harvest=Bernoulli(0.5)), AlwaysOn(PER_ROUND), rounds)
    took = min(seconds(lambda: train(task, mains, eval_every=rounds)) for _ in range(3))
    print(f"digits               {rounds / took:.0f} rounds a second, 300 rounds in {300 * took / rounds:.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--workers", type=int, default=cores())
    parser.add_argument("--cpu", action="store_true", help="only the round of the paper, in CPU time on one core")
    options = parser.parse_args()

    keep_freed_memory()  # as the command line and its workers do, which own their processes
    task = CifarShaped()
    parts = Iid().partition(task.training.targets.numpy(), CLIENTS, seed=0)
    cpu = torch.device("cpu")
    model = initial_model(task, 0, cpu)
    workers = Workers(model, 1 if options.cpu else options.workers)
    team = Team(Engine(task, parts, LocalSgd(STEPS, BATCH), cpu), model, workers)
    try:
        rounded = Team(Engine(task, parts, LocalSgd(STEPS, BATCH, precision="bf16"), cpu), model, workers)
    except InvalidValue as error:
        rounded = None
        print(error)
    if options.cpu:  # for a machine that does other work, too
        compare_rounds(task, team, rounded, parts, options.rounds, cpu=True)
        return
    with workers.running():
        team.play(0, PER_ROUND)
        evaluation(task, team)  # before the plain way raises the peak
        growth(team, repeats=3)
        print(f"peak memory          {peak_mib():.0f} MiB, data included", flush=True)
        compare_rounds(task, team, rounded, parts, options.rounds, cpu=False)
        beside_others(team, options.rounds)
        digits(rounds=60)
    small_clients(options.workers, repeats=3)


if __name__ == "__main__":
    main()
