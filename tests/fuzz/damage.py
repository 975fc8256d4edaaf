"""Ways in which a file of a run folder can be damaged, by chance, by accident or by hand."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

Damage = Callable[[Random, Path, list[Path]], str]  # chance, the file, all files; says what was done


def flip(chance: Random, path: Path, _: list[Path]) -> str:
    """Flip a single bit."""
    content = bytearray(path.read_bytes() or b"\0")
    at, bit = chance.randrange(len(content)), chance.randrange(8)
    content[at] ^= 1 << bit
    path.write_bytes(content)
    return f"bit {bit} of byte {at} flipped"


def cut(chance: Random, path: Path, _: list[Path]) -> str:
    """Lose what comes after some byte."""
    kept = chance.randrange(len(path.read_bytes()) + 1)
    os.truncate(path, kept)
    return f"cut after {kept} bytes"


def lengthen(chance: Random, path: Path, _: list[Path]) -> str:
    """Add something at the end."""
    more = chance.choice((b"\0", b"\n", b"{}\n", b"[]\n", b"null\n", b"\xff\xfe", b"x = 1\n", path.read_bytes()))
    path.write_bytes(path.read_bytes() + more)
    return f"{more[:20]!r} added"


def empty(_: Random, path: Path, __: list[Path]) -> str:
    """Lose the content."""
    path.write_bytes(b"")
    return "emptied"


def delete(_: Random, path: Path, __: list[Path]) -> str:
    """Lose the file."""
    path.unlink()
    return "deleted"


def delete_run(_: Random, path: Path, __: list[Path]) -> str:
    """Lose the folder that the file lies in."""
    shutil.rmtree(path.parent)
    return "its whole folder deleted"


def add(chance: Random, path: Path, _: list[Path]) -> str:
    """Put something beside the file that does not belong there."""
    name = chance.choice(
        ("notes.txt", ".DS_Store", "greedy-s9", "spec.toml.bak", ".part-1-rounds.jsonl", "rounds.jsonl~")
    )
    beside = path.parent / name
    if beside.exists():
        return f"{name} lies beside it already"
    if chance.random() < 0.5:
        beside.write_bytes(path.read_bytes())
        return f"copied to {name}"
    beside.mkdir()
    return f"a folder {name} beside it"


def exchange(chance: Random, path: Path, files: list[Path]) -> str:
    """Exchange the contents of two files."""
    alike = [one for one in files if one.name == path.name and one != path]
    other = chance.choice(alike or files)
    mine, theirs = path.read_bytes(), other.read_bytes()
    path.write_bytes(theirs)
    other.write_bytes(mine)
    return f"exchanged with {other.parent.name}/{other.name}"


def replace(chance: Random, path: Path, files: list[Path]) -> str:
    """Put something else in the place of a file."""
    path.unlink()
    match chance.randrange(4):
        case 0:
            path.mkdir()
            return "replaced by a folder"
        case 1:
            path.symlink_to(path.name)
            return "replaced by a link to itself"
        case 2:
            path.symlink_to("nowhere")
            return "replaced by a link to nowhere"
        case _:
            other = chance.choice([one for one in files if one != path])
            shutil.copy(other, path)
            return f"replaced by {other.parent.name}/{other.name}"


def edit_digit(chance: Random, path: Path, _: list[Path]) -> str:
    """Change a digit, as a slip of the hand does."""
    content = bytearray(path.read_bytes())
    digits = [at for at, byte in enumerate(content) if 48 <= byte <= 57]
    if not digits:
        return flip(chance, path, [])
    at = chance.choice(digits)
    before = content[at]
    content[at] = chance.choice([byte for byte in range(48, 58) if byte != before])
    path.write_bytes(content)
    return f"digit {before - 48} at {at} is now {content[at] - 48}"


def edit_lines(chance: Random, path: Path, _: list[Path]) -> str:
    """Lose a line, say it twice, or exchange it with the next."""
    lines = path.read_bytes().splitlines(keepends=True) or [b"\n"]
    at = chance.randrange(len(lines))
    match chance.randrange(3):
        case 0:
            del lines[at]
            done = f"line {at} deleted"
        case 1:
            lines.insert(at, lines[at])
            done = f"line {at} twice"
        case _:
            lines[at : at + 2] = reversed(lines[at : at + 2])
            done = f"line {at} after the next"
    path.write_bytes(b"".join(lines))
    return done


def edit_json(chance: Random, path: Path, files: list[Path]) -> str:
    """Put a value of another kind, or another one of the same, into a line of JSON."""
    whole = path.suffix == ".json"
    if path.suffix not in (".json", ".jsonl") or not path.stat().st_size:
        return edit_digit(chance, path, files)
    texts = [path.read_text()] if whole else path.read_text().splitlines()
    at = chance.randrange(len(texts))
    facts = json.loads(texts[at])
    inner, where = _somewhere(chance, facts)
    new: Any = chance.choice(
        (None, True, "", "x\x1b[31m", [], {}, -1, 0, 1, 0.5, 1e999, float("nan"), 10**30, [[[]]] * 2)
    )
    before, inner[where] = inner[where], new
    texts[at] = json.dumps(facts)
    path.write_text("\n".join(texts) + "\n")
    return f"{where} of line {at} changed from {str(before)[:40]!r} to {new!r}"


def _somewhere(chance: Random, facts: dict[str, Any]) -> tuple[Any, Any]:
    """Return a table or a list, and a place in it."""
    inner: Any = facts
    where: Any = chance.choice(list(facts))
    while isinstance(inner[where], dict | list) and inner[where] and chance.random() < 0.7:
        inner = inner[where]
        where = chance.choice(list(inner)) if isinstance(inner, dict) else chance.randrange(len(inner))
    return inner, where


DAMAGES: tuple[Damage, ...] = (flip, flip, cut, lengthen, empty, delete, delete_run, add, exchange, replace, edit_digit,
                               edit_digit, edit_lines, edit_json, edit_json)  # fmt: skip
