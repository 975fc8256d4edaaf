"""What is wanted of a fleet: so many clients in such a share of the rounds."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from ehfl.arrays import FloatArray, IntArray
from ehfl.validation import InvalidValue, number_in, whole_number

_FORM = re.compile(r"\s*(\d+)\s*clients?\s+in\s+(\d+(?:\.\d+)?)\s*%(?:\s+of\s+(?:the\s+)?rounds)?\s*", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Want:
    """At least `clients` participants in at least `share` of the rounds."""

    clients: int
    share: float

    def __post_init__(self) -> None:
        whole_number("clients", self.clients, low=1)
        number_in("share", self.share, "(0, 1]")

    @staticmethod
    def parse(text: str, name: str = "want") -> Want:
        """Return what a text asks for.

        >>> Want.parse("20 clients in 99 % of rounds")
        Want(clients=20, share=0.99)
        """
        found = _FORM.fullmatch(text)
        if found is None or not (int(found[1]) >= 1 and 0 < float(found[2]) <= 100):
            raise InvalidValue(name, 'as in "20 clients in 99 % of rounds"', text)
        return Want(int(found[1]), float(found[2]) / 100)

    def shares(self, counts: IntArray) -> FloatArray:
        """Return the share of rounds with as many as wanted, for each row of counts."""
        return np.asarray((counts >= self.clients).mean(axis=-1))

    def __str__(self) -> str:
        return f"{self.clients:,} client{'' if self.clients == 1 else 's'} in {100 * self.share:g} % of rounds"
