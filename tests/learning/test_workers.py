from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from turns import CPU

from ehfl import Participation
from ehfl.learning import Task, train
from ehfl.learning.engine.flat import FlatModel
from ehfl.learning.engine.workers import SMALL_MODEL, Workers, pick_workers
from ehfl.learning.first_model import initial_model

QUICK: dict[str, Any] = {"local_steps": 3, "batch_size": 8, "eval_every": 3, "device": "cpu"}


def team(blobs: Task, count: int) -> Workers:
    return Workers(initial_model(blobs, 0, CPU), count)


@pytest.mark.parametrize("aggregation", ["mean", "scaffold", "mifa", "fedawe"])
def test_no_bit_depends_on_the_number_of_workers(blobs: Task, gaps: Participation, aggregation: str) -> None:
    several = [train(blobs, gaps, **QUICK, aggregation=aggregation, workers=n) for n in (1, 2, 3, 8)]

    assert all(np.array_equal(one.weights, several[0].weights) for one in several)
    assert all(one.records == several[0].records for one in several)


def test_results_come_in_the_order_of_the_items_whoever_ends_first(blobs: Task) -> None:
    second_is_over = threading.Event()

    def work(model: FlatModel, item: int) -> int:
        if item == 0:
            assert second_is_over.wait(10)
        if item == 1:
            second_is_over.set()
        return item

    workers = team(blobs, 2)
    with workers.running():
        assert list(workers.map(work, range(5))) == [0, 1, 2, 3, 4]


def test_workers_work_side_by_side_each_in_a_model_of_its_own(blobs: Task) -> None:
    meeting, models = threading.Barrier(3, timeout=10), set()

    def work(model: FlatModel, item: int) -> None:
        models.add(model.weights.data_ptr())
        meeting.wait()

    workers = team(blobs, 3)
    with workers.running():
        list(workers.map(work, range(3)))
    assert len(models) == 3


@pytest.mark.parametrize("count", [1, 2, 3])
def test_the_first_client_in_order_that_fails_is_reported_and_the_rest_is_not_begun(blobs: Task, count: int) -> None:
    begun = []

    def work(model: FlatModel, item: int) -> int:
        begun.append(item)
        if item in (3, 4):
            raise ValueError(f"client {item}")
        return item

    workers = team(blobs, count)
    with workers.running():
        results = workers.map(work, range(100))
        with pytest.raises(ValueError, match="client 3"):
            list(results)
    assert max(begun) <= 3 + count


def test_no_more_is_begun_than_there_are_workers_and_one(blobs: Task) -> None:
    asked = []

    def items() -> Iterator[int]:
        for item in range(20):
            asked.append(item)
            yield item

    workers = team(blobs, 2)
    with workers.running():
        for taken, _ in enumerate(workers.map(lambda model, item: item, items())):
            assert len(asked) - taken <= 3


def test_an_abandoned_round_leaves_no_work_behind(blobs: Task) -> None:
    workers, running = team(blobs, 2), threading.Semaphore(0)

    def work(model: FlatModel, item: int) -> int:
        running.release()
        return item

    with workers.running():
        results: Any = workers.map(work, range(50))
        next(results)
        results.close()
        begun = running._value
        assert list(workers.map(lambda model, item: item, range(3))) == [0, 1, 2]
        assert running._value == begun


@pytest.mark.parametrize(
    ("workers", "n_parameters", "device", "most", "picked"),
    [
        (None, SMALL_MODEL - 1, "cpu", 8, 1),  # Python takes longer than torch: workers would wait for each other
        (None, SMALL_MODEL, "cpu", 8, 8),
        (None, SMALL_MODEL, "cuda", 8, 1),
        (3, 10, "cpu", 8, 3),
        (3, SMALL_MODEL, "cpu", 1, 3),
    ],
)
def test_small_models_and_graphics_cards_have_one_worker_unless_more_are_asked_for(
    workers: int | None, n_parameters: int, device: str, most: int, picked: int
) -> None:
    assert pick_workers(workers, n_parameters, torch.device(device), most) == picked
