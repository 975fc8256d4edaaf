"""Aggregations against plain loops of what their papers write (published.py), over participations of all kinds."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pytest
from bowls import Bowls, Turns, played
from hypothesis import given, settings
from hypothesis import strategies as st
from published import (
    by_weights,
    fedau,
    fedavg,
    fedavgm,
    fedawe,
    feddyn,
    fednova,
    fedopt,
    fedprox,
    fedvarp,
    mifa,
    mifa_by_data,
    mifa_with_momentum,
    scaffold,
    weighted,
)

from ehfl.arrays import FloatArray
from ehfl.learning import (
    Aggregation,
    ByData,
    FedAdagrad,
    FedAdam,
    FedAu,
    FedAvgM,
    FedAwe,
    FedDyn,
    FedNova,
    FedProx,
    FedVarp,
    FedYogi,
    InverseProbability,
    Mean,
    Mifa,
    Rows,
    Scaffold,
    Scheduled,
    Weighted,
)

Plain = Callable[[Bowls, FloatArray, Turns, Sequence[float]], list[FloatArray]]

CHANCES = (0.2, 0.5, 0.8, 1.0)
PAIRS: dict[str, tuple[Aggregation, Plain]] = {
    "mean": (Mean(), fedavg),
    "weighted": (Weighted(), weighted),
    "inverse-probability": (InverseProbability(CHANCES), partial(by_weights, weights=[1 / p for p in CHANCES])),
    "scheduled": (Scheduled(), partial(by_weights, weights=[1.5 - 0.4 * i for i in range(4)])),
    "fednova": (FedNova(), fednova),
    "mifa by data": (ByData(of="mifa"), mifa_by_data),
    "mifa": (Mifa(), mifa),
    "mifa, server step 2/3": (Mifa(server_step=2 / 3), partial(mifa, server_step=2 / 3)),
    "fedvarp": (FedVarp(), partial(fedvarp, server_step=1.0)),
    "fedvarp, server step 1/2": (FedVarp(server_step=0.5), partial(fedvarp, server_step=0.5)),
    "fedau": (FedAu(cutoff=3), partial(fedau, cutoff=3)),
    "fedawe": (FedAwe(), partial(fedawe, server_step=1.0)),
    "fedawe, server step 1/4": (FedAwe(server_step=0.25), partial(fedawe, server_step=0.25)),
    "scaffold": (Scaffold(), partial(scaffold, server_step=1.0)),
    "scaffold, server step 3/4": (Scaffold(server_step=0.75), partial(scaffold, server_step=0.75)),
    "fedprox": (FedProx(mu=2.0), partial(fedprox, mu=2.0)),
    "feddyn": (FedDyn(alpha=0.5), partial(feddyn, alpha=0.5)),
    "fedavgm": (FedAvgM(momentum=0.8), partial(fedavgm, momentum=0.8)),
    "fedadam": (FedAdam(0.2, 0.8, 0.9, 0.1), partial(fedopt, kind="adam", step=0.2, beta1=0.8, beta2=0.9, tau=0.1)),
    "fedyogi": (FedYogi(0.2, 0.8, 0.9, 0.1), partial(fedopt, kind="yogi", step=0.2, beta1=0.8, beta2=0.9, tau=0.1)),
    "fedadagrad": (FedAdagrad(0.2, tau=0.1), partial(fedopt, kind="adagrad", step=0.2, beta1=0.0, beta2=0.0, tau=0.1)),
    "fedavgm of fedprox of mifa": (
        FedAvgM(of=FedProx(of="mifa", mu=2.0), momentum=0.5),
        partial(mifa_with_momentum, momentum=0.5, mu=2.0),
    ),
}
ETA = 0.1
START = np.array([4.0, -2.0])


def bowls_of(seed: int, steps: int, n_clients: int = 4, *, uneven: bool = False) -> Bowls:
    rng = np.random.default_rng(seed)
    return Bowls(rng.uniform(0.2, 1.0, (n_clients, 1)), rng.normal(0, 3, (n_clients, START.size)), steps, 0.3, uneven)


# Rounds with everybody, somebody and nobody, clients that return after a while and some that never come.
some_turns = st.lists(st.sets(st.integers(0, 3)).map(sorted), min_size=1, max_size=12)


def etas_of(turns: Turns, steps: Sequence[float]) -> list[float]:
    """Step sizes that vary from round to round, and are 0 in rounds without participants, as under every rule."""
    return [step if active else 0.0 for active, step in zip(turns, itertools.cycle(steps), strict=False)]


@pytest.mark.parametrize("name", PAIRS)
@settings(max_examples=20)
@given(
    turns=some_turns,
    step_sizes=st.lists(st.floats(0.01, 0.3), min_size=1, max_size=5),
    steps=st.integers(1, 3),
    seed=st.integers(0, 100),
)
def test_it_computes_what_its_paper_writes(
    name: str, turns: Turns, step_sizes: list[float], steps: int, seed: int
) -> None:
    aggregation, plain = PAIRS[name]
    bowls, etas = bowls_of(seed, steps, uneven=name == "fednova"), etas_of(turns, step_sizes)

    expected = np.array(plain(bowls, START, turns, etas))
    found, _ = played(aggregation, bowls, START, turns, etas)

    # Vectors of clients are kept in float32, all else here is float64.
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4 * max(1.0, float(np.abs(expected).max())))


def mean_of(rows: Rows) -> FloatArray:
    found: FloatArray = np.array([rows[i].numpy() for i in range(rows.n_clients)], float).mean(axis=0)
    return found


@settings(max_examples=15)
@given(turns=some_turns, seed=st.integers(0, 100))
def test_what_is_kept_beside_the_vectors_stays_their_sum_or_mean(turns: Turns, seed: int) -> None:
    bowls = bowls_of(seed, steps=2)

    for aggregation in (Mifa(), FedVarp()):
        _, state = played(aggregation, bowls, START, turns, etas_of(turns, [ETA]))
        np.testing.assert_allclose(state["total"] / 4, mean_of(state["memory"]), atol=1e-5)
    _, state = played(Scaffold(), bowls, START, turns, etas_of(turns, [ETA]))
    np.testing.assert_allclose(state["mean"], mean_of(state["controls"]), atol=1e-5)
    models, state = played(FedAwe(), bowls, START, turns, etas_of(turns, [ETA]))
    np.testing.assert_allclose(models[-1], mean_of(state["models"]), rtol=1e-4, atol=1e-4)
