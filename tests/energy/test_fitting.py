"""Bernoulli and Markov fitted to rounds: by hand, on data made by the models, and what neither can have."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ehfl.energy import Bernoulli, Markov
from ehfl.energy.study.fitting import fit, fit_trace
from ehfl.energy.traces.trace import Trace
from ehfl.validation import InvalidValue

RUNS = 400  # of a model, to see whether errors are as large as they are said to be


def chains(stay_on: float, stay_off: float, rounds: int, several: int, seed: int) -> NDArray[np.bool_]:
    """Return Markov chains that begin in their stationary law, (rounds, several)."""
    draws = np.random.default_rng(seed).random((rounds, several))
    states = np.empty((rounds, several), dtype=bool)
    states[0] = draws[0] < (1 - stay_off) / (2 - stay_on - stay_off)
    for t in range(1, rounds):
        states[t] = draws[t] < np.where(states[t - 1], stay_on, 1 - stay_off)
    return states


def test_parameters_likelihood_and_runs_by_hand() -> None:
    found = fit(np.array([[0, 1, 1, 0, 0, 0, 1, 0, 1, 1]], dtype=bool).T, "roof")

    # transitions: 0-1 three times, 1-1 twice, 1-0 twice, 0-0 twice
    assert (found.rounds, found.rate.value, found.stay_on.value, found.stay_off.value) == (9, 5 / 9, 0.5, 0.4)
    assert found.stay_on.error == pytest.approx(math.sqrt(0.25 / 4))
    assert found.stay_off.error == pytest.approx(math.sqrt(0.24 / 5))
    correlation = 0.5 + 0.4 - 1
    assert found.rate.error == pytest.approx(
        math.sqrt(5 / 9 * 4 / 9 / 9) * math.sqrt((1 + correlation) / (1 - correlation))
    )
    assert found.log_likelihood["bernoulli"] == pytest.approx(5 * math.log(5 / 9) + 4 * math.log(4 / 9))
    assert found.log_likelihood["markov"] == pytest.approx(4 * math.log(0.5) + 2 * math.log(0.4) + 3 * math.log(0.6))
    assert found.bic("markov") == pytest.approx(2 * math.log(9) - 2 * found.log_likelihood["markov"])
    assert found.on_runs.tolist() == [1, 2] and found.off_runs.tolist() == [1, 3]  # the first and last are cut off
    assert math.isnan(found.misses("markov"))  # four runs say nothing


@pytest.mark.parametrize(("stay_on", "stay_off"), [(0.9, 0.8), (0.3, 0.2), (0.99, 0.95), (0.4, 0.6)])
def test_parameters_of_data_made_by_the_model_are_met_within_their_errors(stay_on: float, stay_off: float) -> None:
    """A deviation over its error is about standard normal; the mean square of n of them errs by sqrt(2 / n).

    A twentieth more is allowed for, since the law is normal only for infinitely many rounds.
    """
    states = chains(stay_on, stay_off, rounds=6000, several=RUNS, seed=5)
    rate = (1 - stay_off) / (2 - stay_on - stay_off)
    fits = [fit(states[:, [run]], "") for run in range(RUNS)]

    for truth, found in (
        (stay_on, [one.stay_on for one in fits]),
        (stay_off, [one.stay_off for one in fits]),
        (rate, [one.rate for one in fits]),
    ):
        deviations = np.array([(one.value - truth) / one.error for one in found])
        assert abs(deviations.mean()) < 5 / math.sqrt(RUNS) + 0.05
        assert abs((deviations**2).mean() - 1) < 5 * math.sqrt(2 / RUNS) + 0.05


def test_harvests_of_both_kinds_are_found_again() -> None:
    """Five standard errors are passed once in some 10^6 cases."""
    markov = fit(Markov(stay_on=0.95, stay_off=0.9).units(3, range(4000), range(5)) > 0, "")
    coin = fit(Bernoulli(rate=0.2).units(3, range(4000), range(5)) > 0, "")

    assert (markov.better, coin.better) == ("markov", "bernoulli")
    assert abs(markov.stay_on.value - 0.95) < 5 * markov.stay_on.error
    assert abs(markov.stay_off.value - 0.9) < 5 * markov.stay_off.error
    assert abs(coin.rate.value - 0.2) < 5 * coin.rate.error


def test_the_better_model_is_the_one_that_made_the_data() -> None:
    markov = fit(chains(0.9, 0.8, 3000, 3, seed=1), "")
    coin = fit(chains(0.3, 0.7, 3000, 3, seed=2), "")  # on with 0.3 whatever was before

    assert markov.better == "markov" and markov.bic("bernoulli") - markov.bic("markov") > 1000
    assert coin.better == "bernoulli" and coin.stay_on.value == pytest.approx(0.3, abs=5 * coin.stay_on.error)
    # Runs of the true model miss by some 1 / sqrt(runs) (Kolmogorov), those of the other by far more.
    assert markov.misses("markov") < 2.5 / math.sqrt(markov.on_runs.size) < 0.3 < markov.misses("bernoulli")


def test_the_time_of_day_explains_the_sun_and_no_chain() -> None:
    hours = np.arange(24 * 60) % 24
    sun = np.stack([(hours > 5) & (hours < 18), (hours > 8) & (hours < 21)], axis=1)  # two time zones

    assert fit(sun, "", hours).time_of_day == pytest.approx(1)
    assert fit(chains(0.5, 0.5, 24 * 60, 5, seed=3), "", hours).time_of_day < 0.01
    assert math.isnan(fit(sun, "").time_of_day)
    assert math.isnan(fit(np.ones_like(sun), "", hours).time_of_day)


def test_rounds_that_are_all_alike_leave_no_chain_to_fit() -> None:
    always = fit(np.ones((30, 1), dtype=bool), "")

    assert (always.rate.value, always.stay_on.value) == (1, 1) and math.isnan(always.stay_off.value)
    assert always.better == "bernoulli" and always.log_likelihood == {"bernoulli": 0, "markov": 0}


def written(folder: Path, power: NDArray[np.float64]) -> Trace:
    path = folder / "trace.csv"
    lines = [f"{3600 * k},{','.join(map(repr, row))}" for k, row in enumerate(power.tolist())]
    path.write_text("time,roof,wall\n" + "\n".join(lines), encoding="utf-8")
    return Trace(path, watts=2)


def test_a_trace_is_on_where_a_round_brings_the_unit(tmp_path: Path) -> None:
    states = chains(0.9, 0.8, 24 * 50, 2, seed=7)
    trace = written(tmp_path, np.where(states, [[1.0, 3.0]], 0.125))

    fits = fit_trace(trace, 3600, unit=2 * 3600)
    for column in range(2):
        assert fits.columns[column].stay_on == fit(states[:, [column]], "").stay_on
    assert (fits.together.rounds, fits.columns[1].name) == (2 * (24 * 50 - 1), "wall")
    assert fits.together.arrival * fits.together.rate.value == pytest.approx(trace.record.watts.mean() * 2 * 3600)
    assert fits.spread == pytest.approx(
        np.where(states, [[1.0, 3.0]], 0)[states].std() / trace.record.watts[states].mean()
    )
    assert fit_trace(trace, 3600).unit == pytest.approx(trace.record.watts.mean() * 3600)  # half the mean of twice it
    assert fit_trace(trace, 3600, unit=4 * 3600).columns[0].rate.value == 0


def test_what_cannot_be_fitted_is_refused(tmp_path: Path) -> None:
    trace = written(tmp_path, np.ones((48, 2)))
    with pytest.raises(
        InvalidValue, match=r"round_length must be so short that the trace, which lasts 2 d, has 20 rou"
    ):
        fit_trace(trace, 3 * 3600)
    with pytest.raises(
        InvalidValue, match=r"round_length must be so long that the trace, .* has 10,000,000 rounds at m"
    ):
        fit_trace(trace, 1e-3)
    with pytest.raises(InvalidValue, match=r"unit must be a number in \(0, 1e12\], got -1"):
        fit_trace(trace, 3600, unit=-1)
    with pytest.raises(InvalidValue, match=r"file must be a trace with some power in it, got trace.csv with none"):
        fit_trace(written(tmp_path, np.zeros((49, 2))), 3600)
