"""Errors that users can put right, as values."""

from __future__ import annotations

import copy

import pytest

from ehfl.scheduling import SchedulerError
from ehfl.validation import BrokenRules, InvalidValue, SpecError, UserError

ERRORS = [
    UserError("no"),
    InvalidValue("rounds", "a whole number >= 1", 0),
    SpecError("fleet.rate", "must be left out"),
    BrokenRules("Mine", ["is not reproducible", "fails"]),
    SchedulerError("fails", "fails: round 3", "Mine"),
]


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: type(error).__name__)
def test_an_error_is_the_same_in_another_process(error: UserError) -> None:
    """Python would make it from its message alone; where that fails, a pool of processes breaks or hangs."""
    there = copy.copy(error)  # in the way in which an error is sent to another process

    assert type(there) is type(error)
    assert (str(there), vars(there)) == (str(error), vars(error))
