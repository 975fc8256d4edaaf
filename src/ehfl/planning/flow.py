"""What any scheduler could reach, asked as a maximum flow: the plain definition beside the kernels."""

from __future__ import annotations

import numpy as np

from ehfl.planning.turns import Turns
from ehfl.validation import of_kind, whole_number


def most_turns(turns: Turns, most: int) -> int:
    """Return the largest sum over rounds of min(n_t, most) that any schedule reaches, by one maximum flow.

    Energy flows from the source into a client's battery in the round in which it comes, is kept there for later rounds
    as far as there is room, or goes to the round that the client takes part in, which hands on `most` to the sink.
    Capacities are whole, so a largest flow is, too, and it is a schedule. All rounds can have m participants if and
    only if m times their number is reached.

    >>> turns = Turns(np.array([1], np.int32), np.array([[1, 1, 0]], np.int32), np.array([1], np.int32), exact=True)
    >>> most_turns(turns, most=1)
    3
    """
    from scipy.sparse import csr_array  # it takes longer to load than most plans to print
    from scipy.sparse.csgraph import maximum_flow

    of_kind("turns", turns, Turns)
    most = whole_number("most", most, low=0)
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
