"""PowerOfChoice: the largest losses among a few."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ehfl.arrays import IntArray
from ehfl.scheduling.view import Auto, View, check_width
from ehfl.validation import InvalidValue


@dataclass(frozen=True, slots=True)
class PowerOfChoice:
    """`candidates` drawn uniformly from those who can pay, then the `target` of them with the largest losses.

    Y. J. Cho, J. Wang and G. Joshi, "Client selection in federated learning: convergence analysis and power-of-choice
    selection strategies", arXiv 2010.01243, in its variant that costs no messages (rpow-d): a client's loss is that of
    its last turn, and infinite before its first. "auto" is twice the target, the paper's usual choice of d. The paper
    draws candidates in proportion to their data; here they are drawn uniformly.
    """

    wants_losses: ClassVar[bool] = True
    target: int | Auto = "auto"
    candidates: int | Auto = "auto"

    def __post_init__(self) -> None:
        check_width("target", self.target)
        check_width("candidates", self.candidates, low=1 if self.target == "auto" else self.target)

    def select(self, view: View) -> IntArray:
        """Return the candidates with the largest last losses."""
        width = view.width("target", self.target)
        wanted = 2 * width if self.candidates == "auto" else view.width("candidates", self.candidates)
        if wanted < width:
            raise InvalidValue("candidates", f"at least the target ({width})", wanted)
        drawn = view.generator().permutation(view.able())[:wanted]
        known = np.full(view.energy.size, np.nan) if view.losses is None else view.losses
        losses = np.where(np.isnan(known), np.inf, known)[drawn]
        return view.first(drawn, -losses, width)
