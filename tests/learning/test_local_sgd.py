from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ehfl.learning import LocalSgd
from ehfl.learning.engine.local_sgd import minibatches


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.integers(1, 30), st.integers(0, 9), st.integers(0, 9))
def test_minibatches_are_distinct_examples_of_the_client(size: int, batch: int, client: int, t: int) -> None:
    examples = np.arange(100, 100 + size)
    rule = LocalSgd(local_steps=3, batch_size=batch)

    drawn = [b.tolist() for b in minibatches(rule, examples, 1, client, t)]
    again = [b.tolist() for b in minibatches(rule, examples, 1, client, t)]

    assert drawn == again
    for step in drawn:
        assert len(step) == len(set(step)) == min(batch, size)
        assert set(step) <= set(examples.tolist())


def test_every_example_is_drawn_equally_often() -> None:
    rule, rounds = LocalSgd(local_steps=4, batch_size=5), 500
    drawn = np.concatenate([b for t in range(rounds) for b in minibatches(rule, np.arange(20), 3, 0, t)])
    share = 5 / 20
    spread = np.sqrt(rounds * 4 * share * (1 - share))  # binomial over independent steps

    assert np.bincount(drawn) == pytest.approx(np.full(20, rounds * 4 * share), abs=5 * spread)


def test_rounds_clients_and_seeds_draw_differently() -> None:
    rule = LocalSgd(local_steps=1, batch_size=20)
    streams = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]

    drawn = {tuple(next(minibatches(rule, np.arange(1000), *stream)).tolist()) for stream in streams}

    assert len(drawn) == len(streams)


@pytest.mark.parametrize("wrong", [{"local_steps": 0}, {"batch_size": 0}, {"clip": 0.0}, {"clip": float("nan")},
                                   {"weight_decay": -0.1}, {"local_epochs": 0}, {"local_decay": 0.0}])  # fmt: skip
def test_rules_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} must be"):
        LocalSgd(**wrong)


@settings(max_examples=40, deadline=None)
@given(st.integers(1, 30), st.integers(1, 30), st.integers(1, 3))
def test_an_epoch_is_every_example_once(size: int, batch: int, epochs: int) -> None:
    examples = np.arange(100, 100 + size)
    rule = LocalSgd(batch_size=batch, local_epochs=epochs)

    drawn = list(minibatches(rule, examples, 1, client=2, t=3))

    assert len(drawn) == rule.steps_of(size) == epochs * -(-size // batch)
    each = rule.steps_of(size) // epochs
    for epoch in range(epochs):
        mine = drawn[epoch * each : (epoch + 1) * each]
        assert sorted(np.concatenate(mine).tolist()) == examples.tolist()
        assert {len(one) for one in mine[:-1]} <= {batch}


def test_the_mean_step_is_that_of_all_steps_of_a_turn() -> None:
    rule = LocalSgd(local_steps=4, local_decay=0.5)

    assert rule.mean_step(0.8, 4) == pytest.approx((0.8 + 0.4 + 0.2 + 0.1) / 4)
    assert LocalSgd().mean_step(0.3, 7) == 0.3
