"""The rules worked by hand, what they promise of windows and of the future, and how users name them."""

from __future__ import annotations

import pickle
from dataclasses import FrozenInstanceError, asdict

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from ehfl.arrays import FloatArray
from ehfl.theory import (
    STEP_SIZES,
    Constant,
    Linear,
    LinearCausal,
    Nominal,
    NominalCausal,
    PlainFunction,
    StepSize,
    Theorem,
    step_size_of,
    step_size_table,
)
from ehfl.validation import InvalidValue

COUNTS = st.lists(st.integers(0, 50), min_size=1, max_size=65)
NAMES = list(STEP_SIZES.members)
CAUSAL = [name for name in NAMES if getattr(STEP_SIZES.make(name), "causal", False)]


def window_means(etas: FloatArray, counts: list[int], window: int) -> list[tuple[int, float]]:
    """The mean over each window's non-empty rounds, for windows that have any."""
    found = []
    for start in range(0, len(counts), window):
        busy = [eta for eta, n in zip(etas[start : start + window], counts[start : start + window], strict=True) if n]
        if busy:
            found.append((start // window, float(np.mean(busy))))
    return found


# values


def test_theorem_is_eta_times_the_root_of_n_over_t() -> None:
    assert Theorem(eta=2.0)([4, 9, 0, 1]).tolist() == pytest.approx([2.0, 3.0, 0.0, 1.0])


def test_theorem_divides_by_the_length_of_the_whole_run() -> None:
    assert Theorem(eta=2.0)([4, 9], rounds=4).tolist() == [2.0, 3.0]
    assert Theorem(eta=2.0)([4, 9], rounds=16).tolist() == [1.0, 1.5]


@pytest.mark.parametrize("rounds", [2, 0, 3.0])
def test_theorem_refuses_a_run_shorter_than_what_was_counted(rounds: int) -> None:
    with pytest.raises(InvalidValue, match=r"rounds must be a whole number >= 3, got"):
        Theorem()([1, 2, 3], rounds=rounds)


@given(COUNTS)
@pytest.mark.parametrize("rule", [Nominal(), Linear()])
def test_each_windows_mean_is_the_papers_nominal_value(rule: StepSize, counts: list[int]) -> None:
    etas = rule(counts)

    for index, mean in window_means(etas, counts, 10):
        assert mean == pytest.approx(0.15 * 0.99**index, rel=1e-14)


@given(COUNTS)
def test_within_a_window_nominal_goes_with_the_root_and_linear_with_the_count(counts: list[int]) -> None:
    first = np.array(counts[:10])
    busy = first > 0
    if busy.any():
        for etas, weight in ((Nominal()(counts), np.sqrt(first)), (Linear()(counts), first)):
            ratios = etas[:10][busy] / weight[busy]
            assert ratios == pytest.approx(np.full(ratios.shape, ratios[0]), rel=1e-13)


def test_the_causal_twin_starts_at_the_nominal_value_and_then_uses_the_past_window() -> None:
    counts = [4, 0, 0, 0, 1, 9]
    etas = NominalCausal(initial=1.0, decay=0.5, every=2, window=2)(counts)

    assert etas.tolist() == [1.0, 0.0, 0.0, 0.0, 0.25 * 1 / 2, 0.25 * 3 / 2]  # the empty window is passed over


def test_a_steady_fleet_has_the_same_steps_with_and_without_foresight() -> None:
    counts = [5] * 30

    for rule, twin in ((Nominal(), NominalCausal()), (Linear(), LinearCausal())):
        assert rule(counts).tolist() == pytest.approx(twin(counts).tolist())


# foresight


def test_the_rules_without_foresight_are_these() -> None:
    assert CAUSAL == ["theorem", "constant", "nominal-causal", "linear-causal"]


@pytest.mark.parametrize("name", CAUSAL)
@given(counts=COUNTS, cut=st.integers(0, 64), more=st.integers(0, 30))
def test_later_rounds_change_no_step_of_a_causal_rule(name: str, counts: list[int], cut: int, more: int) -> None:
    rule, so_far, rounds = STEP_SIZES.make(name), 1 + cut % len(counts), len(counts) + more

    assert rule(counts[:so_far], rounds=rounds).tolist() == rule(counts, rounds=rounds)[:so_far].tolist()


@pytest.mark.parametrize("name", CAUSAL)
@given(counts=COUNTS, changed=st.integers(0, 64))
def test_other_later_counts_change_no_step_of_a_causal_rule(name: str, counts: list[int], changed: int) -> None:
    rule, t = STEP_SIZES.make(name), changed % len(counts)
    other = [*counts[:t], *(n + 1 for n in counts[t:])]

    assert rule(counts)[:t].tolist() == rule(other)[:t].tolist()


@pytest.mark.parametrize("rule", [Nominal(), Linear()])
def test_the_others_look_ahead(rule: StepSize) -> None:
    assert rule([1], rounds=2)[0] != rule([1, 4], rounds=2)[0]


# every rule


@pytest.mark.parametrize("name", NAMES)
class TestEveryRule:
    def test_gives_one_finite_step_a_round_and_none_to_empty_rounds(self, name: str) -> None:
        counts = np.array([0, 3, 1, 0, 0, 7, 2, 0, 0, 0, 0, 4, 0])
        before = counts.copy()

        etas = STEP_SIZES.make(name)(counts)

        assert etas.shape == counts.shape
        assert np.isfinite(etas).all()
        assert ((etas > 0) == (counts > 0)).all()
        assert (counts == before).all()

    def test_takes_the_counts_as_the_whole_run_unless_told(self, name: str) -> None:
        rule = STEP_SIZES.make(name)

        assert rule([1, 0, 4]).tolist() == rule([1, 0, 4], rounds=3).tolist()

    def test_is_a_value(self, name: str) -> None:
        rule = STEP_SIZES.make(name)

        assert pickle.loads(pickle.dumps(rule)) == rule == STEP_SIZES.make(name)  # noqa: S301
        assert len({rule, STEP_SIZES.make(name)}) == 1
        with pytest.raises(FrozenInstanceError):
            setattr(rule, next(iter(asdict(rule))), 0.1)  # type: ignore[call-overload]

    def test_is_made_again_from_what_is_spelled_out(self, name: str) -> None:
        rule = STEP_SIZES.make(name)
        table = STEP_SIZES.spelled_out(name)

        assert table == {"name": name} | asdict(rule)  # type: ignore[call-overload]
        assert STEP_SIZES.make(table) == rule

    def test_keeps_parameters_that_are_not_the_defaults(self, name: str) -> None:
        table = {key: value if key == "name" else value * 2 for key, value in STEP_SIZES.spelled_out(name).items()}

        assert STEP_SIZES.spelled_out(table) == table
        assert STEP_SIZES.make(table) == STEP_SIZES.make(STEP_SIZES.text(table)) != STEP_SIZES.make(name)


# names, tables, numbers and functions


@pytest.mark.parametrize(
    ("given", "rule"),
    [
        (0.1, Constant(0.1)),
        (1, Constant(1.0)),
        (np.float32(0.5), Constant(0.5)),
        ("constant:0.1", Constant(0.1)),
        ("nominal", Nominal()),
        ("nominal:0.3", Nominal(initial=0.3)),
        ("Nominal_Causal:window=5,decay=0.9", NominalCausal(window=5, decay=0.9)),
        ({"name": "nominal", "initial": 0.3}, Nominal(initial=0.3)),
        ({"name": "linear:0.3", "every": 5}, Linear(initial=0.3, every=5)),
        ("ehfl.theory:Theorem:2", Theorem(eta=2)),
    ],
)
def test_a_step_size_is_made_from_a_number_a_name_or_a_table(given: object, rule: StepSize) -> None:
    assert step_size_of(given) == rule
    assert STEP_SIZES.make(step_size_table(given)) == rule


def test_a_number_is_a_table_of_the_constant_rule() -> None:
    assert step_size_table(0.1) == {"name": "constant", "value": 0.1}
    assert type(step_size_table(np.float64(0.1))["value"]) is float  # so that specs can be written as TOML


def test_a_rule_is_returned_as_it_is() -> None:
    class Halves:
        def __call__(self, counts: ArrayLike, rounds: int | None = None) -> FloatArray:
            return np.full(np.size(counts), 0.5)

    for rule in (Nominal(), Halves()):
        assert step_size_of(rule) is rule


@pytest.mark.parametrize("function", [lambda counts: np.asarray(counts) / 2, np.sqrt])
def test_a_plain_function_of_the_counts_can_be_called_with_rounds(function: object) -> None:
    rule = step_size_of(function)

    assert rule == PlainFunction(function)  # type: ignore[arg-type]
    assert rule([4.0, 0.0], rounds=9).tolist() == [2.0, 0.0]
    assert isinstance(rule, PlainFunction) and not rule.causal


@pytest.mark.parametrize("given", [True, None, [0.1], Nominal])
def test_what_is_no_step_size_is_refused_with_all_that_is(given: object) -> None:
    allowed = f"a number, one of {', '.join(NAMES)} or package.module:Class, or a table with such a name"
    for read in (step_size_of, step_size_table):
        with pytest.raises(InvalidValue) as caught:
            read(given, "arms[2].step_size")

        assert str(caught.value) == f"arms[2].step_size must be {allowed}, got {given!r}"


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (0, "step_size must be a number in [1e-30, 1e30], got 0"),
        (float("nan"), "step_size must be a number in [1e-30, 1e30], got nan"),
        ("constant:0", "step_size.value must be a number in [1e-30, 1e30], got 0"),
        ("theorem:nan", "step_size.eta must be a number in [1e-30, 1e30], got nan"),
        ({"name": "nominal", "initial": -0.1}, "step_size.initial must be a number in [1e-30, 1e30], got -0.1"),
        ({"name": "nominal", "initial": "big"}, "step_size.initial must be a number, got 'big'"),
        ({"name": "nominal", "initial": True}, "step_size.initial must be a number, got True"),
        ({"name": "linear", "decay": -1}, "step_size.decay must be a number in [1e-30, 1e30], got -1"),
        ({"name": "linear", "every": 2.5}, "step_size.every must be a whole number, got 2.5"),
        ({"name": "linear-causal", "window": 0}, "step_size.window must be a whole number >= 1, got 0"),
        (
            {"name": "nominal", "intial": 0.1},
            "step_size.intial must be a parameter of nominal, one of initial, decay, every, window, "
            "got intial (did you mean initial?)",
        ),
        ("theorem:value=1", "step_size.value must be a parameter of theorem, one of eta, got value"),
    ],
)
def test_parameters_that_do_not_fit_are_refused_in_one_line(given: object, message: str) -> None:
    with pytest.raises(InvalidValue) as caught:
        step_size_of(given)

    assert str(caught.value) == message


def test_a_misspelt_rule_is_answered_with_the_one_that_was_meant() -> None:
    with pytest.raises(InvalidValue, match=r"step_size must be one of theorem, .* got nominel \(did you mean nominal"):
        step_size_of("nominel")


@pytest.mark.parametrize("value", [0, -1.0, float("inf"), float("nan"), True, "0.1", None])
def test_a_rule_checks_its_parameters_when_it_is_made(value: float) -> None:
    for make in (Theorem, Constant, Nominal, Linear, NominalCausal, LinearCausal):
        with pytest.raises(InvalidValue, match=r"(eta|value|initial) must be a number in \[1e-30, 1e30\], got"):
            make(value)
