"""The spec in a node's app, from which the node builds its fleet and task.

A message contains the arm, the seed and the digest of that run in the server's spec. Nothing else in it selects what a
node builds, so the server cannot name a class to import.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import tomli_w

from ehfl.files import digest_of_text
from ehfl.runs import Facts
from ehfl.validation import UserError, short

FILE = "arms.toml"  # in an app, beside spec.toml, which takes pydantic to read
_NOT_COMPARED = ("code", "flower", "name")  # they do not affect a node's work


@dataclass(frozen=True, slots=True)
class NodeRun:
    """A run as a node builds it; hashable, so that fleets and trainers are cached by it."""

    spec: str  # of its arm, as TOML
    seed: int
    code: str | None  # the folder in which user classes are looked for

    def facts(self) -> Facts:
        """Return the run as a separate spec."""
        code = {} if self.code is None else {"code": self.code}
        return tomllib.loads(self.spec) | {"seeds": [self.seed], **code}


@dataclass(frozen=True, slots=True)
class Bundle:
    """The arms of a spec, each as a separate spec with every value explicit, and the folder with user classes."""

    arms: Mapping[str, str]  # label -> TOML
    code: str | None

    @staticmethod
    def of(arms: Mapping[str, Facts], code: str | None) -> Bundle:
        """Return the bundle of arms, given by label."""
        return Bundle({label: tomli_w.dumps(_compared(facts)) for label, facts in arms.items()}, code)

    @staticmethod
    def read(file: Path) -> Bundle:
        """Read what `text` returned; user classes are in the folder of the file."""
        return Bundle.of(tomllib.loads(file.read_text(encoding="utf-8")), str(file.parent))

    def text(self) -> str:
        """Return the content of the file in an app."""
        return tomli_w.dumps({label: tomllib.loads(spec) for label, spec in self.arms.items()})

    def run(self, arm: str, seed: int, digest: str) -> NodeRun:
        """Return the run that the server plays; raise an error if this node's spec of it differs."""
        if arm not in self.arms:
            raise UserError(f"the app of this node has no arm {short(arm)}: give server and nodes the same app")
        run = NodeRun(self.arms[arm], seed, self.code)
        if (own := digest_of_run(run.facts())) != digest:
            raise UserError(
                f"the server's spec has digest {short(digest)}, this node's {own}: give server and nodes the same app"
            )
        return run


def digest_of_run(facts: Facts) -> str:
    """Return the digest of a run that server and node compare: 16 hexadecimal digits."""
    return digest_of_text(json.dumps(_compared(facts), sort_keys=True))[:16]


def _compared(facts: Facts) -> Facts:
    return {key: value for key, value in facts.items() if key not in _NOT_COMPARED}
