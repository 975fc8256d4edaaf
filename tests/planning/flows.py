"""What any scheduler could reach, as a maximum flow and as a linear program: plain definitions beside the kernels."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ehfl.arrays import FloatArray
from ehfl.energy import Fleet
from ehfl.planning.turns import Income, TurnBatteries, income_of


def most_turns(turns: TurnBatteries, most: int) -> int:
    """Return the largest sum over rounds of min(n_t, most) that any schedule reaches, by one maximum flow.

    Energy flows from the source into a client's battery in the round in which it comes, is kept there for later rounds
    as far as there is room, or goes to the round that the client takes part in, which hands on `most` to the sink.
    Capacities are whole, so a largest flow is, too, and it is a schedule. All rounds can have m participants if and
    only if m times their number is reached.

    >>> one, arrivals = np.array([1], np.int32), np.array([[1, 1, 0]], np.int32)
    >>> most_turns(TurnBatteries(one, arrivals, capacity=one, exact=True), most=1)
    3
    """
    from scipy.sparse import csr_array  # it takes longer to load than most plans to print
    from scipy.sparse.csgraph import maximum_flow

    n_clients, n_rounds = turns.arrivals.shape
    cells = np.arange(n_clients * n_rounds).reshape(n_clients, n_rounds)  # a battery as round t begins
    after = cells + cells.size  # and while it harvests
    rounds = 2 * cells.size + np.arange(n_rounds)
    source, sink = rounds[-1] + 1, rounds[-1] + 2
    edges = [
        (np.full(n_clients, source), cells[:, 0], turns.start),
        (np.full(cells.size, source), after, turns.arrivals),
        (cells, after, np.full(cells.size, n_rounds)),
        (after[:, :-1], cells[:, 1:], np.repeat(turns.capacity, n_rounds - 1)),
        (cells, np.tile(rounds, n_clients), np.ones(cells.size)),
        (rounds, np.full(n_rounds, sink), np.full(n_rounds, min(most, n_clients))),
    ]
    tails, heads, capacities = (np.concatenate([np.ravel(edge[k]) for edge in edges]) for k in range(3))
    graph = csr_array((capacities.astype(np.int32), (tails, heads)), shape=(sink + 1, sink + 1))
    return int(maximum_flow(graph, int(source), int(sink)).flow_value)


_EPSILON = 1e-6  # the solver's tolerance, as seen in sums over clients


@dataclass(frozen=True, slots=True)
class LinearBound:
    """Upper bounds: no scheduler gets more, and perhaps none gets as much."""

    least: int  # of min n_t over the rounds from `first` on
    mean_sqrt: float  # of the mean of sqrt(n_t) over them
    first: int


def linear_bound(fleet: Fleet, rounds: int, seed: int = 0, *, first: int | None = None) -> LinearBound:
    """Return what could be reached if clients could take part by halves, too: two linear programs, solved exactly.

    Over x_it in [0, 1] and levels e_it in [0, capacity],

        cost_i x_it <= e_it,   e_i,t+1 <= (1 - l_i) (e_it - cost_i x_it) + stored_it,   n_t = sum_i x_it,

    the largest min n_t, rounded down, and the largest mean of sqrt(n_t), which between whole numbers is taken as a
    straight line. Losses are linear: l = leak + drain / capacity is at most what is lost at any level, and one quantum
    a round is added for rounding. It takes halves of turns of two clients for one of one; wherever it was tried,
    `clairvoyant` was not above it, and hundreds of times as fast. It is kept as a check by other means.
    Q. Huangfu and J. Hall, Mathematical Programming Computation 10, 2018 (HiGHS).

    >>> from ehfl.energy import Replay
    >>> fleet = Fleet(clients=2, harvest=Replay([[3, 1], [3, 1], [3, 1]]), capacity=5, cost=2)
    >>> bound = linear_bound(fleet, rounds=3)
    >>> bound.least, round(bound.mean_sqrt, 3)
    (1, 1.207)
    """
    income = income_of(fleet, rounds, seed, first)
    from scipy.sparse import eye_array, kron  # it takes longer to load than most plans to print

    n_rounds = rounds - income.first
    if n_rounds == 0:  # nobody can ever take part
        return LinearBound(0, 0.0, income.first)
    least = _largest(fleet, income, np.ones((1, 1)), np.ones((n_rounds, 1)))
    steps = np.sqrt(np.arange(1, fleet.clients + 1)) - np.sqrt(np.arange(fleet.clients))  # of sqrt, falling
    pieces = kron(eye_array(n_rounds), np.ones((1, fleet.clients)))
    total = _largest(fleet, income, np.tile(steps, n_rounds), pieces, most=1.0)
    return LinearBound(math.floor(least + _EPSILON), total / n_rounds, income.first)


def _largest(fleet: Fleet, income: Income, gains: Any, uses: Any, most: float = math.inf) -> float:
    """Return the largest gains' y over y in [0, most] with uses y <= n_t, n_t as the fleet can pay for."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, eye_array, hstack, kron, vstack

    rows, right, bounds = _batteries(fleet, income)
    n_rounds = income.stored.shape[1]
    gains = np.ravel(gains)
    per_round = kron(np.ones((1, fleet.clients)), eye_array(n_rounds))
    nothing = csr_array((n_rounds, fleet.clients * n_rounds))
    spent = hstack([-per_round, nothing, csr_array(uses)])
    padded = hstack([rows, csr_array((rows.shape[0], gains.size))])
    goal = np.append(np.zeros(rows.shape[1]), -gains)
    limits = np.vstack([bounds, np.tile([0.0, most], (gains.size, 1))])
    found = linprog(
        goal, A_ub=vstack([padded, spent], format="csr"), b_ub=np.append(right, np.zeros(n_rounds)), bounds=limits
    )
    assert found.success, found.message  # taking part in nothing is always possible
    return -float(found.fun)


