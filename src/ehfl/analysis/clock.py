"""How long rounds take: hours and days beside rounds, and in their place where arms' rounds differ in length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ehfl.analysis.scales import Scale, time_scale
from ehfl.arrays import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Clock:
    """The length of each arm's rounds, where that is known of all, and what times are shown in."""

    lengths: Mapping[str, float]  # [s], by arm; empty where rounds have none
    scale: Scale

    @property
    def is_known(self) -> bool:
        """Whether rounds have a length."""
        return bool(self.lengths)

    @property
    def differs(self) -> bool:
        """Whether some arm's rounds are longer than another's, so that only time is the same for both."""
        return len(set(self.lengths.values())) > 1

    def times(self, arm: str, rounds: IntArray) -> FloatArray:
        """Return how long so many rounds of an arm take, in the scale's unit."""
        return self.scale.of(np.asarray(rounds, dtype=np.float64) * self.lengths[arm])

    def places(self, arm: str, rounds: IntArray) -> FloatArray:
        """Return where on an axis an arm's rounds stand: by their number, unless their lengths differ."""
        return self.times(arm, rounds) if self.differs else np.asarray(rounds, dtype=np.float64)

    def after(self, arm: str, rounds: float) -> str:
        """Return how long so many rounds take, in brackets behind them; empty where that is not known.

        >>> clock_of({"myopic": 3600.0}, {"myopic": 336}).after("myopic", 12)
        ' (12 h)'
        """
        if not self.is_known:
            return ""
        seconds = rounds * self.lengths[arm]
        return f" ({time_scale(seconds).text(seconds)})"


def clock_of(lengths: Mapping[str, float | None], rounds: Mapping[str, int]) -> Clock:
    """Return the clock of arms whose rounds have these lengths [s] and numbers.

    >>> clock_of({"myopic": 3600.0, "greedy": 3600.0}, {"myopic": 336, "greedy": 336}).scale.unit
    'days'
    """
    known = {arm: length for arm, length in lengths.items() if length is not None}
    if len(known) < len(lengths):
        known = {}
    longest = max((length * rounds[arm] for arm, length in known.items()), default=0.0)
    return Clock(known, time_scale(longest))


NO_CLOCK = clock_of({}, {})  # of rounds without a length
