"""A scheduler whose process is killed in its third round: to be copied to a folder, where it leaves a mark."""

import os
import signal
from dataclasses import dataclass
from pathlib import Path

MARK = Path(__file__).with_name("died")


@dataclass(frozen=True)
class Mortal:
    """Picks nobody; kills its process once, or every time."""

    always: bool = False

    def select(self, view):  # type: ignore[no-untyped-def]
        if view.round == 2 and (self.always or not MARK.exists()):
            MARK.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return []
