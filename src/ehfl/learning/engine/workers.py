"""Workers: parallel work on models, with the same bits as sequential work."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from queue import SimpleQueue
from typing import TypeVar

import torch

from ehfl.learning.engine.device import one_thread
from ehfl.learning.engine.flat import FlatModel
from ehfl.validation import whole_number

T = TypeVar("T")
R = TypeVar("R")

MOST_WORKERS = 1024
# Weights that a worker trains at a time, of a model or a stack: below it Python takes longer than torch, so threads
# would wait for Python's lock.
SMALL_MODEL = 100_000


class Workers:
    """Parallel threads, each with its own model and one thread per operation.

    An operation then sums in the same order for any number of workers, and results come in the order of the items: no
    bit depends on the number of workers. Threads suffice, since torch releases Python's lock inside operations, and
    they share the data.
    """

    def __init__(self, model: FlatModel, count: int) -> None:
        self.count, self._model = count, model
        self._free: SimpleQueue[FlatModel] = SimpleQueue()
        self._pool: ThreadPoolExecutor | None = None

    @contextmanager
    def running(self) -> Iterator[None]:
        """Keep the workers alive during a run, and limit torch to one thread per operation."""
        with one_thread():
            if self.count == 1:
                yield
                return
            for _ in range(self.count):
                self._free.put(self._model.copy())
            with ThreadPoolExecutor(self.count, "ehfl-worker") as self._pool:
                yield
            self._pool, self._free = None, SimpleQueue()

    def map(self, work: Callable[[FlatModel, T], R], items: Iterable[T]) -> Iterator[R]:
        """Yield `work(model, item)` in the order of the items; the first that fails ends all of them.

        `work` must not rely on the weights of `model`. A single worker uses the model given to the constructor.
        """
        if self._pool is None:
            for item in items:
                yield work(self._model, item)
            return
        begun: deque[Future[R]] = deque()
        try:
            for item in items:
                begun.append(self._pool.submit(self._in_a_model, work, item))
                # One item more than workers, so that no worker waits for the consumer; no more, to save memory.
                if len(begun) > self.count:
                    yield begun.popleft().result()
            while begun:
                yield begun.popleft().result()
        finally:
            for future in begun:
                future.cancel()
            for future in begun:  # wait, so that the consumer continues only when no worker reads its items
                if not future.cancelled():
                    future.exception()

    def _in_a_model(self, work: Callable[[FlatModel, T], R], item: T) -> R:
        model = self._free.get()
        try:
            return work(model, item)
        finally:
            self._free.put(model)


def pick_workers(workers: int | None, n_parameters: int, device: torch.device, most: int | None = None) -> int:
    """Return the number of workers: as given, else one per core, and one for few parameters at a time or a GPU.

    >>> cpu = torch.device("cpu")
    >>> pick_workers(None, 6090, cpu), pick_workers(None, 10**6, cpu, most=3), pick_workers(2, 10, cpu)
    (1, 3, 2)
    """
    if workers is not None:
        return whole_number("workers", workers, low=1, high=MOST_WORKERS)
    if n_parameters < SMALL_MODEL or device.type != "cpu":
        return 1
    return most or cores()


def cores() -> int:
    """Return how many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
