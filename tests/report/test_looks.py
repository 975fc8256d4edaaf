"""An arm looks the same everywhere, and its colour goes by its scheduler."""

from __future__ import annotations

import pytest

from ehfl.report.figures.looks import looks, looks_of
from ehfl.scheduling import SCHEDULERS
from made_trials import two_arms


def colours(schedulers: dict[str, str]) -> list[str]:
    return [look.colour for look in looks(schedulers).values()]


def test_every_registered_scheduler_has_a_colour_of_its_own() -> None:
    own = {name: looks({"any label": name})["any label"].colour for name in SCHEDULERS.members}
    spare = colours({f"mine {n}": "" for n in range(3)})

    assert len(set(own.values())) == len(SCHEDULERS.members)
    assert not set(own.values()) & set(spare)


def test_a_label_decides_nothing() -> None:
    blue, orange = looks({"x": "myopic"})["x"], looks({"x": "greedy"})["x"]

    chosen = looks({"greedy": "myopic", "not-greedy": "", "myopic": "greedy"})

    assert chosen["greedy"].colour == blue.colour
    assert chosen["myopic"].colour == orange.colour
    assert chosen["not-greedy"].colour not in {blue.colour, orange.colour}


def test_a_users_own_scheduler_never_gets_the_colour_of_ours_even_where_that_is_not_drawn() -> None:
    ours = {look.colour for look in looks({name: name for name in SCHEDULERS.members}).values()}

    assert not ours & set(colours({f"mine {n}": "" for n in range(20)}))


def test_further_arms_of_a_scheduler_get_spare_colours_and_dashes_of_their_own() -> None:
    found = list(looks({f"myopic, {n}": "myopic" for n in range(5)}).values())

    assert len({look.colour for look in found[:4]}) == 4
    assert found[4].colour == found[0].colour
    assert found[0].line == "-"
    assert len({look.dash for look in found[:4]}) == 4


def test_the_papers_pair_differs_in_colour_and_in_dashes() -> None:
    one, other = looks({"round-robin": "round-robin", "round-robin:1": "round-robin"}).values()

    assert one.colour != other.colour
    assert one.dash != other.dash
    assert one.marker != other.marker


@pytest.mark.parametrize(
    "schedulers", [["myopic"] * 12, [""] * 12, ["greedy", "round-robin"] * 5, [*SCHEDULERS.members, *[""] * 12]]
)
def test_arms_differ_in_colour_or_dashes_and_in_markers(schedulers: list[str]) -> None:
    found = looks({f"arm {n}": scheduler for n, scheduler in enumerate(schedulers)}).values()

    assert len({(look.colour, look.dash) for look in found}) == len(schedulers)
    assert len({look.marker for look in list(found)[:12]}) == 12 or len(schedulers) < 12


def test_arms_of_a_comparison_look_as_their_trials_schedulers_say() -> None:
    assert looks_of(two_arms()) == looks({"greedy": "greedy", "myopic": "myopic"})


def test_in_a_further_world_a_scheduler_keeps_its_colour_and_dashes_say_which_it_is() -> None:
    schedulers = {"a": "myopic", "b": "greedy", "c": "greedy", "d": "myopic", "e": "greedy"}
    chosen = looks(schedulers, {"a": 0, "b": 0, "c": 1, "d": 1, "e": 1})

    assert chosen["a"].colour == chosen["d"].colour != chosen["b"].colour == chosen["c"].colour
    assert chosen["a"].dash == chosen["b"].dash == () != chosen["c"].dash == chosen["d"].dash
    assert chosen["e"].colour not in (chosen["a"].colour, chosen["b"].colour)
    assert len({(look.colour, look.dash) for look in chosen.values()}) == 5
