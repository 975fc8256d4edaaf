"""Whole numbers of quanta from real amounts, so that what rounding takes in one round it gives back in others."""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from ehfl.arrays import FloatArray

# 2^32 times the golden ratio's fraction, and another irrational number's so that clients are not in step.
ROUND_STEP, CLIENT_STEP = 0x9E3779B9, 0x91E10DA5
_MASK = 2**32 - 1


class Rounded(IntEnum):
    """What is rounded; each has a phase of its own, since one round rounds several amounts of a client."""

    HARVEST = 0
    CHARGE = 0x55555555
    LEAK = 0xAAAAAAAA


def offsets(what: Rounded, rounds: range, clients: range) -> FloatArray:
    """Return what is added to an amount before it is rounded down, in [0, 1), shape (len(rounds), len(clients)).

    u_i(t) = frac(phase + i b + t g) with the golden ratio g: a Weyl sequence. Over the rounds it fills [0, 1) so evenly
    that floor(x + u) of a constant x misses the sum by some log(T) quanta after T rounds, where a plain floor misses by
    T/2 (L. Kuipers and H. Niederreiter, "Uniform distribution of sequences", 1974, chapter 2). It is a function of
    client and round alone and no chance: rounding is not weather. 16 bits, so that adding it to a level is exact.

    >>> amounts = 0.3 + offsets(Rounded.HARVEST, range(1000), range(2))
    >>> np.floor(amounts).sum(axis=0).tolist()
    [301.0, 300.0]
    """
    steps = np.array([phase(what, t) for t in rounds], dtype=np.uint32)[:, None]
    own = np.arange(clients.start, clients.stop, clients.step, dtype=np.uint32) * np.uint32(CLIENT_STEP)
    parts = (steps + own) >> np.uint32(16)  # modulo 2^32, as such arrays are
    return parts.astype(np.float64) * 2.0**-16


def phase(what: Rounded, round_: int) -> int:
    """Return the offset of client 0 in a round, in parts of 2^32."""
    return (int(what) + round_ * ROUND_STEP) & _MASK
