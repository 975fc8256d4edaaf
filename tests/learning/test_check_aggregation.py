"""`check_aggregation`: silence for aggregations that keep the rules, and a plain line for a rule that one breaks."""

from __future__ import annotations

import math
import sys
from typing import Any

import pytest
import torch
from torch import Tensor

from ehfl import AGGREGATIONS, check_aggregation
from ehfl.learning import Mean, State
from ehfl.learning.aggregation.contract import Assignment
from ehfl.validation import BrokenRules


@pytest.mark.parametrize("name", [*AGGREGATIONS.members, "server_momentum:ServerMomentum"])
def test_every_aggregation_keeps_the_rules(name: str) -> None:
    check_aggregation(name)
    check_aggregation(name, clients=1, rounds=2, seed=4)


class Own:
    """A user's aggregation, whose `apply` is as given and whose state is a velocity."""

    def __init__(self, apply: Any, start: Any = None) -> None:
        self._apply, self._start, self.calls = apply, start, 0

    def init(self, n_clients: int, n_params: int) -> State:
        start: State = {"v": torch.zeros(n_params)} if self._start is None else self._start
        return start

    def apply(self, x: Any, updates: Any, state: Any) -> Any:
        self.calls += 1
        return self._apply(self, x, updates, state)


def mean(x: Any, updates: Any) -> Any:
    return Mean().apply(x, updates, {})[0]


def ignores(me: Own, x: Any, updates: Any, state: Any) -> Any:
    next(iter(updates), None)
    return x, state


def rolls_on(me: Own, x: Any, updates: Any, state: Any) -> Any:
    for update in updates:
        state["v"] += update.delta
    return x + state["v"], state


def scales_updates(me: Own, x: Any, updates: Any, state: Any) -> Any:
    for update in updates:
        update.weights.mul_(0.5)
    return x, state


def divides(me: Own, x: Any, updates: Any, state: Any) -> Any:
    given = [update.delta for update in updates]
    return x + sum(given) / len(given), state


BROKEN: dict[str, tuple[Any, str]] = {
    "not all": (ignores, "must go through all updates once: round 0, it took 1 of 6"),
    "state in place": (rolls_on, "must leave what it is given as it is: round 0, the state was changed"),
    "updates in place": (
        scales_updates,
        "must leave what it is given as it is: round 0, the update of client 0 was changed",
    ),
    "empty rounds": (divides, "fails: round 1 with 0 updates, ZeroDivisionError: "),
    "exit": (lambda me, x, updates, state: sys.exit(), "fails: round 0 with 6 updates, SystemExit"),
    "no state": (lambda me, x, updates, state: mean(x, updates), "must return the model and the state, got tensor("),
    "a number": (
        lambda me, x, updates, state: (mean(x, updates).mean(), state),
        "must return a model of shape (12,): round 0 with 6 updates, got torch.float32 of shape ()",
    ),
    "not finite": (
        lambda me, x, updates, state: (mean(x, updates) / 0, state),
        "must return a finite model: round 0 with 6 updates",
    ),
    "memory in the object": (
        lambda me, x, updates, state: (mean(x, updates) + me.calls, state),
        "is not reproducible: round 0, played twice, ended differently",
    ),
    "growing state": (
        lambda me, x, updates, state: (mean(x, updates), {"v": torch.cat([state["v"], x])}),
        "changes the names, shapes or kinds of its state: round 0, "
        "{'v': 'torch.float32 of shape (12,)'} became {'v': 'torch.float32 of shape (24,)'}",
    ),
    "numbers as state": (
        lambda me, x, updates, state: (mean(x, updates), {"v": 3}),
        "must remember tensors by name: round 0, got int as v",
    ),
    "state that is not finite": (
        lambda me, x, updates, state: (mean(x, updates), {"v": state["v"] / 0}),
        "must remember finite numbers: round 0, v is not",
    ),
    "gradient": (
        lambda me, x, updates, state: (mean(x, updates), {"v": state["v"].clone().requires_grad_()}),
        "must remember what a checkpoint can hold: round 0, got a tensor with a gradient as v",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_rule_is_told_in_a_plain_line(case: str) -> None:
    apply, fault = BROKEN[case]

    with pytest.raises(BrokenRules, match=r"^Own breaks the rules:") as told:
        check_aggregation(Own(apply))

    assert len(told.value.faults) == 1
    assert told.value.faults[0].startswith(fault)


@pytest.mark.parametrize(
    ("start", "fault"),
    [
        ([torch.zeros(3)], "must remember tensors by name: init, got [tensor([0., 0., 0.])]"),
        ({"v": 0.0}, "must remember tensors by name: init, got float as v"),
        ({"v": torch.zeros(2, dtype=torch.bfloat16)},
         "must remember what a checkpoint can hold: init, got torch.bfloat16 as v"),
    ],
)  # fmt: skip
def test_what_init_returns_must_fit_into_a_checkpoint(start: Any, fault: str) -> None:
    with pytest.raises(BrokenRules) as told:
        check_aggregation(Own(ignores, start))

    assert told.value.faults == (fault,)


@pytest.mark.parametrize(
    ("assigned", "fault"),
    [
        (lambda x: x, "must assign an Assignment, got tensor("),
        (lambda x: Assignment(x.double()),
         "must assign a start of torch.float32 and of shape (12,), got torch.float64 of shape (12,)"),
        (lambda x: Assignment(x, pull=math.nan), "must assign a pull that is a finite number, got nan"),
        (lambda x: Assignment(x, shift=x[:3]),
         "must assign a shift of torch.float32 and of shape (12,), got torch.float32 of shape (3,)"),
        (lambda x: Assignment(x, shift=x / 0), "must assign a shift of finite numbers"),
        (lambda x: Assignment(x.mul_(2)), "must leave what it is given as it is: x was changed by assign"),
        (lambda x: 1 / 0, "fails: assign, ZeroDivisionError: "),
    ],
)  # fmt: skip
def test_what_is_assigned_must_be_what_a_client_can_be_sent(assigned: Any, fault: str) -> None:
    class Assigns(Own):
        def assign(self, x: Tensor, client: int, state: State) -> Any:
            return assigned(x)

    with pytest.raises(BrokenRules) as told:
        check_aggregation(Assigns(lambda me, x, updates, state: (mean(x, updates), state)))

    assert len(told.value.faults) == 1 and told.value.faults[0].startswith(fault)


def test_models_that_a_turn_sends_are_counted_in_whole_numbers() -> None:
    class Halves(Own):
        models_up = 0.5

    with pytest.raises(BrokenRules, match=r"models_up must be a whole number >= 0, got 0.5"):
        check_aggregation(Halves(lambda me, x, updates, state: (mean(x, updates), state)))


def test_a_share_must_be_a_weight() -> None:
    class Negative(Own):
        def share(self, examples: int) -> float:
            return -1.0

    with pytest.raises(BrokenRules, match=r"must have a share that is a finite number >= 0, got -1.0 for 1 examples"):
        check_aggregation(Negative(lambda me, x, updates, state: (mean(x, updates), state)))


def test_a_field_cannot_have_the_name_of_a_method() -> None:
    class HalfOfThem(Own):
        share = 0.5

    with pytest.raises(BrokenRules, match=r"has a field share, which is the name of a method: give it another"):
        check_aggregation(HalfOfThem(lambda me, x, updates, state: (mean(x, updates), state)))
