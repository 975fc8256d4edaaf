"""The algorithms as their papers write them: plain loops over NumPy vectors, in the order of the pseudo-code.

Signs are the papers': updates are sums of gradients, and the server goes against them. Each function returns x_1, x_2,
..., x_T, (rounds, dimension). Step sizes are one a round, 0 in rounds without participants.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from bowls import Bowls, Turns

from ehfl.arrays import FloatArray


def fedavg(bowls: Bowls, x: FloatArray, turns: Turns, etas: Sequence[float]) -> list[FloatArray]:
    """McMahan et al. 2017, algorithm 1, with clients that count alike."""
    return fedprox(bowls, x, turns, etas, mu=0.0)


def weighted(bowls: Bowls, x: FloatArray, turns: Turns, etas: Sequence[float]) -> list[FloatArray]:
    """McMahan et al. 2017, algorithm 1: w_{t+1} = sum over S_t of (n_k / m_t) w^k, m_t = sum over S_t of n_k."""
    found = []
    for t, (active, eta) in enumerate(zip(turns, etas, strict=True)):
        m = sum(bowls.examples_of(i) for i in active)
        if active:
            x = sum((bowls.examples_of(i) / m * bowls.trained(i, x, t, eta) for i in active), np.zeros_like(x))
        found.append(x)
    return found


def by_weights(
    bowls: Bowls, x: FloatArray, turns: Turns, etas: Sequence[float], weights: Sequence[float]
) -> list[FloatArray]:
    """x_{t+1} = x_t + (1/N) sum over S_t of w_i Delta_i; w_i = 1 / p_i is Horvitz and Thompson 1952."""
    found = []
    for t, (active, eta) in enumerate(zip(turns, etas, strict=True)):
        deltas = {i: bowls.trained(i, x, t, eta) - x for i in active}
        x = x + sum((weights[i] * deltas[i] for i in active), np.zeros_like(x)) / bowls.n_clients
        found.append(x)
    return found


def fednova(bowls: Bowls, x: FloatArray, turns: Turns, etas: Sequence[float]) -> list[FloatArray]:
    """Wang et al. 2020, equation 6 for plain SGD: d_i is the mean gradient of client i's steps, p_i = 1 / |S_t|."""
    found = []
    for t, (active, eta) in enumerate(zip(turns, etas, strict=True)):
        tau = sum(bowls.steps_of(i) for i in active) / max(len(active), 1)
        d = {i: (x - bowls.trained(i, x, t, eta)) / (eta * bowls.steps_of(i)) for i in active}
        x = x - tau * sum((eta * d[i] / len(active) for i in active), np.zeros_like(x))
        found.append(x)
    return found


def mifa_by_data(bowls: Bowls, x: FloatArray, turns: Turns, etas: Sequence[float]) -> list[FloatArray]:
    """MIFA for f = sum of D_i f_i / D, where D_i of a client that has not come yet is the mean of the others."""
    n, found = bowls.n_clients, []
    g, heard = np.zeros((n, x.size)), set[int]()
    for t, (active, eta) in enumerate(zip(turns, etas, strict=True)):
        for i in active:
            g[i] = (x - bowls.trained(i, x, t, eta)) / eta
        heard |= set(active)
        d = [bowls.examples_of(i) if i in heard else 0.0 for i in range(n)]
        if heard:
            x = x - eta * sum((d[i] * g[i] for i in range(n)), np.zeros_like(x)) / (n * sum(d) / len(heard))
        found.append(x)
    return found


def mifa(
    bowls: Bowls, x: FloatArray, turns: Turns, etas: Sequence[float], server_step: float = 1.0
) -> list[FloatArray]:
    """Gu et al. 2021, algorithm 1, without the wait for everybody's first update (their code's `fdu_no_wait`)."""
    n, found = bowls.n_clients, []
    g = np.zeros((n, x.size))
    for t, (active, eta) in enumerate(zip(turns, etas, strict=True)):
        for i in active:
            g[i] = (x - bowls.trained(i, x, t, eta)) / eta
        x = x - server_step * eta / n * g.sum(axis=0)
        found.append(x)
    return found


def fedvarp(bowls: Bowls, x: FloatArray, turns: Turns, etas: Sequence[float], server_step: float) -> list[FloatArray]:
    """Jhunjhunwala et al. 2022, algorithm 1, where updates are divided by eta K."""
    found, y = [], np.zeros((bowls.n_clients, x.size))
    for t, (active, eta) in enumerate(zip(turns, etas, strict=True)):
        delta = {i: (x - bowls.trained(i, x, t, eta)) / (eta * bowls.steps) for i in active}
        v = y.mean(axis=0)
        for i in active:
            v = v + (delta[i] - y[i]) / len(active)
        x = x - server_step * eta * bowls.steps * v
        for i in active:
            y[i] = delta[i]
        found.append(x)
    return found


def fedau(
    bowls: Bowls, x: FloatArray, turns: Turns, etas: Sequence[float], cutoff: int, server_step: float = 1.0
) -> list[FloatArray]:
    """Wang and Ji 2024, algorithms 1 and 2: omega_i is the mean length of i's intervals that have ended."""
    n, found = bowls.n_clients, []
    omega, intervals, length = [1.0] * n, [0] * n, [0] * n
    for t, (active, eta) in enumerate(zip(turns, etas, strict=True)):
        for_all = sum((omega[i] * (bowls.trained(i, x, t, eta) - x) for i in active), np.zeros_like(x))
        for i in range(n):
            length[i] += 1
            if i in active or length[i] == cutoff:
                past = intervals[i] * omega[i] if intervals[i] else 0.0
                omega[i], intervals[i], length[i] = (past + length[i]) / (intervals[i] + 1), intervals[i] + 1, 0
        x = x + server_step / n * for_all
        found.append(x)
    return found


