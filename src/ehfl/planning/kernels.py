"""The most even assignment of a fleet's turns; `flow` is the plain definition, `clairvoyant` has the proof.

A plan is `takes_part` (n_clients, n_rounds), 0 or 1, with the resulting `levels` (n_clients, n_rounds + 1), in turns. A
client's turn can be moved from round s to an earlier round t if its battery is not empty after any of the rounds
t..s-1, and from s to a later round t if its battery is not full at the beginning of any of the rounds s+1..t.
"""

from __future__ import annotations

import numpy as np

from ehfl.compiled import kernel

_DONE = np.int32(2**31 - 1)  # marks cells that no later search needs to visit


@kernel
def usable_units(start, arrivals, capacity):
    """Return the usable units of all clients, oldest first: the start index per client, releases, deadlines.

    With the oldest unit used first, unit k is pushed out by unit k + capacity, so it can be used from its own release
    until the round before that one's. A client uses one a round: units for which no round is left are dropped, and a
    deadline leaves time for those behind it.
    """
    n_clients, n_rounds = arrivals.shape
    begins = np.zeros(n_clients + 1, np.int64)
    releases = np.empty(n_clients * n_rounds, np.int32)
    deadlines = np.empty(n_clients * n_rounds, np.int32)
    kept = 0
    for client in range(n_clients):
        came = np.empty(start[client] + arrivals[client].sum(), np.int32)
        came[: start[client]] = 0
        unit = start[client]
        for t in range(n_rounds):
            for _ in range(arrivals[client, t]):
                came[unit] = t + 1
                unit += 1
        first, last_used = kept, -1
        for k in range(came.size):
            behind = k + capacity[client]
            deadline = came[behind] - 1 if behind < came.size else n_rounds - 1
            earliest = max(came[k], last_used + 1)
            if earliest <= deadline:
                releases[kept] = came[k]
                deadlines[kept] = deadline
                kept += 1
                last_used = earliest
        for k in range(kept - 2, first - 1, -1):
            deadlines[k] = min(deadlines[k], deadlines[k + 1] - 1)
        begins[client + 1] = kept
    return begins, releases[:kept].copy(), deadlines[:kept].copy()


@kernel
def earliest_deadlines(begins, releases, deadlines, most, takes_part):
    """Schedule the earliest deadlines first, at most `most` per round; return the participants of each round."""
    n_clients, n_rounds = takes_part.shape
    takes_part[:] = 0
    heads = begins[:-1].copy()  # each client's oldest unit
    counts = np.zeros(n_rounds, np.int32)
    waiting = np.empty(n_rounds, np.int32)  # clients that could take part, by deadline
    for t in range(n_rounds):
        waiting[t:] = 0
        able = 0
        for client in range(n_clients):
            end = begins[client + 1]
            while heads[client] < end and deadlines[heads[client]] < t:
                heads[client] += 1
            if heads[client] < end and releases[heads[client]] <= t:
                waiting[deadlines[heads[client]]] += 1
                able += 1
        counts[t] = min(most, able)
        cut, room = t, counts[t]
        while cut < n_rounds and waiting[cut] < room:
            room -= waiting[cut]
            cut += 1
        for client in range(n_clients):
            head = heads[client]
            if head < begins[client + 1] and releases[head] <= t and deadlines[head] <= cut:
                if deadlines[head] == cut:
                    if room == 0:
                        continue
                    room -= 1
                takes_part[client, t] = 1
                heads[client] += 1
    return counts


@kernel
def levels_of(start, arrivals, capacity, takes_part):
    """Return the levels that result from a plan, (n_clients, n_rounds + 1)."""
    n_clients, n_rounds = arrivals.shape
    levels = np.empty((n_clients, n_rounds + 1), np.int32)
    for client in range(n_clients):
        levels[client, 0] = start[client]
        for t in range(n_rounds):
            left = levels[client, t] - np.int32(takes_part[client, t])
            levels[client, t + 1] = min(left + arrivals[client, t], capacity[client])
    return levels


