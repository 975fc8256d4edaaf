"""Calls of Flower's command line: start an app, and query the state of a run."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ehfl.flower.local.processes import flower_environment, program
from ehfl.validation import InvalidValue, UserError, printable, short

_ANSWER_SECONDS = 120.0


@dataclass(frozen=True, slots=True)
class RunState:
    """The state of a run at the SuperLink."""

    status: str  # pending, starting, running, finished:completed, finished:failed or finished:stopped
    details: str  # the reason, if it failed

    @property
    def over(self) -> bool:
        """Whether the run has ended."""
        return self.status.startswith("finished")


def ask(home: Path, *words: str) -> dict[str, Any]:
    """Return the JSON output of a flwr command with its settings in `home`; this takes a second or two."""
    try:
        answered = subprocess.run(
            [program("flwr"), *words, "--format", "json"], env=flower_environment(home), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, check=False, timeout=_ANSWER_SECONDS, cwd=home,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        raise UserError(f"flwr {words[0]} did not answer in {_ANSWER_SECONDS:.0f} s") from None
    try:
        facts: dict[str, Any] = json.loads(answered.stdout)
    except ValueError:
        facts = {"error-message": answered.stderr or answered.stdout or f"exit code {answered.returncode}"}
    if not facts.get("success"):
        raise UserError(f"flwr {words[0]} failed: {short(printable(str(facts.get('error-message'))), 300)}")
    return facts


def key_value_pairs(values: Mapping[str, str | int | float]) -> str:
    """Return values in the format of Flower's command line: TOML pairs separated by spaces.

    >>> key_value_pairs({"client-id": 0, "state": "/home/ann b/ledgers"})
    "client-id=0 state='/home/ann b/ledgers'"
    """
    return " ".join(f"{name}={_in_toml(name, value)}" for name, value in values.items())


def _in_toml(name: str, value: str | int | float) -> str:
    if not isinstance(value, str):
        return json.dumps(value)
    if "'" not in value and value.isprintable():
        return f"'{value}'"
    if (
        '"' in value or "\\" in value or not value.isprintable()
    ):  # Flower finds the end of a string by a regular expression
        raise InvalidValue(name, "a text in which not both kinds of quotes stand", value)
    return f'"{value}"'
