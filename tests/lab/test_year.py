"""What the lab plays: the same as simulate with the spec that it shows, and one line where a spec is refused."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import numpy as np
import pytest

from ehfl.experiment.play import World
from ehfl.experiment.spec.read import make_spec
from ehfl.lab.year import SCHEDULERS, SITES, Nodes, play_year
from ehfl.validation import UserError

SMALL = Nodes(clients=5, target=2)


def test_numbers_are_those_of_the_spec_that_is_shown() -> None:
    year = play_year(SMALL)
    (arm,) = make_spec(tomllib.loads(year.spec)).arms
    counts = World.of(arm.setting).play(0).counts

    assert arm.setting.fleet.cost == 300 and arm.setting.fleet.capacity == 3600
    assert year.on_target == np.mean(counts >= 2) and year.empty == np.sum(counts == 0)
    assert year.mean == pytest.approx(counts.mean())
    assert year.by_day[3] == pytest.approx(counts[72:96].mean())
    assert year.by_hour[1, 12] == np.mean(counts[31 * 24 + 12 : 59 * 24 : 24] >= 2)  # noon in February
    assert 0 < year.on_target < 1


@pytest.mark.parametrize(
    ("scheduler", "site"), [*((name, SITES[0]) for name in SCHEDULERS), *(("greedy", site) for site in SITES[1:])]
)
def test_every_scheduler_and_site_has_a_year(scheduler: str, site: str) -> None:
    year = play_year(replace(SMALL, clients=2, target=1, scheduler=scheduler, site=site))

    assert year.by_day.shape == (365,) and year.by_hour.shape == (12, 24)
    assert np.isfinite(year.by_hour).all()


def test_what_cannot_be_played_is_one_line() -> None:
    with pytest.raises(UserError, match=r"target must be .*, got 6") as caught:
        play_year(replace(SMALL, target=6))
    assert "\n" not in str(caught.value)
