"""Whether the extra that Flower comes with is there."""

from __future__ import annotations

from importlib.util import find_spec

from ehfl.validation import UserError

MISSING = "a Flower deployment needs flwr: pip install 'ehfl[flower]'"


def check_installed() -> None:
    """Refuse, in one line and without importing it, to go on without Flower."""
    if any(find_spec(name) is None for name in ("flwr", "psutil")):
        raise UserError(MISSING)
