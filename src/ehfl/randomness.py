"""Counter-based streams of chance: every number is a pure function of (seed, purpose, client, round).

Nothing here has a state that moves, so any client's draw can be computed alone, on any machine, in any order, chunk or
thread, and comes out the same. Two kinds of stream share the seed:

- `words`: one 32-bit number for each client and round, from Philox4x32-10 [1]. It is what a fleet needs (harvest,
  tie-breaking), it is the same under plain NumPy (here) and inside numba kernels (`ehfl.compiled`), and it vectorises.
- `generator`: a whole `numpy.random.Generator` (NumPy's own Philox4x64-10) for one purpose, client and round, where
  permutations, normals and choices are wanted.

A client's number is made of two halves of 16 bits, each from a block of its own, because the upper half alone nearly
always decides a comparison and then the lower need not be computed. Clients 2j and 2j + 1 share a word of a Philox
block, its low and its high half; the four words of a block go to pairs that lie `LANES` apart, so that a kernel stores
whole vectors: pair j takes word (j // LANES) % 4 of block (j // (4 LANES)) * LANES + j % LANES. The counter is (block,
purpose, round, 0 for upper or 1 for lower halves), the key is the seed.

[1] J. K. Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011. Known answers: Random123's kat_vectors.
"""

from __future__ import annotations

from enum import IntEnum
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ehfl.validation import whole_number

LANES = 512  # part of the streams' definition, like the generator: another number gives other weather
TILE = 8 * LANES  # clients that share a row of LANES blocks: what a kernel works on at a time
MAX_CLIENTS = 2**31 - 1
MAX_ROUNDS = 2**31 - 1

_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_LOW = np.uint64(0xFFFFFFFF)
_HALF = np.uint64(32)

Stream = tuple[np.uint64, np.uint64, np.uint64, np.uint64]
Word = Any  # a uint64, or an array of them


class Purpose(IntEnum):
    """What a stream is for; streams of different purposes never meet."""

    HARVEST = 1
    SCHEDULE = 2
    PARTITION = 3
    INIT = 4
    BATCHES = 5
    PROBE = 6  # what a task's constants are estimated with: minibatches and directions
    PROBE_EXAMPLES = 7  # and which examples stand for all
    TIES = 8  # between clients that a scheduler's own keys do not tell apart
    CHANCES = 9  # seeds that chances are estimated with, apart from those of runs
    WEATHER = 10  # sun and wind: what all clients share
    OWN_WEATHER = 11  # and each client's own factor of it
    TRAINING = 12  # what a model or its data draw in a turn: dropout, augmentation


def philox(c0: Word, c1: Word, c2: Word, c3: Word, k0: np.uint64, k1: np.uint64) -> tuple[Word, Word, Word, Word]:
    """Return the four 32-bit words of Philox4x32-10 for counter (c0, c1, c2, c3) and key (k0, k1).

    Words are held in uint64, so that no product overflows; arrays and numba scalars alike. Upper halves are cut off
    where it costs nothing: before a product (x86's 32-bit vector product ignores them) and at the end.

    >>> zero = np.uint64(0)
    >>> [hex(int(word)) for word in philox(zero, zero, zero, zero, zero, zero)]
    ['0x6627e8d5', '0xe169c58d', '0xbc57ac4c', '0x9b00dbd8']
    """
    for _ in range(10):
        p0 = _MULTIPLIERS[0] * (c0 & _LOW)
        p1 = _MULTIPLIERS[1] * (c2 & _LOW)
        c0, c1 = (p1 >> _HALF) ^ c1 ^ k0, p1
        c2, c3 = (p0 >> _HALF) ^ c3 ^ k1, p0
        k0 = (k0 + _WEYL[0]) & _LOW
        k1 = (k1 + _WEYL[1]) & _LOW
    return c0 & _LOW, c1 & _LOW, c2 & _LOW, c3 & _LOW