def _batteries(fleet: Fleet, income: Income) -> tuple[Any, FloatArray, FloatArray]:
    """Return rows and right sides over (x_it, e_it), energies in turns of the client, and bounds of these variables."""
    from scipy.sparse import coo_array, eye_array, hstack, vstack

    n_clients, n_rounds = income.stored.shape
    cost = np.broadcast_to(fleet.costs, (n_clients,)).astype(np.float64)
    most = np.broadcast_to(np.where(fleet.endless, np.inf, fleet.ceilings), (n_clients,)) / cost
    lost, rounding = _losses(fleet)
    cells = np.arange(n_clients * n_rounds).reshape(n_clients, n_rounds)
    now, later = cells[:, :-1].ravel(), cells[:, 1:].ravel()
    kept = np.repeat(1 - lost, n_rounds - 1)
    size = cells.size
    identity = eye_array(size)
    payable = hstack([identity, -identity])
    carried = coo_array(
        (
            np.concatenate([kept, -kept, np.ones(now.size)]),
            (np.tile(np.arange(now.size), 3), np.concatenate([now, size + now, size + later])),
        ),
        shape=(now.size, 2 * size),
    )
    stored = (income.stored[:, :-1] + rounding) / cost[:, None]
    tops = np.repeat(most, n_rounds)
    tops[cells[:, 0]] = income.level / cost
    bounds = np.zeros((2 * size, 2))
    bounds[:size, 1] = np.repeat(most >= 1, n_rounds)
    bounds[size:, 1] = tops
    return vstack([payable, carried]), np.append(np.zeros(size), stored.ravel()), bounds


def _losses(fleet: Fleet) -> tuple[FloatArray, int]:
    """Return the share of its level that each battery loses a round at least, and what rounding may give back."""
    if fleet.storage is None:
        return np.zeros(fleet.clients), 0
    capacity = np.where(fleet.endless, np.inf, np.maximum(fleet.ceilings, 1))
    share = np.minimum(fleet.storage.leak + fleet.storage.drain / capacity, 1)
    return np.broadcast_to(share, (fleet.clients,)), int(share.any())
