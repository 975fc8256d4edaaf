"""Errors of bad input, which name the argument, what is allowed and what was given; checks that raise them."""

from __future__ import annotations

import difflib
import inspect
import numbers
import operator
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from inspect import Parameter
from pathlib import Path
from typing import Any, SupportsIndex, TypeGuard, TypeVar

Thing = TypeVar("Thing")
Result = TypeVar("Result")

# What user code may raise without ending a comparison; KeyboardInterrupt is not among it.
FAILURES: tuple[type[BaseException], ...] = (Exception, SystemExit)


class UserError(ValueError):
    """An error that the user can fix; the command line shows its message without a traceback."""

    def __reduce__(self) -> tuple[Any, ...]:
        """Make it picklable for workers: pickle would call the class with the message alone."""
        return UserError.__new__, (type(self), *self.args), vars(self)


class InvalidValue(UserError):
    """A value outside its range; `name` is the argument or the key of the spec."""

    def __init__(self, name: str, allowed: str, given: object) -> None:
        super().__init__(f"{shown(name)} must be {allowed}, got {shown(given)}")
        self.name = name
        self.allowed = allowed
        self.given = given


class SpecError(UserError):
    """What is wrong with the value of a spec's key, in one line."""

    def __init__(self, key: str, fault: str) -> None:
        super().__init__(printable(f"{shown(key)} {fault}"))
        self.key = key
        self.fault = fault


class BrokenRules(UserError):
    """A user class breaks its contract: a line for each rule, with the first case that breaks it."""

    def __init__(self, name: str, faults: Sequence[str]) -> None:
        super().__init__(f"{name} breaks the rules:" + "".join(f"\n  - {fault}" for fault in faults))
        self.name = name
        self.faults = tuple(faults)


@contextmanager
def at(key: str) -> Iterator[None]:
    """Prefix the names in errors raised inside with the key of a section.

    >>> with at("fleet"):
    ...     whole_number("cost", 0, low=1)
    Traceback (most recent call last):
    ehfl.validation.InvalidValue: fleet.cost must be a whole number >= 1, got 0
    """
    # Environment variables keep their names.
    with renamed(lambda name: name if name.startswith("$") else f"{key}.{name}".strip(".")):
        yield


@contextmanager
def renamed(rename: Callable[[str], str]) -> Iterator[None]:
    """Apply `rename` to the name or key in errors that are raised inside."""
    try:
        yield
    except InvalidValue as error:
        raise InvalidValue(rename(error.name), error.allowed, error.given) from error
    except SpecError as error:
        raise SpecError(rename(error.key), error.fault) from error


def one_line(error: BaseException) -> str:
    """Return an error in one line; errors other than UserError with their class.

    >>> one_line(FileNotFoundError(2, "No such file or directory", "spec.toml"))
    'spec.toml: No such file or directory'
    >>> one_line(ZeroDivisionError("division by zero"))
    'ZeroDivisionError: division by zero'
    """
    if isinstance(error, OSError) and error.strerror:
        return f"{shown(error.filename)}: {error.strerror}" if error.filename else error.strerror
    text = printable(str(error))
    if isinstance(error, UserError):
        return text
    # Some libraries' errors quote their whole input.
    return f"{type(error).__name__}: {short(text, 300)}".removesuffix(": ")


def shown(given: object, limit: int = 200) -> str:
    """Return a value as one line of a message: an empty string as '', a long one cut off.

    >>> shown(""), shown(3)
    ("''", '3')
    """
    return short(printable(str(given)), limit) or "''"


def printable(text: str) -> str:
    r"""Return the string in one line, control characters escaped.

    >>> printable("two\nlines, \x1b[31mred")
    'two lines, \\x1b[31mred'
    """
    return visible(" ".join(text.split()))


def visible(text: str) -> str:
    r"""Return the string with control characters escaped and white space kept, as paths need it.

    >>> visible("two  spaces\a")
    'two  spaces\\x07'
    """
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def blame(thing: object, error: BaseException) -> str:
    """Return an error of user code in one line, with the last line of the user's file in its traceback."""
    frames = traceback.extract_tb(error.__traceback__)
    home = getattr(sys.modules.get(type(thing).__module__), "__file__", None)
    last = ([frame for frame in frames if frame.filename == home] or frames)[-1]
    return f"{one_line(error)} ({Path(last.filename).name}:{last.lineno})"


