"""Which theorem covers an arm."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ehfl import simulate
from ehfl.arrays import BoolArray
from ehfl.experiment import Setting, covered, read_spec
from ehfl.experiment.spec.build import fleet_of, scheduler_of, target_of
from ehfl.scheduling import Participation
from ehfl.theory import (
    Constants,
    Coverage,
    Delays,
    bound_alike,
    bound_any,
    bound_independent,
    bound_inverse_probability,
    bound_memory,
    bound_uniform,
    delays_of,
)
from ehfl.theory.bounds.unlike import delays_of_turns

ALIKE = Constants(smoothness=1.0, variance=1.0, gap=1.0)
UNLIKE = Constants(smoothness=1.0, variance=1.0, gap=1.0, heterogeneity=0.5)
EXACT = Constants(smoothness=1.0, variance=0.0, gap=1.0, heterogeneity=0.5)
UNEQUAL = [0.2, 0.4, 0.6, 0.8]


def setting(**changes: Any) -> Setting:
    """Return one with four clients, single local steps of 0.01 and the mean, but for what is changed."""
    plain = {"rounds": 40, "fleet.clients": 4, "learning.local_steps": 1, "learning.step_size": 0.01}
    named = {key.replace("__", "."): value for key, value in changes.items()}
    return read_spec({}, plain | named).base


def played(one: Setting) -> Participation:
    return simulate(fleet_of(one), scheduler_of(one), one.rounds, seed=3, target=target_of(one))


def said(constants: Constants, **changes: Any) -> Coverage:
    one = setting(**changes)
    return covered(one, played(one), constants)


def test_alike_data_under_the_mean_are_theorem_as_with_any_scheduler_and_steps() -> None:
    for scheduler in ("myopic", "greedy", "round-robin:1", "always-on", "threshold"):
        one = setting(scheduler=scheduler, learning__step_size="nominal:0.1", learning__local_steps=1)
        n_t = played(one).counts
        root = np.sqrt(n_t)
        # decay is 0.99 every ten rounds, and a window's non-empty rounds have the nominal value as their mean
        nominal = np.repeat(0.1 * 0.99 ** np.arange(4), 10)
        means = np.repeat([root[w : w + 10].sum() / (n_t[w : w + 10] > 0).sum() for w in range(0, 40, 10)], 10)
        found = covered(one, played(one), ALIKE)

        assert (found.theorem, found.why) == ("A", "")
        assert found.own_steps == pytest.approx(bound_alike(n_t, nominal * root / means, 1, ALIKE).value, rel=1e-12)


def test_unlike_data_are_theorem_cs_whoever_takes_part() -> None:
    one = setting(scheduler="myopic", learning__local_steps=3)
    n_t = played(one).counts
    found = covered(one, played(one), UNLIKE)

    assert (found.theorem, found.why) == ("C", "clients' data differ")
    expected = bound_any(n_t, np.where(n_t > 0, 0.01, 0.0), 4, 3, UNLIKE).value
    assert found.own_steps == pytest.approx(expected, rel=1e-12)
    assert found.largest_step == pytest.approx(0.01 * 8 * 3)


def test_turns_that_come_round_are_covered_by_windows_where_these_say_more() -> None:
    changes = {"scheduler": "round-robin", "rounds": 4000, "learning__step_size": 0.01}
    found = said(UNLIKE, **changes)

    assert (found.theorem, found.why) == (
        "H",
        "clients' data differ, and turns come round (in windows of 2 rounds)",
    )
    assert found.own_steps is not None and found.own_steps < 0.5 * UNLIKE.heterogeneity
    # Where steps are too long for windows, and for K > 1, theorem C is what there is.
    assert said(UNLIKE, **(changes | {"learning__step_size": 0.2})).theorem == "C"
    assert said(UNLIKE, **(changes | {"learning__local_steps": 2})).theorem == "C"


@pytest.mark.parametrize("scheduler", ["greedy", "always-on:2"])
def test_participants_that_are_drawn_uniformly_are_theorem_ds(scheduler: str) -> None:
    one = setting(scheduler=scheduler, fleet__rate=0.5)
    n_t = played(one).counts

    expected = bound_uniform(n_t, np.where(n_t > 0, 0.01, 0.0), 4, 1, UNLIKE).value
    found = covered(one, played(one), UNLIKE)
    assert found.theorem == "D" and found.own_steps == pytest.approx(expected, rel=1e-12)


def test_chances_of_their_own_are_theorem_es_for_a_constant_step() -> None:
    changes = {"scheduler": "greedy", "fleet__rate": UNEQUAL}

    found = said(UNLIKE, **changes)
    # 39 rounds: in the first, batteries are empty
    assert found.theorem == "E"
    assert found.own_steps == pytest.approx(bound_independent(UNEQUAL, [0.01] * 39, UNLIKE).value, rel=1e-12)
    assert said(UNLIKE, **changes, learning__step_size="nominal:0.01").theorem == "C"
    assert said(UNLIKE, **changes, learning__local_steps=2).theorem == "C"
    assert said(UNLIKE, **changes, fleet__initial=1).theorem == "C"  # the first round is another one then


LOSSY = {
    "fleet__rate": 0.6,
    "fleet__capacity": "10 J",
    "fleet__cost": "1 J",
    "fleet__quantum": "1 J",
    "fleet__arrival": "1 J",
    "fleet__round_length": "1 min",
    "fleet__efficiency": [1.0, 0.5, 0.5, 0.2],
}


def test_equal_rates_are_not_theorem_ds_where_charging_loses_energy() -> None:
    """Clients are then heard in 60, 30, 30 and 12 % of the rounds, so neither D nor F with rates as chances holds."""
    assert said(UNLIKE, scheduler="greedy", **LOSSY).theorem in ("C", "H")
    weighted = said(UNLIKE, scheduler="greedy", learning__aggregation="inverse-probability", **LOSSY)
    assert weighted.theorem is None and "takes part by a chance of its own" in weighted.why
    assert said(UNLIKE, scheduler="always-on", **LOSSY).theorem == "D"  # mains power does not ask the batteries


def test_inverse_probabilities_are_theorem_fs_where_clients_are_independent() -> None:
    changes = {"scheduler": "greedy", "fleet__rate": UNEQUAL, "learning__aggregation": "inverse-probability"}

    found = said(UNLIKE, **changes)
    expected = bound_inverse_probability(UNEQUAL, [0.01] * 39, UNLIKE).value
    assert (found.theorem, found.why) == ("F", "weights are inverse probabilities")
    assert found.own_steps == pytest.approx(expected, rel=1e-12)
    assert found.largest_step == pytest.approx(0.01 * (1 + (1 / 0.2 - 1) / 4))  # 1/(L (1 + v))
    assert said(UNLIKE, **changes, learning__local_steps=2).why == "theorem F asks for K = 1"
    assert said(UNLIKE, **changes, learning__step_size="nominal").why == "theorem F asks for a constant step size"
    own = {"name": "inverse-probability", "probabilities": [0.5] * 4}
    assert said(UNLIKE, **(changes | {"learning__aggregation": own})).why.startswith("theorem F asks for the true")
    for scheduler in ("myopic", "always-on"):
        assert "takes part by a chance of its own" in said(UNLIKE, **(changes | {"scheduler": scheduler})).why
    assert "chances above 0" in said(UNLIKE, **(changes | {"fleet__rate": [0.0, 0.5, 0.5, 0.5]})).why


def test_inverse_probabilities_on_batteries_with_losses_are_told_apart_from_those_without() -> None:
    lossy = {"efficiency": 0.5, "round_length": "1h", "arrival": "1J", "cost": "1J", "capacity": "9J", "quantum": "1J"}
    found = said(UNLIKE, **{f"fleet__{key}": value for key, value in lossy.items()}, scheduler="greedy",
                 learning__aggregation="inverse-probability")  # fmt: skip

    assert found.why.endswith("takes part by a chance of its own (greedy on bernoulli, without losses)")


def test_memory_is_theorem_gs_for_exact_gradients() -> None:
    changes = {"scheduler": "round-robin:1", "fleet__rate": 1.0, "learning__aggregation": "mifa"}
    one = setting(**changes)
    turns = played(one)
    took_part = np.array([np.isin(np.arange(4), turns.clients(t)) for t in range(40)])

    found = said(EXACT, **changes)
    assert (found.theorem, found.why) == ("G", "the server remembers")
    assert found.own_steps == pytest.approx(bound_memory(delays_of(took_part), 0.01, EXACT).value, rel=1e-12)
    # the longest delay is 3 rounds once all four were heard, so steps may be a quarter
    assert found.largest_step == pytest.approx(0.01 * 4)
    assert said(UNLIKE, **changes).why == "theorem G, on memory, asks for exact gradients (s2 = 0)"
    assert said(EXACT, **changes, learning__local_steps=2).why == "theorem G asks for K = 1"


def plain_delays(took_part: BoolArray) -> Delays:
    """Return the delays by their definition, round by round."""
    last, longest, had_turn = np.full(4, -1), 0, []
    for t, here in enumerate(took_part):
        last[here] = t
        longest = max([longest, *(t - last[last >= 0])])
        had_turn.append(float((last >= 0).mean()))
    return Delays(longest, np.array(had_turn))


@pytest.mark.parametrize(
    ("scheduler", "rate"), [("greedy", 0.1), ("myopic", 0.5), ("round-robin:1", 0.3), ("greedy", 0.0)]
)
def test_delays_are_read_off_the_turns(scheduler: str, rate: float) -> None:
    turns = played(setting(scheduler=scheduler, fleet__rate=rate))
    took_part = np.array([np.isin(np.arange(4), turns.clients(t)) for t in range(40)])

    not_empty = took_part[took_part.any(axis=1)]  # nothing ages in empty rounds
    found = delays_of_turns(turns.counts[turns.counts > 0], turns.indices, 4)
    expected = plain_delays(not_empty)

    assert found.longest == expected.longest
    assert found.had_turn.tolist() == expected.had_turn.tolist()


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"learning__clip": 1.0}, "clipped gradients are biased"),
        ({"learning__weight_decay": 0.1}, "weight decay makes it another loss"),
        ({"scheduler": "power-of-choice"}, "power-of-choice chooses by losses, so who takes part"),
        ({"scheduler": "adaptive-steps", "fleet__step_cost": 0}, "adaptive-steps gives turns different numbers"),
        (
            {"learning__aggregation": "fedavgm"},
            "the aggregation is fedavgm, neither mean, inverse-probability nor mifa",
        ),
        ({"learning__aggregation": {"name": "mifa", "server_step": 0.5}}, "the server's step is not 1"),
        (
            {"learning__partition": "shards:2"},
            "shards makes clients' data unlike, and zeta2 is given as 0 (--heterogeneity or --task gives it)",
        ),
        ({"learning__step_size": 1.01}, "steps are beyond 1/L, up to which theorem A is proven"),
        (
            {"learning__step_size": 0.07, "learning__local_steps": 2},
            "steps are beyond 1/(8 K L), up to which theorem A",
        ),
    ],
)
def test_what_no_theorem_covers_is_said(changes: dict[str, Any], why: str) -> None:
    found = said(ALIKE, **changes)

    assert found.theorem is None and found.own_steps is None
    assert found.why.startswith(why)
