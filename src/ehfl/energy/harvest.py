"""What a harvest must offer, and all of them by name."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from ehfl.arrays import FloatArray, IntArray
from ehfl.registry import Registry
from ehfl.validation import InvalidValue


class Harvest(Protocol):
    """Energy that reaches each client in each round: a pure function of (seed, client, round).

    Implement both methods with NumPy and any fleet runs on it. Draw chance from `ehfl.randomness.words`, never from a
    generator that moves, so that every scheduler meets the same weather and any part of it can be computed alone:

    >>> from dataclasses import dataclass
    >>> import numpy as np
    >>> from ehfl.randomness import Purpose, words
    >>> @dataclass(frozen=True)
    ... class Daylight:
    ...     '''Half the chance at dawn and dusk, none at night; 24 rounds a day.'''
    ...     def units(self, seed, rounds, clients):
    ...         sun = np.clip(np.sin((np.asarray(rounds) % 24 - 6) / 12 * np.pi), 0, 1)
    ...         return (words(seed, Purpose.HARVEST, rounds, clients) < sun[:, None] * 2.0**32).astype(np.uint8)
    ...     def mean_rates(self, n_clients):
    ...         return np.full(n_clients, 1 / np.pi)
    >>> Daylight().units(seed=0, rounds=range(24), clients=range(100)).sum(axis=1)[[0, 12]].tolist()
    [0, 100]

    A class may declare `per_client`, a tuple of those of its parameters that are one value for all clients or one for
    each: specs then take them as a number, a list, a file or { low, high }, as they do bernoulli's rate. It may have a
    third method, `expected(rounds, clients)`: what a forecaster knows beforehand, like `units` but in floats; without
    it that is the mean rate.
    """

    def units(self, seed: int, rounds: range, clients: range) -> IntArray:
        """Return A_i(t), shape (len(rounds), len(clients)): whole numbers of the fleet's unit, none negative."""
        ...

    def mean_rates(self, n_clients: int) -> FloatArray:
        """Return E[A_i(t)] of clients 0..n_clients-1, shape (n_clients,) [units a round]."""
        ...


def rates_of(harvest: Harvest, n_clients: int) -> FloatArray:
    """Return the mean rates of a harvest, if they are as they must be."""
    given = np.asarray(harvest.mean_rates(n_clients))  # refuses another number of clients itself
    allowed = f"{n_clients} finite numbers >= 0"
    if given.dtype.kind not in "iuf":
        raise InvalidValue("harvest.mean_rates", allowed, f"an array of {given.dtype}")
    if given.shape != (n_clients,):
        raise InvalidValue("harvest.mean_rates", allowed, f"shape {given.shape}")
    looked_at = given[:1] if given.strides == (0,) else given  # one number for all needs no array as long as a fleet
    wrong = ~(np.isfinite(looked_at) & (looked_at >= 0))
    if wrong.any():
        client = int(wrong.argmax())
        raise InvalidValue("harvest.mean_rates", allowed, f"{given[client]} for client {client}")
    rates: FloatArray = given.astype(np.float64, copy=False)
    return rates.view()


def per_client_parameters(given: object, key: str = "") -> tuple[str, ...]:
    """Return which parameters of a harvest, named as in a spec, may be one value for each client.

    >>> per_client_parameters("bernoulli:0.5")
    ('rate',)
    """
    return HARVESTS.names_declared(given, "per_client", key)


HARVESTS: Registry[Harvest] = Registry(
    "harvest",
    {
        "bernoulli": "ehfl.energy.bernoulli:Bernoulli",
        "replay": "ehfl.energy.replay:Replay",
        "markov": "ehfl.energy.markov:Markov",
        "poisson": "ehfl.energy.poisson:Poisson",
        "compound": "ehfl.energy.compound:Compound",
        "periodic": "ehfl.energy.periodic:Periodic",
        "trace": "ehfl.energy.trace:Trace",
        "sun": "ehfl.energy.sun:Sun",
        "wind": "ehfl.energy.wind:Wind",
    },
    methods=("units", "mean_rates"),
    or_methods=("watts", "mean_watts"),  # of a PowerHarvest, which a fleet in joules makes whole quanta of
)
