"""A run's folder is one process's own, and that process notices when it is not any more.

The lock of a folder is the first guard. It does not help where a shared file system has no locks that reach across
machines, or has given up those of a machine that it lost sight of: a node that a cluster takes for dead may still work.
So every start of a run is taken down in its meta.json, and a process that finds a later one than its own stops.
"""

from __future__ import annotations

import os
import secrets
import socket
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ehfl.experiment.provenance import now
from ehfl.files import InUse
from ehfl.run_folder import RunFolder

if TYPE_CHECKING:
    from ehfl.history import Record
    from ehfl.learning.training import OnRound

_LOOK_SECONDS = 1.0  # between two looks: rounds can be much shorter, and meta.json is read each time


@dataclass(slots=True)
class Claim:
    """One start of a run in its folder."""

    folder: RunFolder
    start: dict[str, Any]
    _looked: float = field(default_factory=time.monotonic)

    def check(self) -> None:
        """Raise InUse if another process has started the run since."""
        self._looked = time.monotonic()
        last = self.folder.meta().get("starts", [None])[-1]
        if last != self.start:
            raise InUse(f"{self.folder.path} was taken over by another process, which goes on with the run")

    def watching(self, on_round: OnRound | None) -> OnRound:
        """Return what is to be called after each round: the check, now and then, and what the caller wants."""

        def after_round(record: Record) -> None:
            if time.monotonic() >= self._looked + _LOOK_SECONDS:
                self.check()
            if on_round is not None:
                on_round(record)

        return after_round


def claimed(folder: RunFolder, **facts: Any) -> Claim:
    """Take down in meta.json that the run is started here and now, with these facts, and return the claim."""
    # The token tells two starts apart even where hosts of one name give processes the same number.
    start = {"at": now(), "host": socket.gethostname(), "process": os.getpid(), "token": secrets.token_hex(8)}
    folder.add_meta(**facts | {"starts": [*folder.meta().get("starts", []), start]})
    return Claim(folder, start)
