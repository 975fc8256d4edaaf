"""`ehfl plan`, as a user calls it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ehfl import Bernoulli, Fleet
from ehfl.cli import main
from ehfl.planning import clairvoyant

UNITS = "plan -n 12 --rate 0.4 --capacity 3 --rounds 200 --seeds 2"
SUN = (
    "plan -n 6 --harvest sun:watts=0.5,weather=typical --capacity|1 Wh|--cost|300 J|--round-length|6 h|--seeds 1|"
    "-s myopic -s greedy"
)


def run(line: str, capsys: pytest.CaptureFixture[str]) -> str:
    parts = ([part] if " " in part and part[0].isdigit() else part.split() for part in line.split("|"))
    return called([word for words in parts for word in words], capsys)


def called(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as stop:
        main(words)
    assert stop.value.code == 0
    return capsys.readouterr().out


def test_a_fleet_in_units(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(UNITS, capsys)

    assert "12 clients, Bernoulli(rate=0.4), 200 rounds, 2 seeds" in out
    assert "counted on in 95 % of rounds" in out
    assert "worst month" not in out  # rounds of units have no calendar


def test_a_year_under_the_sun_by_month(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(SUN, capsys)

    assert "1,460 rounds, 1 seed" in out  # a year of rounds of six hours
    assert "worst month" in out
    assert "the poorest month" in out


def test_json_has_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    facts = json.loads(run(f"{UNITS} --json", capsys))

    assert [one["label"] for one in facts["schedulers"]] == ["myopic", "greedy"]
    assert facts["rounds"] == 200


def test_the_inverse_is_checked_just_below_and_at_its_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """What it finds is played again by ehfl simulate: at the answer it does as wanted, a unit below it does not."""
    want = "4 clients in 98 % of rounds"
    found = called([*f"{UNITS} -s myopic --free battery --json --want".split(), want], capsys)
    answer = json.loads(found)["answer"]
    shares = []
    for capacity in (answer["value"], answer["value"] - 1):
        line = f"simulate -n 12 --rate 0.4 --capacity {capacity} --rounds 200 --seeds 2 -s myopic --target 4 --json"
        seeds = json.loads(called(line.split(), capsys))["schedulers"]["myopic"]["by_seed"]
        shares.append(sum(one["on_target"] for one in seeds) / 2)

    assert shares[0] >= 0.98 > shares[1]


def test_more_clients_than_there_are_may_be_wanted_where_clients_are_free(capsys: pytest.CaptureFixture[str]) -> None:
    want = "20 clients in 50 % of rounds"
    found = called([*f"{UNITS} -s myopic --free clients --json --want".split(), want], capsys)

    assert json.loads(found)["answer"]["value"] > 20


def test_the_most_that_can_be_sustained(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(f"{UNITS} --sustain 90", capsys)

    assert "can be wanted a round if they are to come in 90 % of rounds: under myopic they come in" in out


def test_clairvoyant_shows_what_any_scheduler_could_have_reached(capsys: pytest.CaptureFixture[str]) -> None:
    facts = json.loads(run(f"{UNITS} --clairvoyant --json", capsys))
    best = [clairvoyant(Fleet(12, Bernoulli(0.4), capacity=3), 200, seed) for seed in (0, 1)]

    assert facts["possible"] == [{"seed": seed} | one.as_facts() for seed, one in enumerate(best)]
    assert "share of possible" in run(f"{UNITS} --clairvoyant", capsys)
    assert "possible" not in run(UNITS, capsys)


def test_a_spec_with_other_schedulers(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "fleet.toml"
    spec.write_text('scheduler = "greedy"\nrounds = 50\n[fleet]\nclients = 5\nrate = 0.3\n')
    out = called(["plan", str(spec), "-s", "myopic", "-s", "round-robin:1", "--seeds", "2"], capsys)

    assert "round-robin:1" in out
    assert "50 rounds" in out


def test_it_never_imports_torch() -> None:
    code = (
        "import sys\nfrom ehfl.cli import main\n"
        f"try: main({UNITS.split()!r})\nexcept SystemExit: assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
