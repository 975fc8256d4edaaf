"""Workers that die: whose calls are lost, in which order the others are made."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any, TypeVar

import pytest

from ehfl.experiment.run import cluster
from ehfl.experiment.run.workers import Calls, Processes, call_all
from ehfl.validation import UserError

Result = TypeVar("Result")


class Fragile:
    """A crew of processes that die together when they meet one of some calls; takes down what it was given."""

    def __init__(self, deadly: set[int], mended: set[int] = frozenset()) -> None:  # type: ignore[assignment]
        self.deadly, self.mended = deadly, mended  # the latter kill once
        self.batches: list[list[int]] = []  # under way together
        self.widths: list[int] = []

    def work(self, calls: Calls[Result], workers: int) -> list[int]:
        self.widths.append(workers)
        while calls.waiting:
            together = [calls.waiting.popleft() for _ in range(min(workers, len(calls.waiting)))]
            self.batches.append(together)
            if self.deadly & set(together):
                self.deadly -= self.mended & set(together)
                return together
            calls.results |= {number: calls.calls[number]() for number in together}
        return []


def numbered(n: int) -> list[Callable[[], int]]:
    return [partial(int, str(number)) for number in range(n)]


def test_three_of_twelve_that_kill_their_workers_fail_and_nine_finish() -> None:
    crew = Fragile({1, 5, 9})

    assert call_all(numbered(12), 2, crew) == [number if number not in (1, 5, 9) else None for number in range(12)]


def test_suspects_come_last_and_one_at_a_time_and_those_that_kill_once_get_their_result() -> None:
    crew = Fragile({1, 4}, mended={4})

    assert call_all(numbered(9), 4, crew) == [0, None, *range(2, 9)]
    assert crew.batches == [[0, 1, 2, 3], [4, 5], [6], [7], [8], [0], [1], [2], [3], [4], [5]]
    assert crew.widths == [4, 2, 1, *[1] * 6]


def test_processes_that_end_cost_the_others_nothing() -> None:
    ends, returns = partial(os._exit, 0), partial(int, "7")

    found: list[int | None] = call_all([returns, ends, returns, returns], 2, Processes({}, threads=1))

    assert found == [7, None, 7, 7]


class Unreadable:
    """What a worker cannot make of what it is sent."""

    def __call__(self) -> int:
        return 7

    def __reduce__(self) -> tuple[type[int], tuple[str]]:
        return int, ("seven",)


def test_workers_that_cannot_work_say_why() -> None:
    with pytest.raises(UserError, match=r"^worker processes cannot work: ValueError: invalid literal .* 'seven'$"):
        call_all([Unreadable()] * 2, 2, Processes({}, threads=1))


def test_an_error_of_our_own_reaches_the_caller() -> None:
    with pytest.raises(ValueError, match="invalid literal"):
        call_all([partial(int, "seven")] * 2, 2, Processes({}, threads=1))


class Lost(Exception):
    """What Ray raises: the kinds that `Cluster` tells apart."""


NodeDied, Crashed, OutOfMemory = (type(name, (Lost,), {}) for name in ("NodeDied", "Crashed", "OutOfMemory"))


class ScriptedRay:
    """Ray with calls that end, one after another, as they are made to: by an error for each time, then by a result."""

    exceptions = SimpleNamespace(
        NodeDiedError=NodeDied, WorkerCrashedError=Crashed, OutOfMemoryError=OutOfMemory, RayError=Lost
    )

    def __init__(self, errors: dict[int, list[type[Exception]]]) -> None:
        self.errors = errors
        self.made: list[int] = []  # calls, in their order

    def remote(self, **options: int) -> Callable[..., Any]:
        assert options == {"num_cpus": 2, "max_retries": 0}
        return lambda function: SimpleNamespace(remote=lambda call: (len(self.made), call))

    def wait(self, under_way: list[Any], num_returns: int) -> tuple[list[Any], list[Any]]:
        return under_way[:1], under_way[1:]

    def get(self, done: tuple[int, Callable[[], int]]) -> int:
        number = done[1]()
        self.made.append(number)
        if self.errors.get(number):
            raise self.errors[number].pop(0)("the last line")
        return number


def on_scripted_ray(monkeypatch: pytest.MonkeyPatch, errors: dict[int, list[type[Exception]]]) -> ScriptedRay:
    scripted = ScriptedRay(errors)
    monkeypatch.setattr(cluster, "_ray", lambda: scripted)
    return scripted


def test_on_a_cluster_a_call_whose_node_died_is_made_again_and_others_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = on_scripted_ray(monkeypatch, {0: [NodeDied], 1: [Crashed], 2: [NodeDied, NodeDied]})

    assert call_all(numbered(4), 4, cluster.Cluster(threads=2)) == [0, 1, 2, 3]
    assert ray.made == [0, 1, 2, 3, 0, 2, 2, 1]  # what crashed a worker comes last, and alone


def test_on_a_cluster_a_call_that_loses_node_after_node_comes_to_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    ray = on_scripted_ray(monkeypatch, {0: [NodeDied] * 100})

    assert call_all(numbered(2), 2, cluster.Cluster(threads=2)) == [None, 1]
    assert ray.made.count(0) == 10


def test_a_cluster_that_cannot_run_it_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    on_scripted_ray(monkeypatch, {0: [Lost]})

    with pytest.raises(UserError, match=r"^Ray cannot run this: the last line$"):
        call_all(numbered(1), 1, cluster.Cluster(threads=2))


def test_a_cluster_where_nobody_listens_is_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_ADDRESS", "127.0.0.1:1")
    monkeypatch.setattr(
        cluster, "_ray", lambda: SimpleNamespace(is_initialized=bool, exceptions=ScriptedRay.exceptions)
    )

    with (
        pytest.raises(UserError, match=r"^no Ray cluster can be joined at 127\.0\.0\.1:1: Connection refused$"),
        cluster.joined_cluster(),
    ):
        pass
