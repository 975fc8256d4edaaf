"""Batteries and panels together: prices, the cheapest design, and a map whose cells are not all played."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from ehfl.arrays import FloatArray
from ehfl.experiment import make_spec
from ehfl.experiment.plan import make_plan
from ehfl.planning import Answer, Free, Prices, SizeMap, Want
from ehfl.planning.sizes import map_shares
from ehfl.quantities import as_energy, as_power
from ehfl.validation import InvalidValue

TABLE = {"clients": 10, "capacity": 3600.0, "harvest": {"name": "sun", "watts": 1.0}}
PRICES = Prices.parse({"battery": "3.6/kJ", "panel": "2/W"})
SUN = {"name": "sun", "watts": 0.4, "weather": "typical"}
FLEET = {"clients": 3, "round_length": "6 h", "capacity": "1 Wh", "cost": "900 J", "harvest": SUN}


def made(line: Sequence[float]) -> SizeMap:
    """Return the map of panels of 1, 2 and 4 W with these batteries."""
    battery, panel = (Free(name, TABLE, 1.0, 0.1, 1e6, shown, lambda value: {"capacity": value})
                      for name, shown in (("battery", as_energy), ("panel", as_power)))  # fmt: skip
    return SizeMap("myopic", battery, panel, (1.0, 2.0, 4.0), (3600.0,), np.ones((3, 1)), np.array(line), 4, PRICES)


def answer_of(value: float, *, found: bool = True) -> Answer:
    return Answer(value, found, (None, None), 29, 27, 1.0, {value: 1.0}, 1e6)


@pytest.mark.parametrize(
    "given", [{"battery": "0.3/Wh"}, {"battery": "0.3", "panel": "1/W"}, {"battery": "0.3/W", "panel": "1/W"},
              {"battery": "0.3/Wh", "panel": "1/W", "client": "3/W"}],
)  # fmt: skip
def test_prices_are_of_both_in_their_units(given: Mapping[str, str]) -> None:
    with pytest.raises(InvalidValue):
        Prices.parse(given)


def test_a_fleet_costs_what_all_its_batteries_and_panels_do() -> None:
    """Ten batteries of 5 kJ at 18 and ten panels of 2 W at 4 are 220."""
    assert made([9000.0, 5000.0, 3600.0]).cost(1, 5000.0) == pytest.approx(220)


def test_a_size_for_each_client_is_a_factor() -> None:
    sizes = made([1.0] * 3)
    each = replace(sizes.battery, table=TABLE | {"capacity": [1000.0] * 4 + [2000.0] * 6})

    assert replace(sizes, battery=each).cost(0, 2.0) == pytest.approx(2 * 16_000 * 3.6e-3 + 20)


def test_the_cheapest_is_found_by_answers_and_not_by_the_first_years() -> None:
    """On the line 1 W is cheapest, but in many years it needs three times the battery; then 2 W, then 4 W are tried."""
    asked: list[int] = []

    def search_at(place: int) -> Answer:
        asked.append(place)
        return answer_of([18_000.0, 5500.0, 5400.0][place])

    found = made([6000.0, 5600.0, 5500.0]).find_cheapest(search_at)
    assert found.cheapest == 1
    assert sorted(set(asked)) == [0, 1, 2]


def test_without_an_answer_nothing_is_cheapest() -> None:
    assert made([math.nan] * 3).find_cheapest(lambda place: answer_of(1.0)).cheapest is None
    assert made([6000.0] * 3).find_cheapest(lambda place: answer_of(1.0, found=False)).cheapest is None


def test_larger_panels_are_not_played_where_smaller_ones_do_always() -> None:
    played: list[tuple[float, float]] = []

    def play(panel: float, batteries: Sequence[float]) -> FloatArray:
        played.extend((panel, battery) for battery in batteries)
        return np.array([min(1.0, panel * battery / 4) for battery in batteries])

    shares = map_shares([1, 2, 4], [1, 2, 4], play)
    assert shares.tolist() == [[0.25, 0.5, 1], [0.5, 1, 1], [1, 1, 1]]
    assert played == [(1, 1), (1, 2), (1, 4), (2, 1), (2, 2), (4, 1)]


@pytest.mark.parametrize("harvest", ["bernoulli:0.5", "trace:file=tests/energy/roof.csv,watts=2"])
def test_panels_without_watts_have_no_price(harvest: str) -> None:
    fleet = {"clients": 3, "round_length": "6 h", "capacity": "1 Wh", "cost": "900 J", "harvest": harvest}
    arrival = {"arrival": "300 J"} if "bernoulli" in harvest else {}
    spec = make_spec({"rounds": 8, "seeds": [0], "scheduler": "myopic", "fleet": fleet | arrival})

    with pytest.raises(InvalidValue, match="to size panels"):
        make_plan(spec, want=Want(2, 0.5), prices=PRICES, jobs=1)


def test_a_plan_finds_the_cheapest_design_and_it_meets_the_want() -> None:
    want = Want(2, 0.95, years=0.5)
    spec = make_spec({"rounds": 200, "seeds": [0], "scheduler": "myopic", "fleet": FLEET})
    found = make_plan(spec, want=want, prices=PRICES, jobs=1)

    sizes = found.sizes
    assert sizes is not None and sizes.cheapest is not None
    assert (np.diff(sizes.line) <= 0).all()  # a larger panel needs no larger battery
    assert (np.diff(sizes.shares, axis=0) >= -1e-3).all()  # and has no fewer clients
    assert found.within is not None
    built = make_spec(spec.facts() | {"target": 2, "fleet": FLEET | {
        "capacity": sizes.answers[sizes.cheapest].value, "harvest": SUN | {"watts": sizes.panels[sizes.cheapest]},
    }})  # fmt: skip
    (outlook,) = make_plan(built, want=want, jobs=1).outlooks
    assert outlook.on_target(2)[0] >= 0.95
