"""Facts as text: JSON that says one thing and no other, and digests that notice a single letter's change."""

from __future__ import annotations

import hashlib
import json
import math
from pathlib import Path
from typing import Any, NoReturn

_SEAL = "# sha256 of the lines above: "


def json_text(facts: Any, indent: int | None = None) -> str:
    """Return facts as JSON, which knows neither infinity nor NaN: they become null.

    >>> json_text({"slowdown": [1.5, float("inf")]})
    '{"slowdown": [1.5, null]}'
    """
    return json.dumps(finite(facts), indent=indent, allow_nan=False)


def spread_json(facts: Any, depth: int = 2, margin: str = "\n") -> str:
    """Return facts as JSON with a line for each, and for each thing in one; what lies deeper stays in its line.

    >>> print(spread_json({"seed": 0, "labels": [[3, 0, 4], [0, 5, 1]]}))
    {
      "labels": [
        [3, 0, 4],
        [0, 5, 1]
      ],
      "seed": 0
    }
    """
    if not depth or not facts or not isinstance(facts, dict | list):
        return json.dumps(facts, sort_keys=True)
    inner = f"{margin}  "
    if isinstance(facts, dict):
        items = [f"{json.dumps(name)}: {spread_json(facts[name], depth - 1, inner)}" for name in sorted(facts)]
        return f"{{{inner}{f',{inner}'.join(items)}{margin}}}"
    return f"[{inner}{f',{inner}'.join(spread_json(item, depth - 1, inner) for item in facts)}{margin}]"


def finite(facts: Any, instead: object = None) -> Any:
    """Return facts with something else in the place of numbers that are not finite."""
    if isinstance(facts, dict):
        return {name: finite(value, instead) for name, value in facts.items()}
    if isinstance(facts, list | tuple):
        return [finite(value, instead) for value in facts]
    return instead if isinstance(facts, float) and not math.isfinite(facts) else facts


def parse_json(text: str | bytes) -> dict[str, Any]:
    """Return the facts of a JSON object, or raise ValueError for what Python takes and JSON does not mean.

    That is: NaN and infinity, numbers too large for any float, a name given twice, nesting without end.

    >>> parse_json('{"loss": 1e999}')
    Traceback (most recent call last):
    ValueError: 1e999 is not a finite number
    """
    try:
        facts = json.loads(text, object_pairs_hook=_named_once, parse_float=_float, parse_constant=_refuse_number)
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(facts, dict):
        raise ValueError("it holds no facts by name")
    return facts


def _named_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    facts = dict(pairs)
    if len(facts) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"it names {next(name for name in names if names.count(name) > 1)} twice")
    return facts


def _float(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _refuse_number(text)


def _refuse_number(text: str) -> NoReturn:
    raise ValueError(f"{text} is not a finite number")


def digest_of_text(text: str | bytes) -> str:
    """Return the sha256 of a text, in hexadecimal digits."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


def fingerprint(data: bytes) -> str:
    """Return a short text that differs where the data do."""
    return digest_of_text(data)[:16]


def digest_of_file(path: Path) -> str:
    """Return the sha256 of a file's content, in hexadecimal digits."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def sealed(text: str) -> str:
    r"""Return lines of TOML with one more, a comment, that says what they are known by.

    >>> check_seal(sealed("rounds = 20\n"))
    'rounds = 20\n'
    >>> check_seal(sealed("rounds = 20\n").replace("20", "30"))
    Traceback (most recent call last):
    ValueError: it was changed since ehfl wrote it: its lines are not those that its last one stands for
    """
    return f"{text}{_SEAL}{digest_of_text(text)}\n"


def check_seal(text: str) -> str:
    """Return the lines that were sealed, or raise ValueError if they are not as they were."""
    lines, seal, digest = text.rpartition(_SEAL)
    if not seal:
        raise ValueError(f"it is cut off, or not of this version of ehfl: its last line is not {_SEAL.strip(' :')}")
    if digest != f"{digest_of_text(lines)}\n":
        raise ValueError("it was changed since ehfl wrote it: its lines are not those that its last one stands for")
    return lines
