"""The longest queues: what the kernels find is what the plain definition does, whatever the levels."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from ehfl.compiled import ThreadLimit
from ehfl.energy.battery import MAX_LEVEL
from ehfl.randomness import TILE, Purpose, stream_of, words
from ehfl.scheduling import View, kernels
from ehfl.scheduling.view import longest_plain, longest_queues

Levels = NDArray[np.int32]

KINDS = ["equal", "two", "small", "empty mostly", "one rich", "wide", "huge", "rising", "by tile"]


def fleet_levels(kind: str, size: int, seed: int) -> Levels:
    chance = np.random.default_rng(seed)
    levels: dict[str, NDArray[np.integer]] = {
        "equal": np.full(size, chance.integers(0, 5)),
        "two": chance.integers(0, 2, size),
        "small": chance.poisson(3, size),
        "empty mostly": (chance.random(size) < 0.02) * chance.integers(1, 9, size),
        "one rich": np.where(np.arange(size) == chance.integers(size), 10**6, 1),
        "wide": chance.integers(0, 10_000, size),
        "huge": chance.integers(0, MAX_LEVEL, size),  # MAX_LEVEL itself has a test of its own
        "rising": np.arange(size) // 7,
        "by tile": np.arange(size) // TILE * 1000 + chance.integers(0, 3, size),
    }
    return levels[kind].astype(np.int32)


def plainly(energy: Levels, count: int, floor: int, seed: int, round_: int) -> Levels:
    row = words(seed, Purpose.SCHEDULE, range(round_, round_ + 1), range(energy.size))[0]
    return longest_plain(energy, count, floor, row)


def test_the_plain_definition_takes_long_queues_then_small_words_then_small_numbers() -> None:
    energy = np.array([1, 3, 1, 1, 0, 1], dtype=np.int32)
    tie = np.array([5, 9, 2, 5, 0, 8], dtype=np.uint32)
    taken = [longest_plain(energy, count, 1, tie).tolist() for count in range(1, 7)]

    assert taken == [[1], [1, 2], [0, 1, 2], [0, 1, 2, 3], [0, 1, 2, 3, 5], [0, 1, 2, 3, 5]]


@given(
    kind=st.sampled_from(KINDS),
    size=st.integers(1, 300),
    share=st.floats(0, 1.2),
    floor=st.sampled_from([0, 1, 2, 50]),
    seed=st.integers(0, 2**64 - 1),
)
@settings(max_examples=200)
def test_a_small_fleets_selection_is_the_plain_definitions(
    kind: str, size: int, share: float, floor: int, seed: int
) -> None:
    energy, count = fleet_levels(kind, size, seed % 2**32), round(share * size)

    assert longest_queues(energy, count, floor, seed, 3).tolist() == plainly(energy, count, floor, seed, 3).tolist()


@given(
    kind=st.sampled_from(KINDS),
    size=st.integers(TILE + 1, 20_000),
    share=st.floats(0, 1),
    floor=st.sampled_from([0, 1, 2, 50]),
    seed=st.integers(0, 2**64 - 1),
)
@settings(max_examples=60)
def test_the_kernel_takes_whom_the_plain_definition_takes(
    kind: str, size: int, share: float, floor: int, seed: int
) -> None:
    energy = fleet_levels(kind, size, seed)
    count = max(1, round(share * size))
    taken = longest_queues(energy, count, floor, seed, round_=3)

    assert taken.dtype == np.int32
    assert np.array_equal(taken, plainly(energy, count, floor, seed, 3))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("count", [1, 2, 3, TILE - 1, TILE, TILE + 1, -2, -1, 0])
def test_the_kernel_takes_whom_the_plain_definition_takes_at_the_ends_of_the_range(kind: str, count: int) -> None:
    size = TILE + 613
    energy = fleet_levels(kind, size, seed=8)
    count = count if count > 0 else size + count
    taken = longest_queues(energy, count, 1, 8, 0)

    assert np.array_equal(taken, plainly(energy, count, 1, 8, 0))


def test_every_number_of_equal_queues_can_be_taken_and_each_adds_one_client() -> None:
    energy = np.ones(TILE + 1, dtype=np.int32)
    before = np.zeros(0, np.int32)
    for count in range(1, energy.size + 1, 64):
        taken = longest_queues(energy, count, 1, 5, 9)

        assert taken.size == count
        assert np.isin(before, taken).all()
        before = taken


def test_batteries_filled_to_the_largest_level_are_still_ranked() -> None:
    """Asked of `tie_level`, which returns: on a wrong level `longest` would not."""
    energy = np.full(TILE + 1, MAX_LEVEL, dtype=np.int32)

    assert kernels.tie_level(energy, 100, 1) == (MAX_LEVEL, 0, TILE + 1)


@pytest.mark.parametrize("window", [(0, 100), (60_000, 65_536), (32_000, 32_001)])
def test_a_window_without_the_last_word_to_get_in_is_known_to_be_a_bad_guess(window: tuple[int, int]) -> None:
    energy = np.ones(2 * TILE, dtype=np.int32)
    stream = stream_of(1, Purpose.SCHEDULE, 0)
    in_order = np.sort(words(1, Purpose.SCHEDULE, range(1), range(energy.size))[0] >> np.uint32(16))
    assert not window[0] <= in_order[TILE - 1] < window[1]

    assert kernels.break_ties(energy, 1, TILE, window, stream).size == 0


def test_a_window_that_ends_with_the_last_to_get_in_strikes_nobody_out() -> None:
    uppers = words(1, Purpose.SCHEDULE, range(1), range(3 * TILE))[0] >> np.uint32(16)
    under = np.flatnonzero(uppers < 300)
    energy = np.ones(3 * TILE, np.int32)
    chosen = kernels.break_ties(energy, 1, under.size, (200, 300), stream_of(1, Purpose.SCHEDULE, 0))

    assert np.array_equal(chosen, under)


@pytest.mark.parametrize("window", [(0, 65_536), (30_000, 35_000)])
def test_every_window_that_holds_the_last_word_to_get_in_gives_the_same_clients(window: tuple[int, int]) -> None:
    energy = np.ones(2 * TILE, dtype=np.int32)
    chosen = kernels.break_ties(energy, 1, TILE, window, stream_of(1, Purpose.SCHEDULE, 0))

    assert np.array_equal(chosen, plainly(energy, TILE, 1, 1, 0))


def test_the_kernel_is_right_even_where_its_first_guess_is_not() -> None:
    """The tied clients are chosen for their words: all above the middle, so that the window (made for independent
    ones) misses the last to get in.
    """
    row = words(1, Purpose.SCHEDULE, range(1), range(4 * TILE))[0]
    energy = (row >= 2**31).astype(np.int32) * 4
    count = int((energy > 0).sum()) // 3
    share = count / int((energy > 0).sum())
    reached = np.sort(row[energy > 0])[count - 1] / 2**32
    assert reached - share > 0.2  # far outside four standard deviations

    assert np.array_equal(longest_queues(energy, count, 1, 1, 0), plainly(energy, count, 1, 1, 0))


@pytest.mark.parametrize("kind", KINDS)
def test_one_thread_and_two_take_the_same_clients(kind: str) -> None:
    energy = fleet_levels(kind, 5 * TILE + 9, seed=2)
    taken = []
    for threads in (1, 2):
        with ThreadLimit(threads):
            taken.append(longest_queues(energy, energy.size // 2, 1, 2, 6))

    assert np.array_equal(taken[0], taken[1])


def test_a_small_fleet_can_be_asked_for_nobody() -> None:
    assert View(round=0, energy=np.array([1, 2], dtype=np.int32)).longest(0).size == 0


def test_a_large_fleet_can_be_asked_for_nobody() -> None:
    """A scheduler of one's own may want nobody. In a process of its own: it once never came back."""
    script = (
        "import numpy as np; from ehfl.scheduling import View\n"
        "energy = np.zeros(5000, np.int32); energy[20] = 9\n"
        "assert View(round=0, energy=energy).longest(0).size == 0"
    )
    subprocess.run([sys.executable, "-c", script], check=True, timeout=90)
