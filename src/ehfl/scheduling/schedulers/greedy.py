"""Greedy: everyone who can."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ehfl.arrays import IntArray
from ehfl.scheduling.view import View


@dataclass(frozen=True, slots=True)
class Greedy:
    """Everyone who can pay takes part (paper, section 4)."""

    def select(self, view: View) -> IntArray:
        """Return all clients that can pay."""
        return np.flatnonzero(view.energy >= view.cost)
