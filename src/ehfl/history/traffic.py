"""What turns send between server and clients."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ehfl.validation import whole_number

_BYTES_A_WEIGHT = 4  # float32
_MB = 1e6
_KEYS = {"model_weights": "weights", "models_down": "down", "models_up": "up"}  # of meta.json


@dataclass(frozen=True, slots=True)
class Traffic:
    """How many models one turn of a client sends, and how large they are.

    >>> Traffic(weights=250_000, down=1, up=2).uploaded(turns=10)
    20.0
    """

    weights: int  # of the model
    down: int = 1  # models that the client gets
    up: int = 1  # models that it sends back

    def __post_init__(self) -> None:
        for key, name in _KEYS.items():
            whole_number(key, getattr(self, name), low=0)

    def downloaded(self, turns: int) -> float:
        """Return what clients get in so many turns [MB]."""
        return turns * self.down * self.weights * _BYTES_A_WEIGHT / _MB

    def uploaded(self, turns: int) -> float:
        """Return what they send back [MB]."""
        return turns * self.up * self.weights * _BYTES_A_WEIGHT / _MB

    def facts(self) -> dict[str, int]:
        """Return the values as meta.json has them."""
        return {key: getattr(self, name) for key, name in _KEYS.items()}

    @staticmethod
    def read(meta: Mapping[str, Any]) -> Traffic | None:
        """Return what `facts` returned; None where a run of an older version does not say."""
        if not _KEYS.keys() <= meta.keys():
            return None
        return Traffic(**{name: meta[key] for key, name in _KEYS.items()})
