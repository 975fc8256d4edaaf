"""Schedulers by energy, and by how much of it to spend."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ehfl.arrays import FloatArray, IntArray
from ehfl.quantities import is_quantity, quantity
from ehfl.scheduling.view import Auto, View, check_width
from ehfl.validation import InvalidValue, is_number, is_word, number_in, whole_number

_ENDLESS = 20.0  # rounds that an infinite battery is asked to hold by "auto"
_HOUR = 3600.0  # [s]
_MOST_AHEAD = 100_000  # rounds
# Of sums over clients, so that ten tenths are one, and of levels less thresholds: a client that is at its threshold
# takes part.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True)
class MostRoundsLeft:
    """Of those who can pay, the `target` that could pay for the most rounds: largest E_i / cost_i, ties at random.

    Myopic (paper, section 3.3) for clients whose rounds cost them differently: a queue is as long as the rounds in it,
    not as the energy in it. Where all costs are equal it is Myopic, to the bit. No client among the `target`
    longest is unable to pay while another is able: it would have less than one round left.

    Ratios are compared as float64, which rounds monotonically, so no order is turned round, and equal ratios are equal
    numbers. Different ones count as equal only if they differ by less than one part in 2^53, which takes costs above
    2^26.
    """

    target: int | Auto = "auto"

    def __post_init__(self) -> None:
        check_width("target", self.target)

    def select(self, view: View) -> IntArray:
        """Return the clients that can pay for the most rounds."""
        return view.most_rounds_left(view.width("target", self.target))


@dataclass(frozen=True, slots=True)
class Threshold:
    """Of those who keep at least `reserve` rounds' costs after paying, the `target` with the most rounds left.

    E_i - cost_i >= reserve * cost_i; then the largest E_i / cost_i, ties at random.

    A battery that is never drawn down to nothing carries its client through a night or a calm: A. Kansal, J. Hsu,
    S. Zahedi and M. B. Srivastava, "Power management in energy harvesting sensor networks", ACM TECS 6(4), 2007, whose
    energy-neutral operation spends no more than what comes in and needs a buffer against its variations.
    A threshold is the plainest rule of that kind; the paper's own one adapts a node's duty cycle.

    The reserve is counted in the client's own rounds, since that means the same in units and in joules, for small and
    large batteries, and for infinite ones, of which no share can be taken. It is never spent: what it buys is
    that no client is empty, so one that is asked again soon can pay. With 0 it is MostRoundsLeft; with a target of
    all clients everyone above the threshold takes part.
    """

    reserve: float = 1.0
    target: int | Auto = "auto"

    def __post_init__(self) -> None:
        number_in("reserve", self.reserve, "[0, 1e9]")
        check_width("target", self.target)

    def select(self, view: View) -> IntArray:
        """Return those with the most rounds left who keep the reserve."""
        return view.most_rounds_left(view.width("target", self.target), self.reserve)


@dataclass(frozen=True, slots=True)
class Lyapunov:
    """The participants that maximise V sqrt(n) + sum over them of (e_i - theta_i), e_i = E_i / cost_i.

    L. Huang and M. J. Neely, "Utility optimal scheduling in energy-harvesting networks", IEEE/ACM ToN 21(4), 2013,
    arXiv 1012.1945 (ESA), with the long-run mean of sqrt(n_t) for a utility: concave, so that steady rounds are worth
    more than rich and poor ones with the same mean. Queues are counted in rounds, so it is free of units. With
    L = (1/2) sum (e_i - theta_i)^2, e_i(t+1) <= e_i - 1{i in N_t} + a_i and a constant B,

        L(t+1) - L(t) - V sqrt(n_t) <= B + sum (e_i - theta_i) a_i - [V sqrt(n_t) + sum_{i in N_t} (e_i - theta_i)],

    and each round the bracket is made as large as can be, over those who can pay. For a given n its best set are the n
    largest e_i - theta_i, and what the n-th adds, V (sqrt(n) - sqrt(n-1)) + (e_i - theta_i), falls with n. So they are
    taken in this order while it is not negative, which is exact.

    theta_i = min(1 + V, capacity_i / cost_i). With the former, as in the paper, who cannot pay would not be picked
    either (its e_i is below 1), and the rule reads: the n-th richest takes part if that leaves it at least
    V (1 - sqrt(n) + sqrt(n-1)) rounds. The latter is for batteries that cannot hold as much; there it must be asked
    who can pay, as is done always. Harvest is never refused, as ESA does above theta; a full battery wastes it.

    V = 0 is Greedy, and so is a V that dwarfs the batteries. The larger V, up to the latter, the nearer to the optimum
    and the longer until the queues have filled. "auto" is sqrt(target) times the median battery in rounds, an infinite
    one counting as 20: then `target` clients a round are taken when batteries are about half full, fewer below.
    """

    v: float | Auto = "auto"

    def __post_init__(self) -> None:
        if not is_word(self.v, "auto") and not (is_number(self.v) and 0 <= self.v <= 1e9):
            raise InvalidValue("v", "auto or a number in [0, 1e9]", self.v)

    def select(self, view: View) -> IntArray:
        """Return the best set: the richest, while each is worth its energy."""
        v, room = self._scale(view)
        gain = np.where(view.energy >= view.cost, view.rounds_left - np.minimum(1 + v, room), -math.inf)
        falling = np.sort(gain)[::-1]
        roots = np.sqrt(np.arange(falling.size + 1.0))
        worth = falling + v * np.diff(roots) >= -_ROUNDING * (1 + v)
        return view.largest(gain, int(worth.sum()))

    def _scale(self, view: View) -> tuple[float, FloatArray]:
        """Return V and what each battery holds in rounds, (n_clients,)."""
        room = np.broadcast_to(np.divide(view.capacity, view.cost), view.energy.shape)
        if self.v != "auto":
            return self.v, room
        room = np.minimum(room, _ENDLESS)
        return math.sqrt(view.target) * float(np.median(room)), room


@dataclass(frozen=True, slots=True)
class Forecast:
    """The m clients with the most rounds left, m being what the expected energy can bear through `horizon` rounds.

    m is the largest number, at most `target` and at least 1, that a fluid fleet could have in every one of the rounds
    t..t+horizon-1. Its levels e_i, in rounds, start from E_i / cost_i. In each round everyone gives the same share of
    what it can, min(e_i, 1), so that it is m in all, and then harvests what is expected:

        e_i <- min(e_i - min(e_i, 1) m / S + a_i / cost_i, capacity_i / cost_i),   S = sum of min(e_i, 1),

    never below 0 (a_i may be, where devices that stand by draw more than comes in); m can be borne if S >= m in every
    round. A smaller m leaves every level at least as high, so there is a largest. If round s falls short with S < m, no
    more than (m s + S) / (s + 1) can be borne: clients that had given d less in each of s rounds would hold at most d s
    more. The search goes down by that bound, which passes over nothing. It is done anew in each round, and its first
    round alone is played: a receding horizon.

    C. Moser, L. Thiele, D. Brunelli and L. Benini, "Adaptive power management in energy harvesting systems", DATE 2007
    (receding horizon on predicted harvest); C. Renner, F. Meier and V. Turau, "Policies for predictive energy
    management with supercapacitors", PerSeNS 2012 (the largest uniform demand that a horizon can bear). These are for
    one node; that a fleet shares the demand is ours.

    What is expected is `view.ahead`: of a harvest that can be foretold, by hour and season, else the mean rate. Leaks
    are not foreseen, and a horizon that is shorter than a night does not see the morning.
    """

    horizon: int | str = "24 h"  # rounds, or a time; rounds without a length count as hours
    target: int | Auto = "auto"

    def __post_init__(self) -> None:
        if is_quantity(self.horizon):
            number_in("horizon", quantity("horizon", self.horizon, "s"), "(0, 31536000]")
        else:
            whole_number("horizon", self.horizon, low=1, high=_MOST_AHEAD)  # type: ignore[arg-type]  # or refused
        check_width("target", self.target)

    def select(self, view: View) -> IntArray:
        """Return the richest m."""
        return view.most_rounds_left(self.steady(view))

    def steady(self, view: View) -> int:
        """Return m."""
        # A pool of all energy, where nothing overflows, could not bear more: a start that saves most of the search.
        harvest = [_rounds_in(np.maximum(row, 0), view) for row in view.ahead(self._rounds(view))]
        held = _rounds_in(view.energy, view) + np.append(0, np.cumsum(harvest)[:-1])  # until each round, (horizon,)
        most = math.floor((held / np.arange(1, held.size + 1)).min() + _ROUNDING)
        m: int = min(view.width("target", self.target), most)
        while m > 1 and (bound := self._bound(view, m)) < m:
            m = bound
        return max(m, 1)

    def _rounds(self, view: View) -> int:
        """Return the horizon in rounds."""
        if isinstance(self.horizon, int):
            return self.horizon
        rounds = round(quantity("horizon", self.horizon, "s") / (view.round_length or _HOUR))
        return min(max(rounds, 1), _MOST_AHEAD)

    def _bound(self, view: View, m: int) -> int:
        """Return m if it can be borne, else a smaller number that none which can be borne exceeds."""
        level = view.energy.astype(np.float64)  # e_i times the cost, which saves a division
        given = np.empty_like(level)
        for s, harvest in enumerate(view.ahead(self._rounds(view))):
            there = _rounds_in(np.minimum(level, view.cost, out=given), view)
            if there < m - _ROUNDING:
                return math.floor((m * s + there) / (s + 1) + _ROUNDING)
            given *= min(m / there, 1)
            level -= given
            level += harvest
            np.minimum(level, view.capacity, out=level)
            np.maximum(level, 0, out=level)
        return m


def _rounds_in(energy: FloatArray | IntArray, view: View) -> float:
    """Return how many rounds so much energy of each client pays for, together."""
    if isinstance(view.cost, np.ndarray):
        return float((energy / view.cost).sum())
    return float(energy.sum()) / view.cost


@dataclass(frozen=True, slots=True)
class AdaptiveSteps:
    """Of those who can pay for one step and keep `reserve` rounds' costs, the `target` with the most rounds left.

    Each takes as many of the K steps as it can pay for: the largest k_i <= K with

        cost_i - (K - k_i) step_cost_i <= E_i - reserve * cost_i.

    How much clients compute follows from what they have, as in S. Wang et al., "Adaptive federated learning in resource
    constrained edge computing systems", IEEE JSAC 37(6), 2019, arXiv 1804.05271, where one number of steps is for all.
    That clients differ draws a plain mean towards those who take the most steps; the aggregation `fednova` (J. Wang et
    al., arXiv 2007.07481), which divides each update by its steps, does not let that happen.

    Where the fleet does not say what a step costs (`Fleet.step_cost`), turns are whole: it is Threshold then.
    """

    target: int | Auto = "auto"
    reserve: float = 0.0

    def __post_init__(self) -> None:
        check_width("target", self.target)
        number_in("reserve", self.reserve, "[0, 1e9]")

    def select(self, view: View) -> IntArray:
        """Return those with the most rounds left who can pay for a step."""
        width = view.width("target", self.target)
        if view.local_steps is None:
            return view.most_rounds_left(width, self.reserve)
        able = self._payable(view, view.local_steps) >= 1
        return view.largest(np.where(able, view.rounds_left, -1.0), min(width, int(able.sum())))

    def steps(self, view: View, clients: IntArray) -> IntArray:
        """Return k_i, at least 1."""
        assert view.local_steps is not None, "it is asked only where a step has a cost"
        return np.maximum(self._payable(view, view.local_steps)[clients], 1)

    def _payable(self, view: View, most: int) -> IntArray:
        """Return how many steps each client can pay for, (n_clients,); none, or fewer, if not even one."""
        lacking = view.least(self.reserve) - view.energy  # of what a whole turn takes
        step = np.maximum(view.step_cost, 1)
        forgone = np.where(np.equal(view.step_cost, 0), most, -(-lacking // step))
        payable: IntArray = most - np.where(lacking > 0, forgone, 0)
        return payable