def frozen(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only, contiguous view (or copy) of an array: the one form in which kernels take their input."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def check_seed(seed: int) -> int:
    """Return the seed, a whole number of 64 bits."""
    return whole_number("seed", seed, low=0, high=2**64 - 1)


def words(seed: int, purpose: Purpose, rounds: range, clients: range) -> NDArray[np.uint32]:
    """Return one uniform 32-bit number per round and client, shape (len(rounds), len(clients)).

    >>> words(0, Purpose.HARVEST, range(7, 9), range(3)).tolist() == [
    ...     words(0, Purpose.HARVEST, range(t, t + 1), range(3))[0].tolist() for t in (7, 8)
    ... ]
    True
    """
    in_a_row = clients.step == 1  # then neighbours are computed in pairs, since they share a word
    pairs = range(clients.start // 2, (clients.stop + 1) // 2) if in_a_row else [client // 2 for client in clients]
    pair = np.array(pairs, dtype=np.uint64)
    group, lane = np.divmod(pair, np.uint64(LANES))
    block, place = np.unique(group // np.uint64(4) * np.uint64(LANES) + lane, return_inverse=True)
    round_, half = np.asarray(rounds, dtype=np.uint64)[:, None], np.arange(2, dtype=np.uint64)[:, None, None]
    drawn = np.concatenate(philox(block, np.uint64(purpose), round_, half, *_key(seed)), axis=-1)
    upper, lower = drawn[..., (group % np.uint64(4)).astype(np.intp) * block.size + place]  # (n_rounds, n_pairs) each
    even = (upper & np.uint64(0xFFFF)) << np.uint64(16) | lower & np.uint64(0xFFFF)
    odd = upper & np.uint64(0xFFFF0000) | lower >> np.uint64(16)
    if not in_a_row:
        own: NDArray[np.uint32] = np.where(np.asarray(clients) % 2 == 0, even, odd).astype(np.uint32)
        return own
    both: NDArray[np.uint32] = np.stack((even, odd), axis=-1).astype(np.uint32).reshape(len(rounds), 2 * pair.size)
    return both[:, clients.start % 2 :][:, : len(clients)]


def stream_of(seed: int, purpose: Purpose, round_: int) -> Stream:
    """Return what kernels need to compute `words` of one round: purpose, round and the two halves of the key."""
    return np.uint64(purpose), np.uint64(round_), *_key(seed)


def _key(seed: int) -> tuple[np.uint64, np.uint64]:
    seed = check_seed(seed)
    return np.uint64(seed & 0xFFFFFFFF), np.uint64(seed >> 32)


def word_row(seed: int, purpose: Purpose, round_: int, n_clients: int) -> NDArray[np.uint32]:
    """Return `words` of one round for clients 0..n_clients-1, computed many rounds at a time for small fleets."""
    depth = batch_rounds(n_clients)
    row: NDArray[np.uint32] = _word_block(seed, purpose, round_ // depth, n_clients)[round_ % depth]
    return row


def batch_rounds(n_clients: int) -> int:
    """Return how many rounds of a fleet are worth computing at once: about 2^13 numbers, at least one round."""
    return max(1, 2**13 // n_clients)


@lru_cache(maxsize=4)
def _word_block(seed: int, purpose: Purpose, index: int, n_clients: int) -> NDArray[np.uint32]:
    depth = batch_rounds(n_clients)
    block = words(seed, purpose, range(index * depth, (index + 1) * depth), range(n_clients))
    block.flags.writeable = False
    return block


def generator(seed: int, purpose: Purpose, *, client: int = 0, round_: int = 0) -> np.random.Generator:
    """Return a NumPy generator of its own for (seed, purpose, client, round): equal arguments, equal draws.

    >>> a, b = (generator(3, Purpose.BATCHES, client=5, round_=2) for _ in range(2))
    >>> a.permutation(4).tolist() == b.permutation(4).tolist()
    True
    """
    key = np.array(
        [check_seed(seed), int(purpose)], dtype=np.uint64
    )  # a list with a number of 64 bits would become floats
    counter = np.array([0, client, round_, 0], dtype=np.uint64)
    return np.random.Generator(np.random.Philox(key=key, counter=counter))
