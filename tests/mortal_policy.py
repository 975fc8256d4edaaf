"""A scheduler whose process is killed in its third round, once: to be copied to a folder, where it leaves a mark."""

import os
import signal
from pathlib import Path

MARK = Path(__file__).with_name("died")


class Mortal:
    """Picks nobody."""

    def select(self, view):  # type: ignore[no-untyped-def]
        if view.round == 2 and not MARK.exists():
            MARK.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return []
