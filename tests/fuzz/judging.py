"""What a command may do: succeed, or refuse in one line and leave nothing behind."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehfl.cli import main
from ehfl.validation import BrokenRules

LONGEST = 1000  # characters that anyone reads of a message
_NOT_SHOWN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")  # it would steer a terminal


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a command ended."""

    code: object
    out: str
    err: str


def call(words: Sequence[str], encoding: str = "utf-8") -> Outcome:
    """Run a command line in this process; streams are as strict about characters as a terminal's."""
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding, write_through=True)
    err = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="backslashreplace", write_through=True)
    code: object = "no exit"
    with redirect_stdout(out), redirect_stderr(err):
        try:
            main(list(words))
        except SystemExit as end:
            code = end.code
    # click takes ASCII for a mistake and writes UTF-8
    known = "utf-8" if encoding == "ascii" else encoding
    return Outcome(code, *(stream.buffer.getvalue().decode(known) for stream in (out, err)))


def judge(words: Sequence[str], outcome: Outcome, left: set[Path]) -> Iterator[str]:
    """Yield what is wrong with how a command ended; `left` are the files that it made."""
    if outcome.code == 2:
        # Estimates take their time, and whether an eta fits them is known only then.
        yield from judge_line(re.sub(r"^estimating .*\n", "", outcome.err))
        if outcome.out:
            yield f"it prints before it refuses: {outcome.out[:200]!r}"
        if left:
            yield f"it refuses and leaves {sorted(map(str, left))[:5]}: {outcome.err!r}"
    elif outcome.code == 1 and words[:1] == ["compare"]:
        if "failed" not in outcome.err:
            yield f"code 1 without failed runs: {outcome.err!r}"
    elif outcome.code != 0:
        yield f"it ends with {outcome.code!r}: {outcome.err!r}"
    if "Traceback" in outcome.err or "Warning" in outcome.err:
        yield outcome.err
    if outcome.code == 0 and "--json" in words and not {"-h", "--help", "--version"} & set(words):
        yield from judge_json(outcome.out)
    elif outcome.code == 0 and re.search(r"\bnan\b", outcome.out) and "nan" not in " ".join(words).lower():
        yield f"NaN as a result: {outcome.out!r}"
    if escapes := _NOT_SHOWN.search(outcome.out + outcome.err):
        yield f"{escapes.group()!a} reaches the terminal: {(outcome.out + outcome.err)[:500]!a}"


def judge_line(err: str) -> Iterator[str]:
    """Yield what is wrong with a refusal."""
    if not err.startswith("ehfl: error: ") or err.count("\n") != 1 or not err.endswith("\n"):
        yield f"not one line that says what is wrong: {err[:1000]!r}"
    if len(err) > LONGEST:
        yield f"a message of {len(err)} characters: {err[:200]!r}"


def judge_error(error: Exception) -> Iterator[str]:
    """Yield what is wrong with an exception that tells a user something."""
    text = str(error)
    if not text.strip() or len(text) > LONGEST:
        yield f"a message of {len(text)} characters: {text[:200]!r}"
    if ("\n" in text and not isinstance(error, BrokenRules)) or _NOT_SHOWN.search(text):
        yield f"not one line that can be printed: {text[:500]!a}"


def judge_json(text: str) -> Iterator[str]:
    """Yield what is wrong with a text that should be JSON."""
    try:
        json.loads(text, parse_constant=_refuse)
    except ValueError as error:
        yield f"no JSON ({error}): {text[:300]!r}"


def _refuse(word: str) -> Any:
    raise ValueError(f"{word} is not JSON")


def files_in(place: Path) -> set[Path]:
    """Return all files and folders there, by their paths from there."""
    return {path.relative_to(place) for path in place.rglob("*") if path.name != "__pycache__"}
