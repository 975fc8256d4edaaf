"""Public functions say what is wrong with an argument of another kind; errors of Python's own would not."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ehfl
from ehfl import InvalidValue
from ehfl.analysis import difference, estimate
from ehfl.energy import HARVESTS
from ehfl.experiment import SpecError, make_spec, read_spec, run_all
from ehfl.learning import AGGREGATIONS
from ehfl.partition import PARTITIONS, Dirichlet
from ehfl.scheduling import SCHEDULERS
from ehfl.theory import (
    STEP_SIZES,
    Constants,
    Extremes,
    Quadratic,
    best_along,
    best_of_all,
    bound,
    bound_slowdown,
    known_problems,
    largest_eta,
    largest_step,
    leading_order,
    pace,
    promise,
    theorem1,
    theorem2,
)
from ehfl.validation import one_line

ONES: Any = Constants(smoothness=1.0, variance=1.0, gap=1.0)
FIVES: Any = Extremes(5, 5, 500)
FLEET: Any = ehfl.Fleet(2, ehfl.Bernoulli(0.5))
NOTHING: Any = None
TEXT: Any = "text"
NUMBER: Any = 3
LIST: Any = ["text"]
RAGGED: Any = [[1], 2]

CALLS: dict[str, tuple[Callable[[], object], str]] = {
    "a fleet in simulate": (lambda: ehfl.simulate(TEXT, "greedy", 3), "fleet must be of the kind Fleet, got 'text'"),
    "a fleet in play": (lambda: ehfl.Play(TEXT, ehfl.Greedy(), 3), "fleet must be of the kind Fleet, got 'text'"),
    "many clients": (lambda: ehfl.check_aggregation("mean", clients=2**31), "clients must be a whole number in [1, 1"),
    "a seed": (lambda: ehfl.check_harvest("bernoulli:0.5", seed=TEXT), "seed must be a whole number in [0, 1844"),
    "a place": (lambda: run_all(read_spec(), "runs", on=RAGGED), "on must be local or ray, got [[1], 2]"),
    "a folder": (lambda: make_spec({}, folder=FLEET), "folder must be a path, as a string or a Path, got Fleet("),
    "a fleet in a lockstep": (lambda: ehfl.Lockstep(TEXT, ehfl.Greedy(), 3), "fleet must be of the kind Fleet"),
    "a fleet in a ledger": (lambda: ehfl.Ledger(TEXT, 3, 0), "fleet must be of the kind Fleet, got 'text'"),
    "rounds in a ledger": (lambda: ehfl.Ledger(FLEET, TEXT, 0), "rounds must be a whole number in [1, 2147483647]"),
    "a fleet in a check": (lambda: ehfl.check_scheduler("greedy", fleet=TEXT), "fleet must be of the kind Fleet, got"),
    "levels": (lambda: ehfl.Decider(FLEET, "greedy").decide(0, RAGGED), "energy must be of the kind ndarray, got [[1]"),
    "participants": (lambda: ehfl.Decider(FLEET, "greedy").note(0, RAGGED), "clients must be of the kind ndarray, got"),
    "a round": (lambda: ehfl.Ledger(FLEET, 3, 0).settle(3, np.arange(0)), "t must be a whole number in [0, 2], got 3"),
    "a function": (lambda: ehfl.simulate(FLEET, "greedy", 3, on_round=NUMBER), "on_round must be a function or None"),
    "a concentration": (lambda: Dirichlet(TEXT), "alpha must be a number in (0, 1e9], got 'text'"),
    "costs": (lambda: ehfl.Fleet(2, ehfl.Bernoulli(0.5), cost=RAGGED), "cost must be one number or a list of"),
    "a width": (lambda: ehfl.Myopic(target=RAGGED), "target must be a whole number >= 1, got [[1], 2]"),
    "candidates": (
        lambda: ehfl.PowerOfChoice(target=2, candidates=RAGGED),
        "candidates must be a whole number >= 2, got [[1], 2]",
    ),
    "counts": (lambda: leading_order(RAGGED, [1]), "counts must be whole numbers >= 0, one a round, got [[1], 2]"),
    "etas": (lambda: leading_order([1], TEXT), "etas must be one step size a round, shape (1,), got 'text'"),
    "smoothness": (lambda: Constants(NOTHING, 1, 1), "smoothness must be in [1e-50, 1e50], got None"),
    "gap": (lambda: bound([1], [0], local_steps=1, smoothness=1, variance=0, gap=RAGGED), "gap must be 0 or in [1e-50"),
    "steps beyond floats": (lambda: leading_order([1], [1], 10**400), "local_steps must be a whole number in [1, 10"),
    "no smoothness": (lambda: largest_step(1, 0), "smoothness must be in [1e-50, 1e50], got 0"),
    "local steps": (lambda: largest_eta(FIVES, NOTHING, 1.0), "local_steps must be a whole number in [1, 10"),
    "as printed": (lambda: largest_eta(FIVES, 1, 1.0, printed=RAGGED), "printed must be of the kind bool, got"),
    "extremes": (lambda: theorem1(TEXT, 1.0, ONES), "extremes must be of the kind Extremes, got 'text'"),
    "constants": (lambda: theorem2(FIVES, 1.0, 2, TEXT), "constants must be of the kind Constants, got 'text'"),
    "eta": (lambda: theorem1(FIVES, TEXT, ONES), "eta must be in (0, 10], got 'text'"),
    "eta of a promise": (lambda: promise([5], 1, ONES, eta=TEXT), "eta must be in (0, 0.447214], got 'text'"),
    "a rule": (lambda: best_along(RAGGED, [1], 1, ONES), "rule must be one of constant, sqrt, linear, got [[1], 2]"),
    "constants of a rule": (lambda: best_along("sqrt", [1], 1, NOTHING), "constants must be of the kind Constants"),
    "constants of the best": (lambda: best_of_all([1], 1, NOTHING), "constants must be of the kind Constants"),
    "a value": (lambda: pace(TEXT, [1], 1, ONES), "value must be in [1e-100, 1e100], got text"),
    "a promise": (lambda: bound_slowdown(TEXT, [1], 1, ONES), "kept must be of the kind Promise, got 'text'"),
    "curvature": (lambda: Quadratic(TEXT), "curvature must be finite numbers > 0, one per coordinate, got 'text'"),
    "minimiser": (
        lambda: Quadratic([1.0], TEXT),
        "minimiser must be finite, one number or one per coordinate (1), got",
    ),
    "variance": (lambda: Quadratic([1.0], variance=NOTHING), "variance must be a finite number >= 0, got None"),
    "a dimension": (lambda: known_problems(TEXT), "dimension must be a whole number in [1, 1000000], got 'text'"),
    "values": (lambda: estimate(TEXT), "values must be a list of one or more finite numbers, got 'text'"),
    "infinite values": (
        lambda: estimate([1.0, np.inf]),
        "values must be a list of one or more finite numbers, got inf",
    ),
    "complex values": (
        lambda: difference([1j], [1]),
        "values must be a list of one or more finite numbers, got an array",
    ),
    "a spec": (lambda: ehfl.compare(NUMBER), "spec must be a TOML file, a table or nothing, got 3"),
    "a list as a spec": (lambda: read_spec(LIST), "spec must be a TOML file, a table or nothing, got ['text']"),
    "no name of a spec": (lambda: read_spec(""), "spec must be a path, as a string or a Path, got ''"),
    "overrides": (lambda: read_spec(None, NUMBER), "overrides must be texts such as rounds=20, or values"),
    "an override": (lambda: read_spec(None, [NUMBER]), "overrides must be texts such as rounds=20, or values by key, "
                    "got [3]"),
    "a number as a key": (lambda: read_spec(None, {NUMBER: 1}), "overrides must be texts such as rounds=20, or values "
                          "by key, got {3: 1}"),
    "a number as a key of a spec": (lambda: read_spec({NUMBER: 1}), "spec must be a table whose keys are texts, got"),
    "runs": (lambda: ehfl.compare(rounds=3, runs=NUMBER), "runs must be a path, as a string or a Path, got 3"),
    "no name of runs": (lambda: ehfl.compare(rounds=3, runs=""), "runs must be a path, as a string or a Path, got ''"),
    "what to run": (lambda: run_all(TEXT, "runs/x"), "spec must be of the kind Spec, got 'text'"),
    "where to run": (lambda: run_all(read_spec(), NUMBER), "experiment must be a path, as a string or a Path, got 3"),
    "on what to run": (lambda: run_all(read_spec(), "runs/x", on=TEXT), "on must be local or ray, got text"),
    "who looks on": (lambda: run_all(read_spec(), "x", on_look=NUMBER), "on_look must be a function or None, got 3"),
    "folders": (lambda: ehfl.read(NUMBER), "folders must be a path, as a string or a Path, got 3"),
    "a place to save": (lambda: ehfl.simulate(FLEET, "greedy", 3).save(NUMBER), "path must be a path, as a string or"),
    "a file to load": (lambda: ehfl.Participation.load(NOTHING), "path must be a path, as a string or a Path, got"),
    "a goal": (lambda: ehfl.Metric("gap").check_goal(TEXT), "goal must be a finite number in [-1e+100, 1e+100]"),
}  # fmt: skip


@pytest.mark.parametrize("case", CALLS)
def test_an_argument_of_another_kind_is_refused_by_its_name(case: str) -> None:
    call, message = CALLS[case]
    with pytest.raises(InvalidValue, match=f"^{re.escape(message)}"):
        call()


REGISTRIES: dict[str, Any] = {
    "scheduler": SCHEDULERS,
    "harvest": HARVESTS,
    "aggregation": AGGREGATIONS,
    "step size": STEP_SIZES,
    "partition": PARTITIONS,
}
PARAMETERS = [
    (kind, name, parameter)
    for kind, registry in REGISTRIES.items()
    for name in registry
    for parameter in inspect.signature(registry[name]).parameters
]


@pytest.mark.parametrize(("kind", "name", "parameter"), PARAMETERS)
@pytest.mark.parametrize("given", [np.array([]), np.array([[2, 3]]), {}], ids=["empty", "table", "dict"])
@pytest.mark.parametrize("in_a_table", [False, True])
def test_no_parameter_of_a_registered_class_raises_an_error_of_its_own(
    kind: str, name: str, parameter: str, given: Any, in_a_table: bool
) -> None:
    made = REGISTRIES[kind][name]
    needed = [one.name for one in inspect.signature(made).parameters.values() if one.default is one.empty]
    try:
        parameters = dict.fromkeys(needed, 0.5) | {parameter: given}
        if in_a_table:
            REGISTRIES[kind].make({"name": name} | parameters)
        else:
            made(**parameters)
    except InvalidValue as error:
        assert len(str(error).splitlines()) == 1
    else:
        assert np.size(given) > 0  # some parameters are arrays, and none may be empty


def test_a_round_is_asked_for_by_a_whole_number() -> None:
    played = ehfl.simulate(FLEET, "greedy", 3)
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        played.clients(NOTHING)


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


def test_an_error_that_quotes_all_it_was_given_is_told_in_part() -> None:
    told = one_line(RuntimeError("first\nsecond " + "x" * 5000))

    assert told.startswith("RuntimeError: first second xxx") and told.endswith("x...") and len(told) < 320
