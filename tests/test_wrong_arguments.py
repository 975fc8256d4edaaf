"""What is refused by its name, and what a path, a key and a message may be."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ehfl
from ehfl import InvalidValue
from ehfl.analysis import estimate
from ehfl.experiment import SpecError, read_spec, run_all
from ehfl.theory import Constants, largest_step, leading_order, pace
from ehfl.validation import one_line

ONES = Constants(smoothness=1.0, variance=1.0, gap=1.0)
FLEET = ehfl.Fleet(2, ehfl.Bernoulli(0.5))
RAGGED: Any = [[1], 2]
WRONG: Any = "text"
NUMBER: Any = 5

CALLS: dict[str, tuple[Callable[[], object], str]] = {
    "a seed": (lambda: ehfl.simulate(FLEET, "greedy", 3, seed=-1), "seed must be a whole number in [0, 1844"),
    "levels": (lambda: ehfl.Decider(FLEET, "greedy").decide(0, np.zeros(3, np.int32)), "energy must be one level per"),
    "a round": (lambda: ehfl.Ledger(FLEET, 3, 0).settle(3, np.arange(0)), "t must be a whole number in [0, 2], got 3"),
    "costs": (lambda: ehfl.Fleet(2, ehfl.Bernoulli(0.5), cost=RAGGED), "cost must be one number or a list of"),
    "a width": (lambda: ehfl.Myopic(target=0), "target must be a whole number >= 1, got 0"),
    "counts": (lambda: leading_order(RAGGED, [1]), "counts must be whole numbers >= 0, one a round, got [[1], 2]"),
    "steps beyond floats": (lambda: leading_order([1], [1], 10**400), "local_steps must be a whole number in [1, 10"),
    "no smoothness": (lambda: largest_step(1, 0), "smoothness must be in [1e-50, 1e50], got 0"),
    "a value": (lambda: pace(0, [1], 1, ONES), "value must be in [1e-100, 1e100], got 0"),
    "infinite values": (
        lambda: estimate([1.0, np.inf]),
        "values must be a list of one or more finite numbers, got inf",
    ),
    "no fleet": (lambda: ehfl.simulate(WRONG, "greedy", 3), "fleet must be an ehfl.Fleet, got 'text'"),
    "no participation": (lambda: ehfl.train("digits", WRONG), "participation must be a Participation, as simulate"),
    "no comparison": (lambda: ehfl.write_report(WRONG, "x"), "comparison must be what ehfl.compare or ehfl.read re"),
    "no spec": (lambda: ehfl.plan(NUMBER), "spec must be a TOML file, a table or nothing, got 5"),
    "a goal": (lambda: ehfl.Metric("gap").check_goal(np.inf), "goal must be a finite number in [-1e+100, 1e+100]"),
}


@pytest.mark.parametrize("case", CALLS)
def test_a_wrong_value_is_refused_by_its_name(case: str) -> None:
    call, message = CALLS[case]
    with pytest.raises(InvalidValue, match=f"^{re.escape(message)}"):
        call()


@pytest.mark.parametrize("kind", [str, Path])
def test_a_path_may_be_a_text_or_a_path(kind: Callable[[str], Any], tmp_path: Path) -> None:
    """A folder or a file given as either is the same."""
    spec = tmp_path / "mine.toml"
    spec.write_text("rounds = 3\nseeds = 1\nschedulers = ['greedy']\nlearning.task = 'quadratic'\n")
    here = str(tmp_path)

    run_all(read_spec(kind(str(spec))), kind(f"{here}/mine"), jobs=1)
    compared = ehfl.compare(kind(str(spec)), runs=kind(here), jobs=1)
    played = ehfl.simulate(FLEET, "greedy", 3)
    played.save(kind(f"{here}/p.npz"))

    assert ehfl.read(kind(f"{here}/mine")).rows == compared.rows
    assert ehfl.Participation.load(kind(f"{here}/p.npz")).counts.tolist() == played.counts.tolist()


def test_a_key_given_in_two_ways_is_refused() -> None:
    twice: dict[str, Any] = {"fleet": {"clients": 3}, "fleet.clients": 4}

    with pytest.raises(SpecError, match=r"^fleet.clients must be given once, got 4$"):
        ehfl.compare(**twice)


def test_a_message_about_a_spec_never_steers_the_terminal() -> None:
    with pytest.raises(SpecError, match=r"^code must be a folder, got \\x07$"):
        read_spec({"code": "\a"})


def test_an_error_that_quotes_its_whole_input_is_cut_off() -> None:
    line = one_line(RuntimeError("first\nsecond " + "x" * 5000))

    assert line.startswith("RuntimeError: first second xxx") and line.endswith("x...") and len(line) < 320
