"""A spec as it goes to Flower, and one run of it."""

from __future__ import annotations

import pytest

from ehfl.experiment import make_spec
from ehfl.flower import for_flower, one_run
from ehfl.validation import InvalidValue

ARMS = [{"scheduler": "myopic"}, {"scheduler": "greedy", "step_size": "constant:0.1"}]


def test_a_step_size_that_looks_ahead_is_refused_where_it_stands() -> None:
    with pytest.raises(InvalidValue, match=r"^learning.step_size must be one that looks at past rounds alone"):
        for_flower(make_spec({"arms": ARMS}))
    causal = {"step_size": "nominal-causal"}
    ahead = [ARMS[0], {"scheduler": "greedy", "step_size": "nominal"}]
    with pytest.raises(InvalidValue, match=r"^arms\[2\].learning.step_size must be .*, got nominal$"):
        for_flower(make_spec({"learning": causal, "arms": ahead}))
    spec = for_flower(make_spec({"learning": causal, "arms": ARMS}))
    assert all(arm.label.endswith(" on Flower") for arm in spec.arms)


def test_one_run_is_the_first_unless_it_is_named() -> None:
    spec = for_flower(make_spec({"learning": {"step_size": "nominal-causal"}, "arms": ARMS, "seeds": [4, 5]}))
    labels = [arm.label for arm in spec.arms]

    assert [(run.arm.label, run.seed) for run in one_run(spec).runs()] == [(labels[0], 4)]
    assert [(run.arm.label, run.seed) for run in one_run(spec, labels[1], 9).runs()] == [(labels[1], 9)]
    with pytest.raises(InvalidValue, match="arm must be one of"):
        one_run(spec, "lazy")
    with pytest.raises(InvalidValue, match="seed must be a whole number >= 0, got -1"):
        one_run(spec, seed=-1)
