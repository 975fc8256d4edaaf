"""Whether ehfl's Flower extras are installed; checked without importing them."""

from __future__ import annotations

from importlib.util import find_spec

from ehfl.validation import UserError

MISSING = "a Flower deployment needs flwr: pip install 'ehfl[flower]'"
_NO_SIMULATION = "Flower's simulation needs flwr and Ray: pip install 'ehfl[flower-simulation]'"


def check_installed() -> None:
    """Raise an error of one line if Flower is not installed."""
    _check_found(("flwr", "psutil"), MISSING)


def check_simulation() -> None:
    """Raise an error of one line if Flower or Ray is not installed."""
    _check_found(("flwr", "psutil", "ray"), _NO_SIMULATION)


def _check_found(modules: tuple[str, ...], otherwise: str) -> None:
    if any(find_spec(name) is None for name in modules):
        raise UserError(otherwise)
