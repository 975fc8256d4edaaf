"""spec.toml, which ehfl writes into the folders of runs and of comparisons, with a last line that it is known by."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ehfl.files import check_seal, refuse_pipe, sealed, write_text
from ehfl.run_folder.identity import Facts
from ehfl.validation import UserError, float_of, shown

SPEC = "spec.toml"
META = "meta.json"
CHECKPOINT = "checkpoint.safetensors"


def write_sealed(folder: Path, text: str) -> None:
    """Write the spec of a run or of a comparison, in TOML, into its folder."""
    write_text(folder / SPEC, sealed(text))


def read_own(folder: Path, remedy: str) -> tuple[Facts, str]:
    """Return the spec that ehfl wrote into a folder, as facts and as text, if it is as it was written."""
    path = folder / SPEC
    with being_read(path, remedy):
        text = check_seal(path.read_bytes().decode())
        return tomllib.loads(text), text


@contextmanager
def being_read(path: Path, remedy: str) -> Iterator[None]:
    """Say in one line what is wrong with a file that ehfl wrote, and what to do about it."""
    try:
        refuse_pipe(path)
        yield
    except OSError as error:
        raise UserError(f"{path} cannot be read ({error.strerror or error}): {remedy}") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is damaged ({error}): {remedy}") from None


def read_comparison(folder: Path) -> tuple[Facts, str]:
    """Return the spec in a comparison's folder, as facts and as text, if it is as it was written."""
    # Never "delete the folder": its runs have specs of their own, and may be whole.
    return read_own(folder, "its runs may be whole: ehfl compare with the spec that they were made from writes it anew")


def holds_runs(folder: Path) -> bool:
    """Return whether a folder is that of a run, or one of runs."""
    return (folder / META).exists() or any(folder.glob(f"*/{META}"))


def read_facts(path: Path) -> Facts:
    """Return what a TOML file of the user's says, or raise UserError with one line that names it."""
    try:
        refuse_pipe(path)
        return tomllib.loads(path.read_text(encoding="utf-8-sig"), parse_float=float_of)
    except OSError as error:
        raise UserError(f"{shown(path)} must be a readable TOML file ({error.strerror or error})") from None
    except (ValueError, RecursionError) as error:
        raise UserError(f"{path} is not TOML: {error}") from None
