"""What differences are to and slowdowns relative to, in words: an arm of each world that has others."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # see numbers.py
    from ehfl.analysis.comparison import Comparison


def baselines(comparison: Comparison) -> str:
    """Return what differences are to: the first arm of each world that has others."""
    return _whichever([world.baseline for world in comparison.contests])


def best_arms(comparison: Comparison) -> str:
    """Return what slowdowns are relative to: the arm that theory calls best of each world that has others."""
    return _whichever([world.best for world in comparison.contests])


def _whichever(arms: Sequence[str]) -> str:
    """Return the arms of which an arm is compared with one.

    >>> _whichever(["a"]), _whichever(["a", "b", "c"])
    ('a', 'a, b or c, whichever met the same')
    """
    *others, last = arms or [""]
    return f"{', '.join(others)} or {last}, whichever met the same" if others else last
