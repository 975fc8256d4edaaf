"""check_harvest() names every fault in plain words, and is silent about a harvest that has none."""

from __future__ import annotations

import dataclasses
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import made_weather
from ehfl.energy import HARVESTS, Fleet, check_harvest
from ehfl.energy.contract import is_power
from ehfl.energy.study.survey import survey
from ehfl.randomness import Purpose, generator, words
from ehfl.scheduling import simulate
from ehfl.validation import BrokenRules, InvalidValue

Units = Callable[[int, range, range], Any]


class Made:
    """A harvest made of functions, which may return anything."""

    def __init__(self, units: Units, rate: Any = 0.5) -> None:
        self._units = units
        self._rate = rate

    def units(self, seed: int, rounds: range, clients: range) -> NDArray[Any]:
        found: NDArray[Any] = self._units(seed, rounds, clients)
        return found

    def mean_rates(self, n_clients: int) -> NDArray[np.float64]:
        rates: NDArray[np.float64] = self._rate(n_clients) if callable(self._rate) else np.full(n_clients, self._rate)
        return rates


def coin(seed: int, rounds: range, clients: range) -> NDArray[Any]:
    return (words(seed, Purpose.HARVEST, rounds, clients) < 2**31).astype(np.uint8)


def faults(harvest: Any, **options: Any) -> str:
    with pytest.raises(BrokenRules) as caught:
        check_harvest(harvest, **options)
    return str(caught.value)


ROOF = Path(__file__).with_name("roof.csv")  # three days of two columns
EXAMPLES: dict[str, dict[str, dict[str, Any]]] = {
    "bernoulli": {"bernoulli:0.3": {}, "bernoulli:1e-5": {}, "bernoulli:[0.2, 0.4, 1.0]": {"clients": 3}},
    "trace": {
        f"trace:file={ROOF},shift={shift}": {"clients": 4, "rounds": 72} for shift in ("none", "even", "random", "days")
    },
    "markov": {
        "markov:stay_on=0.9,stay_off=0.8": {},
        "markov:stay_on=0.1,stay_off=0.2,size=300": {},
        "markov:stay_on=0.999,stay_off=0.999": {"rounds": 100_000, "clients": 2},
        "markov:stay_on=[0.9, 0.1],stay_off=[0.99, 0.0]": {"clients": 2},
    },
    "poisson": {"poisson:0.4": {}, "poisson:40": {}, "poisson:[0.0, 3.5]": {"clients": 2}},
    "compound": {"compound:rate=0.1,mean_size=8": {}, "compound:rate=[1, 2],mean_size=3": {"clients": 2}},
    "periodic": {"periodic:[0, 0, 3, 1]": {}, "periodic:pattern=[0, 300],shift=[0, 1, 2]": {"clients": 3}},
    "replay": {"replay:[[1, 0, 2], [0, 0, 0], [5, 1, 1]]": {"clients": 3, "rounds": 3}},
    "sun": {"sun:2": {"rounds": 8760}, "sun:watts=2,weather=typical,variation=0.5,shading=0.3": {"rounds": 8760}},
    "wind": {"wind:watts=2,site=wind.csv,variation=0.5": {"rounds": 480}},
}


