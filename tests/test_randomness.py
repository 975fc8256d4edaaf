"""The streams: published answers, the same numbers from NumPy and numba, any part equal to its place in the whole."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy import stats

from ehfl.compiled import fill_upper, lower_half
from ehfl.randomness import LANES, TILE, Purpose, check_seed, generator, philox, stream_of, word_row, words

SEEDS = [0, 1, 2**32 - 1, 2**32, 0xA4093822299F31D0, 2**63, 2**64 - 1]
ONES = 0xFFFFFFFF


def row(seed: int, round_: int, clients: range, purpose: Purpose = Purpose.HARVEST) -> NDArray[np.uint32]:
    drawn: NDArray[np.uint32] = words(seed, purpose, range(round_, round_ + 1), clients)[0]
    return drawn


@pytest.mark.parametrize(
    ("counter", "key", "answer"),
    [
        ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((ONES, ONES, ONES, ONES), (ONES, ONES), (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            (0xA4093822, 0x299F31D0),
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_gives_the_published_answers_of_random123(
    counter: tuple[int, int, int, int], key: tuple[int, int], answer: tuple[int, int, int, int]
) -> None:
    c0, c1, c2, c3 = (np.uint64(word) for word in counter)

    assert philox(c0, c1, c2, c3, np.uint64(key[0]), np.uint64(key[1])) == answer


def test_philox_of_an_array_of_counters_is_that_of_each() -> None:
    blocks = np.arange(5, dtype=np.uint64)
    zero, key = np.zeros(5, np.uint64), np.uint64(7)
    together = np.stack(philox(blocks, zero, zero, zero, key, key), axis=1)

    one = np.uint64(0)
    assert together.tolist() == [[int(w) for w in philox(block, one, one, one, key, key)] for block in blocks]


def test_words_are_laid_out_as_the_module_says() -> None:
    """Client 2j + b of pair j takes half b of word (j // LANES) % 4 of block (j // (4 LANES)) * LANES + j % LANES."""
    seed, round_ = 0x0123456789ABCDEF, 11
    for client in (0, 1, 2, 2 * LANES - 1, 2 * LANES, 5 * LANES + 3, TILE - 1, TILE, 3 * TILE + 2 * LANES + 1):
        pair, odd = divmod(client, 2)
        block = pair // (4 * LANES) * LANES + pair % LANES
        halves = []
        for which in (0, 1):
            c0, c1, c2, c3, k0, k1 = (
                np.uint64(n) for n in (block, Purpose.SCHEDULE, round_, which, seed % 2**32, seed // 2**32)
            )
            word = int(philox(c0, c1, c2, c3, k0, k1)[pair // LANES % 4])
            halves.append(word >> 16 if odd else word % 2**16)

        drawn = row(seed, round_, range(client, client + 1), Purpose.SCHEDULE)
        assert drawn.tolist() == [halves[0] * 2**16 + halves[1]]


@pytest.mark.parametrize("seed", SEEDS)
def test_a_generator_is_numpys_philox_with_seed_and_purpose_as_key(seed: int) -> None:
    drawn = generator(seed, Purpose.BATCHES, client=5, round_=2).integers(0, 2**63, 8)

    key = np.array([seed, int(Purpose.BATCHES)], dtype=np.uint64)
    counter = np.array([0, 5, 2, 0], dtype=np.uint64)
    numpys = np.random.Generator(np.random.Philox(key=key, counter=counter))
    assert drawn.tolist() == numpys.integers(0, 2**63, 8).tolist()


def test_generators_of_neighbouring_seeds_purposes_clients_and_rounds_all_differ() -> None:
    """Hashing lists of numbers would let trailing zeros vanish: (3), (3, 0) and (3, 0, 0) must not meet."""
    asked = [
        (seed, purpose, client, round_)
        for seed in (0, 1, 3, 2**64 - 2, 2**64 - 1)
        for purpose in Purpose
        for client in (0, 1, 3)
        for round_ in (0, 1, 3)
    ]
    first = {int(generator(s, p, client=c, round_=t).integers(0, 2**63)) for s, p, c, t in asked}

    assert len(first) == len(asked)


@pytest.mark.parametrize("seed", SEEDS)
def test_compiled_upper_halves_are_those_of_words(seed: int) -> None:
    for tile, round_ in ((0, 0), (1, 7), (3, 2**31 - 1), (2**19 - 1, 5)):
        halves = np.empty(TILE, np.uint16)
        fill_upper(halves, tile, stream_of(seed, Purpose.HARVEST, round_))

        drawn = row(seed, round_, range(tile * TILE, (tile + 1) * TILE))
        assert np.array_equal(halves, drawn >> np.uint32(16))


@pytest.mark.parametrize("seed", SEEDS)
def test_compiled_lower_halves_are_those_of_words(seed: int) -> None:
    for start, round_ in ((0, 0), (2 * LANES - 2, 1), (TILE - 3, 7), (2**31 - 6, 2**31 - 1)):
        stream = stream_of(seed, Purpose.SCHEDULE, round_)
        halves = [int(lower_half(client, stream)) for client in range(start, start + 5)]

        drawn = row(seed, round_, range(start, start + 5), Purpose.SCHEDULE)
        assert halves == (drawn & np.uint32(0xFFFF)).tolist()


@given(
    seed=st.integers(0, 2**64 - 1),
    purpose=st.sampled_from(Purpose),
    rounds=st.tuples(st.integers(0, 9), st.integers(0, 9)),
    clients=st.tuples(st.integers(0, 2 * TILE), st.integers(0, 2 * TILE)),
)
def test_any_clients_and_rounds_computed_alone_are_a_slice_of_the_whole(
    seed: int, purpose: Purpose, rounds: tuple[int, int], clients: tuple[int, int]
) -> None:
    some_rounds = range(min(rounds), max(rounds))
    some_clients = range(min(clients), max(clients), 3)
    alone = words(seed, purpose, some_rounds, some_clients)

    whole = words(seed, purpose, range(10), range(2 * TILE))
    assert np.array_equal(alone, whole[np.ix_(some_rounds, some_clients)])


@given(seed=st.integers(0, 2**64 - 1), n_clients=st.integers(1, 5000), round_=st.integers(0, 2**31 - 2))
def test_a_row_is_the_same_whether_or_not_its_neighbours_were_computed_with_it(
    seed: int, n_clients: int, round_: int
) -> None:
    drawn = word_row(seed, Purpose.SCHEDULE, round_, n_clients)

    assert np.array_equal(drawn, row(seed, round_, range(n_clients), Purpose.SCHEDULE))


def test_rows_of_different_seeds_purposes_and_rounds_share_nothing() -> None:
    """Two independent rows of 1,000 words agree in 1000 / 2^32 places on average: none here."""
    asked = [(s, p, t) for s in (0, 1, 2**32, 2**32 + 1) for p in Purpose for t in (0, 1, 2)]
    rows = [row(s, t, range(1000), p) for s, p, t in asked]

    agreements = [int((a == b).sum()) for i, a in enumerate(rows) for b in rows[:i]]
    assert sum(agreements) == 0


def test_words_fill_their_range_evenly() -> None:
    """Chi-square over 256 bins of the upper bits and of the lower: p-values that a fair source passes 998 in 1,000."""
    drawn = words(2026, Purpose.HARVEST, range(64), range(TILE)).ravel()
    for bits in (drawn >> np.uint32(24), drawn & np.uint32(0xFF), (drawn >> np.uint32(8)) & np.uint32(0xFF)):
        chance = stats.chisquare(np.bincount(bits, minlength=256)).pvalue

        assert 0.001 < chance < 0.999


def test_neighbouring_clients_rounds_and_halves_are_uncorrelated() -> None:
    """The correlation of n independent pairs is normal with standard deviation 1 / sqrt(n): within 4 of them."""
    drawn = words(7, Purpose.HARVEST, range(65), range(TILE + 1)).astype(np.float64)
    uppers, lowers = np.divmod(drawn, 65536.0)
    pairs = [
        (drawn[:, :-1], drawn[:, 1:]),
        (drawn[:-1], drawn[1:]),
        (drawn[:, : -2 * LANES], drawn[:, 2 * LANES :]),
        (uppers, lowers),
    ]
    for one, other in pairs:
        correlation = np.corrcoef(one.ravel(), other.ravel())[0, 1]

        assert abs(correlation) < 4 / np.sqrt(one.size)


@pytest.mark.parametrize("seed", [-1, 2**64, 0.5, "1", None, True])
def test_a_seed_that_is_not_a_whole_number_of_64_bits_is_refused(seed: int) -> None:
    with pytest.raises(ValueError, match=r"seed must be a whole number in \[0, 18446744073709551615\], got"):
        check_seed(seed)


@pytest.mark.parametrize("seed", [0, 2**64 - 1])
def test_the_ends_of_the_seed_range_are_seeds(seed: int) -> None:
    assert check_seed(seed) == seed


@pytest.mark.parametrize(
    "clients", [range(0, 9000, 7), range(5000, 3, -1), range(8999, 0, -13), range(4, 5), range(3, 3)]
)
def test_words_of_any_range_of_clients_are_those_of_the_whole(clients: range) -> None:
    whole = words(5, Purpose.HARVEST, range(3), range(9000))

    assert np.array_equal(words(5, Purpose.HARVEST, range(3), clients), whole[:, list(clients)])
