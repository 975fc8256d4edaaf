from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ehfl.theory import STEP_SIZES, make_step_size
from ehfl.theory.step_sizes import constant, linear, linear_causal, nominal, nominal_causal, theorem

COUNTS = st.lists(st.integers(0, 50), min_size=1, max_size=65)


def window_means(etas: np.ndarray, counts: list[int], window: int) -> list[tuple[int, float]]:
    """The mean over each window's non-empty rounds, for windows that have any."""
    found = []
    for start in range(0, len(counts), window):
        busy = [eta for eta, n in zip(etas[start : start + window], counts[start : start + window], strict=True) if n]
        if busy:
            found.append((start // window, float(np.mean(busy))))
    return found


def test_theorem_is_eta_times_the_root_of_n_over_t() -> None:
    assert theorem([4, 9, 0, 1], eta=2.0).tolist() == pytest.approx([2.0, 3.0, 0.0, 1.0])


@given(COUNTS)
@pytest.mark.parametrize("rule", [nominal, linear])
def test_each_windows_mean_is_the_papers_nominal_value(rule: object, counts: list[int]) -> None:
    etas = rule(counts)  # type: ignore[operator]

    for index, mean in window_means(etas, counts, 10):
        assert mean == pytest.approx(0.15 * 0.99**index, rel=1e-14)


@given(COUNTS)
def test_within_a_window_nominal_goes_with_the_root_and_linear_with_the_count(counts: list[int]) -> None:
    first = np.array(counts[:10])
    busy = first > 0
    if busy.any():
        for etas, weight in ((nominal(counts), np.sqrt(first)), (linear(counts), first)):
            ratios = etas[:10][busy] / weight[busy]
            assert ratios == pytest.approx(np.full(ratios.shape, ratios[0]), rel=1e-13)


@given(COUNTS, st.integers(0, 64))
@pytest.mark.parametrize("rule", [nominal_causal, linear_causal])
def test_a_causal_twin_does_not_look_ahead(rule: object, counts: list[int], changed: int) -> None:
    t = changed % len(counts)
    other = [*counts[:t], *(n + 1 for n in counts[t:])]

    before, after = (rule(given)[:t].tolist() for given in (counts, other))  # type: ignore[operator]

    assert before == after


def test_the_causal_twin_starts_at_the_nominal_value_and_then_uses_the_past_window() -> None:
    counts = [4, 0, 0, 0, 1, 9]
    etas = nominal_causal(counts, initial=1.0, decay=0.5, every=2, window=2)

    assert etas.tolist() == [1.0, 0.0, 0.0, 0.0, 0.25 * 1 / 2, 0.25 * 3 / 2]  # the empty window is passed over


def test_a_steady_fleet_has_the_same_steps_with_and_without_foresight() -> None:
    counts = [5] * 30

    for rule, twin in ((nominal, nominal_causal), (linear, linear_causal)):
        assert rule(counts).tolist() == pytest.approx(twin(counts).tolist())


@pytest.mark.parametrize("name", STEP_SIZES)
def test_every_rule_gives_one_finite_step_a_round_and_none_to_empty_rounds(name: str) -> None:
    counts = np.array([0, 3, 1, 0, 0, 7, 2, 0, 0, 0, 0, 4, 0])
    before = counts.copy()

    etas = make_step_size(name)(counts)

    assert etas.shape == counts.shape
    assert np.isfinite(etas).all()
    assert ((etas > 0) == (counts > 0)).all()
    assert (counts == before).all()


@pytest.mark.parametrize("counts", [[], [1.5], [-1], [[1, 2]]])
def test_what_cannot_be_counts_is_refused(counts: object) -> None:
    with pytest.raises(ValueError, match="counts must be whole numbers >= 0, one a round"):
        constant(counts)  # type: ignore[arg-type]


def test_a_misspelt_rule_is_answered_with_the_one_that_was_meant() -> None:
    with pytest.raises(ValueError, match="did you mean nominal"):
        make_step_size("nominel")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("constant", {"value": 0}),
        ("nominal", {"decay": -1}),
        ("nominal", {"window": 0}),
        ("theorem", {"eta": float("nan")}),
    ],
)
def test_options_out_of_range_are_refused(name: str, options: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        make_step_size(name, **options)([1])