def fedawe(bowls: Bowls, x: FloatArray, turns: Turns, etas: Sequence[float], server_step: float) -> list[FloatArray]:
    """Xiang et al. 2024, algorithm 1; the mean of all clients' models is what is evaluated."""
    n, found = bowls.n_clients, []
    models, tau = [x] * n, [-1] * n
    for t, (active, eta) in enumerate(zip(turns, etas, strict=True)):
        reported = []
        for i in active:
            innovation = models[i] - bowls.trained(i, models[i], t, eta)
            reported.append(models[i] - server_step * (t - tau[i]) * innovation)
            tau[i] = t
        for i in active:
            models[i] = np.mean(reported, axis=0)
        found.append(np.mean(models, axis=0))
    return found


def scaffold(bowls: Bowls, x: FloatArray, turns: Turns, etas: Sequence[float], server_step: float) -> list[FloatArray]:
    """Karimireddy et al. 2020, algorithm 1, option II."""
    n, found = bowls.n_clients, []
    controls, control = np.zeros((n, x.size)), np.zeros_like(x)
    for t, (active, eta) in enumerate(zip(turns, etas, strict=True)):
        models, renewed = {}, {}
        for i in active:
            models[i] = bowls.trained(i, x, t, eta, shift=control - controls[i])
            renewed[i] = controls[i] - control + (x - models[i]) / (bowls.steps * eta)
        if active:
            x = x + server_step * np.mean([models[i] - x for i in active], axis=0)
            control = control + len(active) / n * np.mean([renewed[i] - controls[i] for i in active], axis=0)
        for i in active:
            controls[i] = renewed[i]
        found.append(x)
    return found


def fedprox(bowls: Bowls, x: FloatArray, turns: Turns, etas: Sequence[float], mu: float) -> list[FloatArray]:
    """Li et al. 2020, algorithm 2, with K gradient steps for the inexact solution and the plain mean of models."""
    found = []
    for t, (active, eta) in enumerate(zip(turns, etas, strict=True)):
        if active:
            x = np.mean([bowls.trained(i, x, t, eta, pull=mu) for i in active], axis=0)
        found.append(x)
    return found


def fedopt(
    bowls: Bowls, x: FloatArray, turns: Turns, etas: Sequence[float], kind: str, *,
    step: float, beta1: float, beta2: float, tau: float,
) -> list[FloatArray]:  # fmt: skip
    """Reddi et al. 2021, algorithm 2, with clients that count alike; `kind` is adagrad, adam or yogi."""
    found, m, v = [], np.zeros_like(x), np.full_like(x, tau**2)
    for t, (active, eta) in enumerate(zip(turns, etas, strict=True)):
        if active:
            delta = np.mean([bowls.trained(i, x, t, eta) - x for i in active], axis=0)
            m = beta1 * m + (1 - beta1) * delta
            if kind == "adagrad":
                v = v + delta**2
            elif kind == "yogi":
                v = v - (1 - beta2) * delta**2 * np.sign(v - delta**2)
            else:
                v = beta2 * v + (1 - beta2) * delta**2
            x = x + step * m / (np.sqrt(v) + tau)
        found.append(x)
    return found


def fedavgm(bowls: Bowls, x: FloatArray, turns: Turns, etas: Sequence[float], momentum: float) -> list[FloatArray]:
    """Hsu et al. 2019, section 4.3."""
    found, v = [], np.zeros_like(x)
    for t, (active, eta) in enumerate(zip(turns, etas, strict=True)):
        if active:
            v = momentum * v + np.mean([x - bowls.trained(i, x, t, eta) for i in active], axis=0)
            x = x - v
        found.append(x)
    return found


def feddyn(bowls: Bowls, x: FloatArray, turns: Turns, etas: Sequence[float], alpha: float) -> list[FloatArray]:
    """Acar et al. 2021, algorithm 1, with K gradient steps for the clients' problems."""
    n, found = bowls.n_clients, []
    gradients, h = np.zeros((n, x.size)), np.zeros_like(x)
    for t, (active, eta) in enumerate(zip(turns, etas, strict=True)):
        thetas = {i: bowls.trained(i, x, t, eta, pull=alpha, shift=-gradients[i]) for i in active}
        for i in active:
            gradients[i] = gradients[i] - alpha * (thetas[i] - x)
        if active:
            h = h - alpha / n * sum((thetas[i] - x for i in active), np.zeros_like(x))
            x = np.mean(list(thetas.values()), axis=0) - h / alpha
        found.append(x)
    return found


def mifa_with_momentum(
    bowls: Bowls, x: FloatArray, turns: Turns, etas: Sequence[float], momentum: float, mu: float
) -> list[FloatArray]:
    """MIFA's step, of clients that are held back as FedProx's, as the gradient of FedAvgM."""
    n, found = bowls.n_clients, []
    g, v = np.zeros((n, x.size)), np.zeros_like(x)
    for t, (active, eta) in enumerate(zip(turns, etas, strict=True)):
        for i in active:
            g[i] = (x - bowls.trained(i, x, t, eta, pull=mu)) / eta
        if active:
            v = momentum * v + eta / n * g.sum(axis=0)
            x = x - v
        found.append(x)
    return found
