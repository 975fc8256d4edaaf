"""The folder of one run: its files, and whether they are what the run left."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ehfl import history
from ehfl.files import check_ends, digest_of_file, digest_of_text, parse_json, write_text
from ehfl.run_folder.identity import Facts, check_same, identity_of
from ehfl.run_folder.specs import META, SPEC, read_own, write_sealed
from ehfl.validation import UserError


@dataclass(frozen=True, slots=True)
class RunFolder:
    """The folder of one run: an arm under one seed."""

    path: Path

    @property
    def rounds(self) -> Path:
        """The rounds so far, one a line."""
        return self.path / history.NAME

    @property
    def participation(self) -> Path:
        """Who took part when."""
        return self.path / "participation.npz"

    @property
    def spec(self) -> Path:
        """What the run is."""
        return self.path / SPEC

    @property
    def remedy(self) -> str:
        """What to do where one of its files cannot be trusted."""
        return f"delete {self.path} to run it again"

    def facts(self) -> Facts | None:
        """Return the spec that this folder belongs to, None if it belongs to none yet."""
        return read_own(self.path, self.remedy)[0] if self.spec.exists() else None

    def write_spec(self, text: str) -> None:
        """Say, in TOML, what the run is."""
        write_sealed(self.path, text)

    def check_free_for(self, facts: Facts) -> None:
        """Refuse a folder that belongs to another run."""
        there = self.facts() if self.path.is_dir() else None
        if there is not None:
            check_same(identity_of(there), identity_of(facts), self.path, "give this one another name or folder")

    def meta(self) -> Facts:
        """Return the facts about the run, none before it started."""
        path = self.path / META
        try:
            if not path.exists():
                return {}
            check_ends(path)
            facts = parse_json(path.read_bytes())
            fits = facts == _with_digest(facts)
        except OSError as error:
            raise UserError(f"{path} cannot be read ({error.strerror or error}): {self.remedy}") from None
        except (ValueError, RecursionError) as error:
            raise UserError(f"{path} is damaged ({error}): {self.remedy}") from None
        if "sha256" not in facts:
            why = "it lacks its sha256, so it is cut, or of an older version of ehfl, which reads it"
            raise UserError(f"{path} is damaged ({why}): {self.remedy}")
        if not fits:
            raise UserError(f"{path} is damaged (it was changed since ehfl wrote it): {self.remedy}")
        return {name: value for name, value in facts.items() if name != "sha256"}

    def add_meta(self, **facts: Any) -> None:
        """Add facts about the run."""
        text = json.dumps(_with_digest(self.meta() | facts), indent=2, sort_keys=True)
        write_text(self.path / META, f"{text}\n")

    @property
    def written(self) -> int | None:
        """When meta.json was last written [ns], None before the first time."""
        try:
            return (self.path / META).stat().st_mtime_ns
        except OSError:
            return None

    @property
    def finished(self) -> bool:
        """Whether the run came to its end."""
        return bool(self.meta().get("status") == "finished")

    def finish(self, found: history.History) -> None:
        """Say that the run came to its end, what it is judged by, and what its files are known by."""
        # From the rounds in memory: what happened to the file since they were written is damage.
        digests = self._digests(history.lines_digest(found.records))
        self.add_meta(status="finished", metric=asdict(found.metric), digests=digests)

    def check_untouched(self, meta: Facts) -> None:
        """Refuse a finished run, of which these are the facts, if a file is not as it was at its end."""
        known = meta.get("digests")
        for name, digest in self._digests(self._digest_of(self.rounds)).items():
            if not isinstance(known, dict) or known.get(name) != digest:
                raise UserError(f"{self.path / name} was changed since the run ended: {self.remedy}")

    def _digests(self, rounds: str) -> dict[str, str]:
        # Of its spec what decides the numbers: the rest may be written anew, and has a seal of its own.
        identity = json.dumps(identity_of(self.facts() or {}), sort_keys=True)
        others = {SPEC: digest_of_text(identity), self.participation.name: self._digest_of(self.participation)}
        return others | {history.NAME: rounds}

    def _digest_of(self, path: Path) -> str:
        try:
            check_ends(path)
            return digest_of_file(path)
        except OSError as error:
            raise UserError(f"{path} cannot be read ({error.strerror or error}): {self.remedy}") from None


def _with_digest(facts: Facts) -> Facts:
    """Return facts with the digest of all the others among them."""
    others = {name: value for name, value in facts.items() if name != "sha256"}
    return others | {"sha256": digest_of_text(json.dumps(others, sort_keys=True))}
