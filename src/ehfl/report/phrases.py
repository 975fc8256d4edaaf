"""Parts of sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable

from ehfl.analysis import Difference, Row
from ehfl.analysis.intervals import write_gap
from ehfl.analysis.numbers import p_value
from ehfl.analysis.worlds import World
from ehfl.history import Metric


def spoken(arm: str, *, begins: bool = False) -> str:
    """Return an arm's name as it reads in a sentence; a name that is more than plain words stays as it is.

    >>> spoken("round-robin", begins=True), spoken("round-robin:1", begins=True)
    ('Round robin', 'round-robin:1')
    """
    if not re.fullmatch(r"[a-z]+(-[a-z]+)*", arm):
        return arm
    words = arm.replace("-", " ")
    return words[0].upper() + words[1:] if begins else words


def listed(names: Iterable[str], word: str = "and") -> str:
    """Return names as a sentence has them.

    >>> listed(["a", "b", "c"]), listed(["a", "b"], "or")
    ('a, b and c', 'a or b')
    """
    *others, last = names
    return f"{', '.join(others)} {word} {last}" if others else last


def in_short(world: World, *rows: Row) -> str:
    """Return the arms of these rows as a sentence has them that has named their world."""
    return listed(spoken(world.short(row.arm)) for row in rows)


def with_range(text: str, ends: str) -> str:
    """Return the text with the interval's ends in brackets, where there are any.

    >>> with_range("2", "1.5 to 2.5"), with_range("2", "")
    ('2 (1.5 to 2.5)', '2')
    """
    return f"{text} ({ends})" if ends else text


def chance(found: Difference) -> str:
    """Return the p-value as in a sentence, and Holm's where that is another; empty for a single seed.

    >>> chance(Difference(0.1, 0.05, 0.15, 3, 0.01)), chance(Difference(0.1, 0.09, 0.11, 9, 0.00001, 0.03))
    ('p = 0.01', 'p < 0.001, Holm: 0.03')
    """
    if found.p_value is None:
        return ""
    text, corrected = p_value(found.p_value), p_value(found.holm_p_value)
    alone = f"p {text}" if text.startswith("<") else f"p = {text}"
    return alone if found.holm_p_value is None or corrected == text else f"{alone}, Holm: {corrected}"


def counted(n: int, noun: str) -> str:
    """Return so many of something.

    >>> counted(1, "round"), counted(1500, "round")
    ('1 round', '1,500 rounds')
    """
    return f"{n:,} {noun}" + ("" if n == 1 else "s")


def in_world(world: World, sentence: str) -> str:
    """Return a sentence that begins with the world's name, where it has one, and else with no arm's."""
    return f"{world.name}: {sentence[0].lower()}{sentence[1:]}" if world.name else sentence


def apart(metric: Metric, found: Difference) -> str:
    """Return how far above or below something is.

    >>> accuracy = Metric("accuracy", bounds=(0, 1))
    >>> apart(accuracy, Difference(-0.013, -0.02, -0.006, 3, 0.01)), apart(accuracy, Difference(0, None, None, 1, None))
    ('1.30 points below', 'level with')
    """
    return f"{size(metric, found)} {'above' if found.mean > 0 else 'below'}" if found.mean else "level with"


def size(metric: Metric, found: Difference) -> str:
    """Return how large a difference is, without its sign."""
    written = write_gap(metric, found, 1 if found.mean > 0 else -1)
    return written.mean.removeprefix("+") + points(metric)


def points(metric: Metric) -> str:
    """Return the unit of differences, which only shares have."""
    return " points" if metric.is_share else ""