@pytest.mark.parametrize("name", HARVESTS.members)
def test_every_registered_harvest_keeps_the_rules(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(made_weather.wind(tmp_path / "wind.csv").parent)
    for text, options in EXAMPLES[name].items():
        for quick in (True, False):
            check_harvest(text, **options, quick=quick)


STORAGE = {
    "capacity": st.floats(60, 5000),
    "round_length": st.sampled_from([60.0, 3600.0, 6 * 3600.0]),
    "efficiency": st.floats(0.1, 1),
    "self_discharge": st.floats(0, 0.99),
    "reserve": st.floats(0, 0.5),
    "standby": st.floats(0, 0.01),
    "initial": st.floats(0, 60),
}


@pytest.mark.parametrize("name", HARVESTS.members)
@given(
    storage=st.fixed_dictionaries(STORAGE),
    seed=st.integers(0, 2**64 - 1),
    scheduler=st.sampled_from(["myopic", "greedy"]),
)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_joule_is_accounted_for_whatever_the_harvest_and_the_battery(
    name: str, storage: dict[str, Any], seed: int, scheduler: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What there was and what came is what was spent, stored, wasted and lost, to the last quantum."""
    monkeypatch.chdir(made_weather.wind(tmp_path / "wind.csv").parent)
    text, options = next(iter(EXAMPLES[name].items()))
    harvest = HARVESTS.make(text)
    arrival: dict[str, Any] = {} if is_power(harvest) else {"arrival": 17.0}
    clients, rounds = options.get("clients", 4), min(options.get("rounds", 40), 40)
    fleet = Fleet.in_joules(clients, harvest, cost=25.0, **storage, **arrival)
    played = simulate(fleet, scheduler, rounds, seed, record_energy=True)

    played.totals.check()
    harvested = fleet.harvest.units(seed, range(rounds), range(clients)).sum()
    assert played.totals.harvested == harvested
    assert played.energy is not None
    assert played.energy.min() >= 0
    assert (played.energy <= np.asarray(fleet.capacity)).all()


CHANGED: dict[str, dict[str, Any]] = {
    "bernoulli": {"rate": 0.9},
    "trace": {"watts": 3.0},
    "markov": {"size": 7},
    "poisson": {"rate": 2.0},
    "compound": {"mean_size": 4.0},
    "periodic": {"shift": 2},
    "replay": {"arrivals": [[3, 3, 3]] * 3},
    "sun": {"watts": [1.0, 2.0, 3.0]},
    "wind": {"hub_height": 5.0},
}


@pytest.mark.parametrize("name", HARVESTS.members)
def test_every_registered_harvest_can_be_copied_with_another_parameter(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Equal parameters are equal energy; a copy with another one is what is made with that one."""
    monkeypatch.chdir(made_weather.wind(tmp_path / "wind.csv").parent)

    for text, options in EXAMPLES[name].items():
        clients = range(options.get("clients", 3))

        def energy(harvest: Any, clients: range = clients) -> NDArray[Any]:
            if is_power(harvest):
                return harvest.watts(5, range(48), clients, 3600.0)
            found: NDArray[Any] = harvest.units(5, range(3), clients)
            return found

        harvest: Any = HARVESTS.make(text)
        same, other = dataclasses.replace(harvest), dataclasses.replace(harvest, **CHANGED[name])
        made = HARVESTS.make(HARVESTS.table(text) | CHANGED[name])

        assert np.array_equal(energy(same), energy(harvest))
        assert repr(same) == repr(harvest)
        assert HARVESTS.table(same) == HARVESTS.table(harvest)
        assert np.array_equal(energy(other), energy(made))
        assert HARVESTS.table(other) == HARVESTS.table(made) != HARVESTS.table(harvest)
        for field in dataclasses.fields(harvest):
            if field.init:
                one = dataclasses.replace(harvest, **{field.name: getattr(harvest, field.name)})
                assert np.array_equal(energy(one), energy(harvest))


@pytest.mark.parametrize("name", HARVESTS.members)
def test_a_year_of_every_registered_harvest_can_be_looked_at(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(made_weather.wind(tmp_path / "wind.csv").parent)
    for text, options in EXAMPLES[name].items():
        found = survey(HARVESTS.make(text), options.get("clients", 10), round_length=6 * 3600)
        assert found.means.shape == found.stated.shape and (found.means >= 0).all() and 0 <= found.without <= 1


def one_by_one(seed: int, rounds: range, clients: range) -> list[list[int]]:
    draws = [[generator(seed, Purpose.HARVEST, client=i, round_=t).poisson(0.5) for i in clients] for t in rounds]
    return [[int(draw) for draw in row] for row in draws]


def of_the_day(seed: int, rounds: range, clients: range) -> NDArray[Any]:
    """One weather for all clients, another every day of 24 rounds, no sun at night."""
    day, hour = np.divmod(np.asarray(rounds), 24)
    clear = np.array([generator(seed, Purpose.HARVEST, round_=int(one)).random() < 0.5 for one in day])
    return np.repeat((clear & (hour >= 12)).astype(int)[:, None], len(clients), axis=1)


@pytest.mark.parametrize(
    ("units", "rate"),
    [
        (coin, 0.5),
        (one_by_one, 0.5),
        (of_the_day, 0.25),
        (lambda seed, rounds, clients: np.full((len(rounds), len(clients)), 7, np.uint64), 7),
        (lambda seed, rounds, clients: np.outer(np.asarray(rounds) % 3 == 2, np.asarray(clients) + 1).astype(int),
         lambda n: (np.arange(n) + 1) / 3),
    ],
)  # fmt: skip
def test_a_good_harvest_passes_in_silence(units: Units, rate: Any, capsys: pytest.CaptureFixture[str]) -> None:
    check_harvest(Made(units, rate), rounds=200)
    check_harvest(Made(units, rate), clients=1, rounds=1, quick=True)
    check_harvest(Made(units, rate), rounds=2**31 - 1, seed=2**64 - 1, quick=True)

    assert capsys.readouterr() == ("", "")


MOVING = np.random.default_rng(0)


def first_seed_wins() -> Units:
    """Kept after the first call, whatever the seed of the next."""
    kept: dict[tuple[range, range], Any] = {}
    return lambda seed, rounds, clients: kept.setdefault((rounds, clients), coin(seed, rounds, clients))


def reusing() -> Units:
    buffer = np.zeros(10_000, int)

    def units(seed: int, rounds: range, clients: range) -> NDArray[Any]:
        part = buffer[: len(rounds) * len(clients)].reshape(len(rounds), len(clients))
        part[:] = coin(seed, rounds, clients)
        return part

    return units


@pytest.mark.parametrize(
    ("units", "message"),
    [
        (lambda s, r, c: coin(s, r, c)[:1], r"units must have shape \(40, 10\), got \(1, 10\): units\(0, range\("),
        (lambda s, r, c: coin(s, r, c) / 2, r"units must be whole numbers \(.astype\(np.uint8\)\), got float64"),
        (lambda s, r, c: coin(s, r, c).astype(int) - 1, "units must be in \\[0, 1073741823\\], got -1"),
        (lambda s, r, c: coin(s, r, c).astype(int) + 2**40, "units must be in .*, got 1099511627776"),
        (lambda s, r, c: None, r"units must have shape \(40, 10\), got \(\)"),
        (lambda s, r, c: 1 // 0, r"fails: units\(0, range\(0, 40\), range\(0, 10\)\), ZeroDivisionError: .* "
         r"\(test_check_harvest.py:\d+\)"),
        (lambda s, r, c: sys.exit(), r"fails: units\(0, .* SystemExit.* \(test_check_harvest.py:\d+\)"),
        (lambda s, r, c: MOVING.integers(0, 2, (len(r), len(c))), r"is not a pure function of \(seed, client, round\): "
         r"round \d+, client \d+ got \d and \d when asked again .*ehfl.randomness.words"),
        (lambda s, r, c: np.random.randint(0, 2, (len(r), len(c))), "is not a pure function"),  # noqa: NPY002
        (lambda s, r, c: np.random.default_rng(s).integers(0, 2, (len(r), len(c))), "is not a pure function of "
         r"\(seed, client, round\): round \d+, client \d+ got \d as part of range\(0, 40\), range\(0, 10\) and"),
        (lambda s, r, c: np.outer(np.arange(len(r)) % 2, np.ones(len(c), int)), "is not a pure function"),
        (lambda s, r, c: np.outer(np.ones(len(r), int), np.arange(len(c)) % 2), "is not a pure function"),
        (reusing(), "changes what it has returned before"),
    ],
)  # fmt: skip
def test_every_fault_is_named(units: Units, message: str) -> None:
    with pytest.raises(BrokenRules, match=rf"Made breaks the rules:\n  - {message}"):
        check_harvest(Made(units), quick=True)


def test_a_harvest_that_keeps_the_first_seed_it_was_asked_for_is_told_so() -> None:
    assert "is not a pure function of (seed, client, round): round " in faults(Made(first_seed_wins()), quick=True)


OWN = """
import numpy as np

class Unseeded:
    def __init__(self, chance: float = 0.5):
        self.phase = np.random.default_rng().integers(0, 2, 10_000)

    def units(self, seed, rounds, clients):
        return np.outer(self.phase[rounds.start : rounds.stop], np.ones(len(clients), int))

    def mean_rates(self, n_clients):
        return np.full(n_clients, 0.5)
"""


def test_a_harvest_that_is_another_whenever_it_is_made_is_told_so(
    tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every worker process makes its own from the spec."""
    (tmp_path / "unseeded_harvest.py").write_text(OWN)
    monkeypatch.syspath_prepend(tmp_path)

    message = faults("unseeded_harvest:Unseeded", quick=True)

    assert "differs whenever it is constructed from the same parameters" in message


@pytest.mark.parametrize(
    ("rate", "message"),
    [
        (lambda n: np.full(n + 1, 0.5), r"mean_rates must be 10 finite numbers >= 0, got shape \(11,\)"),
        (lambda n: 0.5, r"mean_rates must be 10 finite numbers >= 0, got shape \(\)"),
        (lambda n: np.full(n, math.nan), "mean_rates must be 10 finite numbers >= 0, got nan for client 0"),
        (lambda n: [0.5] * 9 + [-1], "mean_rates must be 10 finite numbers >= 0, got -1.0 for client 9"),
        (lambda n: ["much"] * n, "mean_rates must be 10 finite numbers >= 0, got an array of <U4"),
        (lambda n: {}[n], r"fails: mean_rates\(10\), KeyError: 10 \(test_check_harvest.py:\d+\)"),
    ],
)
def test_mean_rates_are_one_for_each_client(rate: Any, message: str) -> None:
    with pytest.raises(BrokenRules, match=message):
        check_harvest(Made(coin, rate), quick=True)


def test_mean_rates_that_the_units_do_not_come_to_are_told_by_the_full_check_alone() -> None:
    """A coin comes to 0.5; with 8,000 draws a client five standard deviations are 0.028."""
    for rate in (0.4, 0.6):
        check_harvest(Made(coin, rate), quick=True)
        told = (
            rf"mean_rates are not what its units come to: client \d has {rate} and gets 0\.[45]\d+ on average in 1,000"
        )
        assert re.search(rf"{told} rounds of 8 seeds", faults(Made(coin, rate)))
    check_harvest(Made(coin, 0.51))


@pytest.mark.parametrize("what", ["clients", "rounds"])
def test_seeds_that_share_draws_are_told_by_the_full_check(what: str) -> None:
    def added_up(seed: int, rounds: range, clients: range) -> list[list[int]]:
        keys = [[[seed + i, t] if what == "clients" else [seed + t, i] for i in clients] for t in rounds]
        return [[int(np.random.default_rng(key).integers(0, 2)) for key in row] for row in keys]

    check_harvest(Made(added_up), clients=3, quick=True)
    message = faults(Made(added_up), clients=3, rounds=60)

    assert f"seeds are not independent: seed 1 gives {what} what seed 0 gives the next ones" in message


def test_seeds_under_which_next_to_nothing_is_harvested_are_not_called_alike() -> None:
    """Seed 0 has one unit in the first round, seed 1 one in the last: all that lies between is alike."""

    def rare(seed: int, rounds: range, clients: range) -> NDArray[Any]:
        when = {0: 0, 1: 9}.get(seed, 5)
        return np.outer(np.asarray(rounds) == when, np.ones(len(clients), int)).astype(int)

    check_harvest(Made(rare, 0.1), rounds=10)


def test_what_is_asked_for_is_checked() -> None:
    with pytest.raises(InvalidValue, match=r"clients must be a whole number in \[1, 100000\], got 0"):
        check_harvest("bernoulli:0.5", clients=0)
    with pytest.raises(
        InvalidValue, match="harvest must be a harvest, with units, mean_rates, or watts, mean_watts, got"
    ):
        check_harvest(object())  # type: ignore[arg-type]