@kernel
def spread(client, t, step, mark, plan, capacity, seen, visited, found, sizes):
    """List unseen rounds, on one side of t, from which a turn of this client can be moved to round t.

    Return the first that has at least two participants more than the round that is searched for, -1 if none has.
    """
    takes_part, levels, counts = plan
    queue, mover, goes_to, marks = found
    wanted = counts[queue[0]] + 2
    s = t
    while True:
        if step > 0:
            if s + 1 == counts.size or levels[client, s] - np.int32(takes_part[client, s]) < 1:
                return -1
        elif s == 0 or levels[client, s] >= capacity[client]:
            return -1
        s += step
        if seen[client, s] >= mark:
            return -1
        seen[client, s] = mark
        visited[sizes[1]] = client * counts.size + s
        sizes[1] += 1
        if takes_part[client, s] and marks[s] < mark:
            marks[s] = mark
            mover[s] = client
            goes_to[s] = t
            queue[sizes[0]] = s
            sizes[0] += 1
            if counts[s] >= wanted:
                return s


@kernel
def search(needy, mark, plan, capacity, seen, visited, found, sizes):
    """Return a round that can give a participant to `needy` by a chain of moves (breadth first); -1 if none can."""
    takes_part, _, counts = plan
    queue, mover, goes_to, marks = found
    queue[0], mover[needy], goes_to[needy], marks[needy] = needy, -1, -1, mark
    sizes[0], sizes[1] = 1, 0  # rounds found, cells visited
    head = 0
    while head < sizes[0]:
        t = queue[head]
        head += 1
        for client in range(takes_part.shape[0]):
            if takes_part[client, t] or seen[client, t] >= mark:
                continue
            seen[client, t] = mark
            visited[sizes[1]] = client * counts.size + t
            sizes[1] += 1
            giver = spread(client, t, 1, mark, plan, capacity, seen, visited, found, sizes)
            if giver < 0:
                giver = spread(client, t, -1, mark, plan, capacity, seen, visited, found, sizes)
            if giver >= 0:
                return giver
    return -1


@kernel
def move(client, source, target, takes_part, levels):
    """Let a client take part in round `target` instead of `source`."""
    takes_part[client, source] = 0
    takes_part[client, target] = 1
    for t in range(target + 1, source + 1):
        levels[client, t] -= 1
    for t in range(source + 1, target + 1):
        levels[client, t] += 1


@kernel
def even_out(takes_part, levels, counts, capacity):
    """Move turns, in place, until no round can get a participant from one that has at least two more.

    Rounds are processed in ascending order of participants. After a failed search, the visited rounds cannot receive a
    participant now or later, so they are excluded; all failed searches together visit each cell once.
    """
    n_clients, n_rounds = takes_part.shape
    seen = np.zeros((n_clients, n_rounds), np.int32)  # the last search that visited the cell
    visited = np.empty(n_clients * n_rounds, np.int64)
    queue, mover, goes_to = np.empty(n_rounds, np.int32), np.empty(n_rounds, np.int32), np.empty(n_rounds, np.int32)
    marks = np.zeros(n_rounds, np.int32)
    found = queue, mover, goes_to, marks
    plan = takes_part, levels, counts
    sizes = np.zeros(2, np.int64)
    mark = np.int32(0)
    for fewest in range(n_clients):
        for t in range(n_rounds):
            if counts[t] > fewest or marks[t] == _DONE:
                continue
            mark = np.int32(mark + 1)
            giver = search(t, mark, plan, capacity, seen, visited, found, sizes)
            if giver < 0:
                for k in range(sizes[1]):
                    seen[visited[k] // n_rounds, visited[k] % n_rounds] = _DONE
                for k in range(sizes[0]):
                    marks[queue[k]] = _DONE
                continue
            counts[giver] -= 1
            counts[t] += 1
            while mover[giver] >= 0:
                move(mover[giver], giver, goes_to[giver], takes_part, levels)
                giver = goes_to[giver]