def described(thing: object) -> str:
    """Return the repr of an object, its class if that has none: an address in memory says nothing.

    >>> described(0.5), described(object())
    ('0.5', 'builtins:object')
    """
    kind = type(thing)
    return f"{kind.__module__}:{kind.__qualname__}" if kind.__repr__ is object.__repr__ else repr(thing)


def short(text: str, limit: int = 60) -> str:
    """Return the string, cut off after `limit` characters.

    >>> short("a long list of numbers", limit=12)
    'a long li...'
    """
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def whole_number(name: str, value: SupportsIndex, *, low: int, high: int | None = None) -> int:
    """Return the value as an int in [low, high].

    >>> whole_number("rounds", 0, low=1)
    Traceback (most recent call last):
    ehfl.validation.InvalidValue: rounds must be a whole number >= 1, got 0
    """
    allowed = f"a whole number >= {low}" if high is None else f"a whole number in [{low}, {high}]"
    try:
        number = operator.index(value)
    except TypeError:
        raise InvalidValue(name, allowed, repr(value)) from None
    if isinstance(value, bool) or number < low or (high is not None and number > high):
        raise InvalidValue(name, allowed, value)
    return number


def is_number(value: object) -> TypeGuard[float]:
    """Return whether the value is a real number, Python's or NumPy's, and not a boolean."""
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


def number_in(name: str, value: object, interval: str) -> float:
    """Return the value as a float, if it is a number in the interval; round brackets exclude their end.

    >>> number_in("momentum", 1, "[0, 1)")
    Traceback (most recent call last):
    ehfl.validation.InvalidValue: momentum must be a number in [0, 1), got 1
    """
    if not is_number(value):
        raise InvalidValue(name, f"a number in {interval}", repr(value))
    if not lies_in(value, interval):
        raise InvalidValue(name, f"a number in {interval}", value)
    return float(value)


def lies_in(value: Any, interval: str) -> Any:
    """Return whether a number, or each of an array, is in the interval; NaN is in none.

    >>> lies_in(1, "[0, 1]"), lies_in(1, "[0, 1)")
    (True, False)
    """
    low, high = map(float, interval[1:-1].split(","))
    above = value > low if interval[0] == "(" else value >= low
    below = value < high if interval[-1] == ")" else value <= high
    return above & below


def positive_number(name: str, value: object) -> float:
    """Return the value as a float, in the range that float32 can hold."""
    return number_in(name, value, "[1e-30, 1e30]")


def is_label(value: object, most: int) -> TypeGuard[str]:
    """Return whether the value is a string of 1 to `most` printable characters."""
    return isinstance(value, str) and value.isprintable() and 0 < len(value) <= most


def is_word(value: object, *words: str) -> bool:
    """Return whether the value is one of these strings; comparing an array with a string gives an array.

    >>> is_word("auto", "auto"), is_word(3, "auto")
    (True, False)
    """
    return isinstance(value, str) and value in words


def with_first(function: Callable[..., Result], most: int) -> Callable[..., Result]:
    """Return a function of `most` arguments that passes the first ones on, the number that `function` requires.

    >>> with_first(lambda record: record + 1, most=3)(1, 2, 3)
    2
    """
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:  # some built-in functions have no signature
        return lambda *given: function(given[0])
    by_place = (Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)
    required = sum(one.kind in by_place and one.default is Parameter.empty for one in parameters)
    count = most if any(one.kind is Parameter.VAR_POSITIONAL for one in parameters) else max(required, 1)
    return lambda *given: function(*given[:count])


def closest(given: str, known: Iterable[str]) -> str:
    """Return a hint with the word that was probably meant, or an empty string.

    >>> closest("mypoic", ["myopic", "greedy"])
    ' (did you mean myopic?)'
    """
    found = difflib.get_close_matches(given, list(known), n=1)
    return f" (did you mean {found[0]}?)" if found else ""
