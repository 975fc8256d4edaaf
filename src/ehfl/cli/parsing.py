"""From the text of an option to a value."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from ehfl.validation import InvalidValue

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


def whole(text: str | int) -> int:
    """Return a whole number, or say what was given instead."""
    try:
        return int(text)
    except ValueError:
        raise typer.BadParameter(f"must be a whole number, got {text}") from None


def read_rates(text: str) -> NDArray[np.float64]:
    """Return one rate (shape ()) or one per client, from "0.5", "0.1,0.9" or the name of a file of numbers.

    >>> read_rates("0.5").shape, read_rates("0.1, 0.9").tolist()
    ((), [0.1, 0.9])
    """
    import numpy as np

    try:
        numbers = _numbers(text)
    except ValueError:
        return np.array(_read_file(Path(text)))
    return np.array(numbers[0] if len(numbers) == 1 and "," not in text else numbers)


def _read_file(path: Path) -> list[float]:
    allowed = "a number, a list like 0.1,0.9 or a readable file of numbers"
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        numbers = _numbers(" ".join(line.partition("#")[0] for line in lines))
    except OSError as error:
        raise InvalidValue("rate", allowed, f"{path} ({error.strerror or error})") from None
    except ValueError as error:
        raise InvalidValue("rate", allowed, f"{path} ({error})") from None
    return numbers


def _numbers(text: str) -> list[float]:
    """Return the numbers in a text, separated by commas or white space; at least one."""
    numbers = [float(word) for word in text.replace(",", " ").split()]
    if not numbers:
        raise ValueError("no numbers")
    return numbers
