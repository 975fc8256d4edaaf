"""Which theorem covers an arm, by its aggregation, its partition and its participation.

The letters are those of docs/theory.md; the bounds are in `theory`. A theorem holds for the participation that was
played, or for the chances behind it where they are known (`exact_chances`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from ehfl import theory
from ehfl.arrays import FloatArray
from ehfl.experiment.spec import build
from ehfl.experiment.spec.models import Setting
from ehfl.scheduling import Chances, Participation, brings_steps, exact_chances, wants_losses
from ehfl.theory import Bound, Constants, Coverage, Covering
from ehfl.theory.bounds.unlike import delays_of_turns, largest_step_of, largest_step_with_memory
from ehfl.theory.participants import MOST_CLIENTS
from ehfl.validation import at

_MOST_TURNS = 2**22  # rounds x clients whose windows are computed


def covered(setting: Setting, played: Participation, constants: Constants) -> Coverage:
    """Return which theorem covers an arm, its step sizes included, and the theorem's bound."""
    rule = build.step_size_rule_of(setting)
    with at("learning"), build.calling_user_code("step_size", "give a step size for each round"):
        etas = np.asarray(rule(played.counts, played.rounds), dtype=np.float64)
    with at("learning.step_size"):
        return theory.coverage(covering(setting, played, constants), played.counts, etas)


def covering(setting: Setting, played: Participation, constants: Constants) -> Covering | str:
    """Return the theorem for an arm, whatever its step sizes, or why there is none."""
    learning, scheduler = setting.learning, build.scheduler_of(setting)
    name, kind = setting.scheduler["name"], learning.aggregation["name"]
    reasons = {
        "clipped gradients are biased": learning.clip is not None,
        "weight decay makes it another loss": learning.weight_decay > 0,
        f"{name} chooses by losses, so who takes part depends on the gradients": wants_losses(scheduler),
        f"{name} gives turns different numbers of local steps": brings_steps(scheduler),
        f"the aggregation is {kind}, neither mean, inverse-probability nor mifa": kind not in _BY_AGGREGATION,
        "the server's step is not 1": learning.aggregation.get("server_step", 1) != 1,
    }
    for why, holds in reasons.items():
        if holds:
            return why
    return _BY_AGGREGATION[kind](setting, played, constants)


def _mean(setting: Setting, played: Participation, constants: Constants) -> Covering | str:
    counts, clients, steps = played.counts, played.n_clients, setting.learning.local_steps
    limit = theory.largest_step(steps, constants.smoothness), "1/L" if steps == 1 else "1/(8 K L)"
    if constants.heterogeneity == 0:
        if (dealt := setting.learning.partition["name"]) != "iid":
            return f"{dealt} makes clients' data unlike, and zeta2 is given as 0 (--heterogeneity or --task gives it)"
        return Covering("A", "", lambda etas: theory.bound_alike(counts, etas, steps, constants).value, *limit)
    known, unlike = _chances(setting), "clients' data differ"
    if known is not None and np.ptp(known.probabilities) == 0:
        why = f"{unlike}, and participants are drawn uniformly"
        return Covering(
            "D", why, lambda etas: theory.bound_uniform(counts, etas, clients, steps, constants).value, *limit
        )
    if known is not None and steps == 1 and clients <= MOST_CLIENTS and _is_constant(setting):
        why = f"{unlike}, and so do their chances of taking part"
        return Covering("E", why, _by_chances(theory.bound_independent, known, constants), *limit)
    anyone = Covering("C", unlike, lambda etas: theory.bound_any(counts, etas, clients, steps, constants).value, *limit)
    if steps > 1 or not _is_constant(setting) or played.rounds * clients > _MOST_TURNS:
        return anyone
    eta = setting.learning.step_size["value"]
    found = list(_by_turns(played, eta, constants))
    return min([anyone, *found], key=lambda one: one.bound(np.where(counts > 0, eta, 0.0))) if found else anyone


def _by_turns(played: Participation, eta: float, constants: Constants) -> Iterator[Covering]:
    """Yield theorem H for windows of 2, 4, 8, ... rounds, as long as it allows the arm's step size."""
    sets = played.took_part()
    for window in (2**power for power in range(1, 7)):
        windows = theory.windows_of(sets, window)
        limit = windows.largest_step(constants.smoothness)
        if eta <= limit:
            why = f"clients' data differ, and turns come round (in windows of {window} rounds)"
            yield Covering("H", why, _by_largest(theory.bound_windows, windows, constants), limit, "1/(8 m L)")


def _inverse_probability(setting: Setting, played: Participation, constants: Constants) -> Covering | str:
    known = None if played.mains_powered else _chances(setting)
    if known is None:
        return "theorem F asks that each client takes part by a chance of its own (greedy on bernoulli, without losses)"
    if setting.learning.aggregation.get("probabilities", "auto") != "auto":
        return "theorem F asks for the true probabilities (auto)"
    if not known.probabilities.all():
        return "theorem F asks for chances above 0, and some clients have none"
    limit = largest_step_of(known.probabilities, constants.smoothness)
    bound = _by_chances(theory.bound_inverse_probability, known, constants)
    return _if_plain(setting, Covering("F", "weights are inverse probabilities", bound, limit, "1/(L (1 + v))"))


def _memory(setting: Setting, played: Participation, constants: Constants) -> Covering | str:
    if constants.variance > 0:
        return "theorem G, on memory, asks for exact gradients (s2 = 0)"
    # Rounds without participants are left out: their step size is 0, so the model stands still and no memory ages.
    delays = delays_of_turns(played.counts[played.counts > 0], played.indices, played.n_clients)
    limit = largest_step_with_memory(delays, constants.smoothness)
    bound = _by_largest(theory.bound_memory, delays, constants)
    return _if_plain(setting, Covering("G", "the server remembers", bound, limit, "1/(L (1 + tau))"))


_BY_AGGREGATION: dict[str, Callable[[Setting, Participation, Constants], Covering | str]] = {
    "mean": _mean,
    "inverse-probability": _inverse_probability,
    "mifa": _memory,
}


def _if_plain(setting: Setting, found: Covering) -> Covering | str:
    """Return the theorem if the arm has single local steps of constant size, else which of the two is missing."""
    if setting.learning.local_steps > 1:
        return f"theorem {found.letter} asks for K = 1"
    return found if _is_constant(setting) else f"theorem {found.letter} asks for a constant step size"


def _is_constant(setting: Setting) -> bool:
    """Return whether step sizes do not depend on who takes part."""
    return bool(setting.learning.step_size["name"] == "constant")


def _chances(setting: Setting) -> Chances | None:
    """Return the clients' chances of taking part, if they are the same and independent in all rounds."""
    fleet, scheduler = build.fleet_of(setting), build.scheduler_of(setting)
    return exact_chances(fleet, scheduler, setting.rounds, target=build.target_of(setting))


def _by_chances(bound: Callable[..., Bound], known: Chances, constants: Constants) -> Callable[[FloatArray], float]:
    """Return a bound with a constant step size, in empty rounds too, since these are random."""
    return lambda etas: bound(known.probabilities, np.full(known.rounds, etas.max()), constants).value


def _by_largest(bound: Callable[..., Bound], known: object, constants: Constants) -> Callable[[FloatArray], float]:
    """Return a bound with a constant step size, which is that of the rounds with participants."""
    return lambda etas: bound(known, float(etas.max()), constants).value
