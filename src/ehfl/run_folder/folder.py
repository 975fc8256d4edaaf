"""The folder of one run: its files, and whether they are what the run left."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ehfl import history
from ehfl.files import digest_of_file, digest_of_text, parse_json, spread_json, write_text
from ehfl.run_folder.identity import Facts, check_same, identity_of
from ehfl.run_folder.specs import CHECKPOINT, META, SPEC, being_read, read_own, write_sealed
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
        with being_read(path, self.remedy):
            if not path.exists():
                return {}
            facts = parse_json(path.read_bytes())
            if "sha256" not in facts:
                raise ValueError("it lacks its sha256, so it is cut, or of an older version of ehfl, which reads it")
            if facts.pop("sha256") != _digest(facts):
                raise ValueError("it was changed since ehfl wrote it")
        return facts

    def add_meta(self, **facts: Any) -> None:
        """Add facts about the run."""
        all_facts = self.meta() | facts
        write_text(self.path / META, spread_json(all_facts | {"sha256": _digest(all_facts)}) + "\n")

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
        labels = None if found.labels is None else found.labels.tolist()
        served = {"classes": list(found.classes), "labels": labels} if found.classes else {}
        sent = {} if found.traffic is None else found.traffic.facts()
        self.add_meta(status="finished", metric=asdict(found.metric), digests=digests, **served, **sent)

    def check_untouched(self, meta: Facts) -> None:
        """Refuse a finished run, of which these are the facts, if a file is not as it was at its end."""
        known = meta.get("digests")
        for name, digest in self._digests(self._digest_of(self.rounds)).items():
            if not isinstance(known, dict) or known.get(name) != digest:
                raise UserError(f"{self.path / name} was changed since the run ended: {self.remedy}")

    def _digests(self, rounds: str) -> dict[str, str]:
        # Of its spec what decides the numbers: the rest may be written anew, and has a seal of its own.
        identity = _digest(identity_of(self.facts() or {}))
        return {
            SPEC: identity,
            self.participation.name: self._digest_of(self.participation),
            history.NAME: rounds,
            CHECKPOINT: self._digest_of(self.path / CHECKPOINT),
        }

    def _digest_of(self, path: Path) -> str:
        with being_read(path, self.remedy):
            return digest_of_file(path)


def _digest(facts: Facts) -> str:
    return digest_of_text(json.dumps(facts, sort_keys=True))
