"""The file of a node's energy account: one JSON file per run, replaced atomically."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ehfl.energy import EnergyTotals
from ehfl.files import check_digest, parse_json, with_digest, write_text
from ehfl.runs import sole_use
from ehfl.validation import InvalidValue, UserError

_TOKEN = re.compile(r"[0-9a-z]{8,64}")  # it becomes a file name, so other characters are rejected
_PATIENCE_SECONDS = 20.0  # another process holds the lock for a meter reading, some seconds at most


@dataclass(frozen=True, slots=True)
class Statement:
    """A client's energy in a round."""

    energy: int  # E(t), before paying
    totals: EnergyTotals  # including the payment of round t; `stored` is the rest


@dataclass(frozen=True, slots=True)
class Standing:
    """The state of an account: all rounds before `round` are settled; `round` itself may be paid."""

    round: int
    paid: bool
    statement: Statement


@dataclass(frozen=True, slots=True)
class AccountFile:
    """The file of one client in one run, in a folder that no other client uses."""

    folder: Path
    run: str  # the run's token
    client: int
    seed: int

    def __post_init__(self) -> None:
        if not isinstance(self.run, str) or not _TOKEN.fullmatch(self.run):
            raise InvalidValue("run", "a token of 8 to 64 digits and small letters", repr(self.run))

    @property
    def path(self) -> Path:
        """The path of the file."""
        return self.folder / f"{self.run}.json"

    @contextmanager
    def held(self) -> Iterator[None]:
        """Lock the file against other processes of this node, so that no round is paid twice."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with sole_use(self.folder, patience=_PATIENCE_SECONDS):
            yield

    def read(self) -> Standing | None:
        """Return the account's standing, None if there is no file; a damaged file raises an error, never a restart."""
        try:
            if not self.path.exists():
                return None
            facts = check_digest(parse_json(self.path.read_bytes()))
            standing = _standing(facts)
        except OSError as error:
            raise UserError(f"{self.path} cannot be read ({error.strerror or error}): {_REMEDY}") from None
        except (ValueError, TypeError, KeyError) as error:
            raise UserError(f"{self.path} is damaged ({error}): {_REMEDY}") from None
        self._check_own(facts)
        return standing

    def write(self, standing: Standing) -> None:
        """Replace the standing atomically."""
        text = json.dumps(with_digest(self._owner() | _facts(standing)), indent=2)
        write_text(self.path, f"{text}\n")

    def _owner(self) -> dict[str, Any]:
        return {"run": self.run, "client": self.client, "seed": self.seed}

    def _check_own(self, facts: dict[str, Any]) -> None:
        for name, own in self._owner().items():
            if facts.get(name) != own:
                remedy = "give every node a state folder of its own"
                raise UserError(f"{self.path} belongs to {name} {facts.get(name)}, not to {name} {own}: {remedy}")


_REMEDY = "put a copy back, or delete it to begin this client's account of the run anew"


def _facts(standing: Standing) -> dict[str, Any]:
    statement = standing.statement
    return {
        "round": standing.round,
        "paid": standing.paid,
        "energy": statement.energy,
        "totals": asdict(statement.totals),
    }


def _standing(facts: dict[str, Any]) -> Standing:
    statement = Statement(facts["energy"], EnergyTotals(**facts["totals"]))
    return Standing(facts["round"], facts["paid"], statement)
