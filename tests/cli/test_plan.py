"""`ehfl plan`, as a user calls it."""

from __future__ import annotations

import html
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

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

    assert out.startswith("12 clients, bernoulli, 200 rounds, 2 seeds\n")
    assert "counted on in 95 % of rounds" in run(f"{UNITS} --full", capsys)
    assert max(map(len, out.splitlines())) <= 100
    assert "worst month" not in out  # rounds of units have no calendar


def test_a_year_under_the_sun_by_month(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(SUN, capsys)

    assert "1,460 rounds of 6 h (a year), 1 seed" in out
    assert "winter" in "\n".join(out.splitlines()[:10]) and "Dec" in out


def test_a_spec_s_seeds_and_rounds_are_played(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    spec = tmp_path / "fleet.toml"
    spec.write_text('scheduler = "greedy"\nrounds = 50\nseeds = [4, 5]\n[fleet]\nclients = 5\nrate = 0.3\n')
    facts = json.loads(run(f"plan {spec} --json", capsys))

    assert (facts["rounds"], facts["seeds"]) == (50, [4, 5])
    assert json.loads(run(f"plan {spec} --json --seed 7 --rounds 20", capsys))["seeds"] == [7, 8, 9, 10, 11]


def test_the_spec_on_the_page_gives_the_same_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its batteries start as after a year, too: `initial` is written only where it was given."""
    dark = SUN.replace("300 J", "900 J")
    first = json.loads(run(f"{dark} --json --out {tmp_path}", capsys))
    spec = html.unescape(re.findall(r"<pre[^>]*>(.*?)</pre>", (tmp_path / "plan.html").read_text(), re.DOTALL)[0])
    (tmp_path / "again.toml").write_text(spec)

    again = json.loads(run(f"plan {tmp_path / 'again.toml'} --json", capsys))
    assert again["schedulers"] == first["schedulers"]


def test_curves_leave_out_fleets_of_fewer_clients_than_wanted(capsys: pytest.CaptureFixture[str]) -> None:
    found = run(f"{UNITS} --curves --json --want|10 clients in 20 % of rounds", capsys)
    curves = {one["free"]: one["values"] for one in json.loads(found)["curves"]}

    assert curves["clients"] == [12, 24, 48]


def test_a_want_may_be_about_a_month_or_the_night(capsys: pytest.CaptureFixture[str]) -> None:
    shares = {}
    for when in ("", " in December", " in June", " at night", " by day"):
        found = run(SUN.replace("300 J", "900 J") + f" --json --want|6 clients in 90 %{when}", capsys)
        shares[when] = json.loads(found)["schedulers"][0]["as_wanted"]["share"]

    assert shares[" in December"] < shares[""] < shares[" in June"]
    assert shares[""] == pytest.approx((shares[" at night"] + shares[" by day"]) / 2)  # two rounds each


def test_json_has_what_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    facts = json.loads(run(f"{UNITS} --json", capsys))

    assert [one["label"] for one in facts["schedulers"]] == ["myopic", "greedy"]
    assert facts["rounds"] == 200


def test_the_inverse_is_checked_just_below_and_at_its_answer(capsys: pytest.CaptureFixture[str]) -> None:
    """What it finds is played again by ehfl simulate: at the answer both years do, a unit below it one does not."""
    want = "4 clients in 90 % of rounds"
    found = called([*f"{UNITS} -s myopic --free battery --json --want".split(), want], capsys)
    answer = json.loads(found)["answer"]
    shares = []
    for capacity in (answer["value"], answer["value"] - 1):
        line = f"simulate -n 12 --rate 0.4 --capacity {capacity} --rounds 200 --seeds 2 -s myopic --target 4 --json"
        seeds = json.loads(called(line.split(), capsys))["schedulers"]["myopic"]["by_seed"]
        shares.append(min(one["on_target"] for one in seeds))

    assert shares[0] >= 0.9 > shares[1]


def test_more_clients_than_there_are_may_be_wanted_where_clients_are_free(capsys: pytest.CaptureFixture[str]) -> None:
    want = "20 clients in 50 % of rounds"
    found = called([*f"{UNITS} -s myopic --free clients --json --want".split(), want], capsys)

    assert json.loads(found)["answer"]["value"] > 20


def facts_of(line: str, want: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(called([*line.split(), "--json", "--want", want], capsys))
    return found


@pytest.mark.parametrize("free", ["battery", "clients"])
def test_the_inverse_is_searched_under_every_scheduler_but_those_on_mains_power(
    free: str, capsys: pytest.CaptureFixture[str]
) -> None:
    want = "4 clients in 98 % of rounds"
    facts = facts_of(f"{UNITS} -s always-on -s greedy -s myopic --free {free}", want, capsys)
    answers = {one["scheduler"]: one["value"] for one in facts["answers"]}

    assert list(answers) == ["greedy", "myopic"]
    assert (facts["best"], facts["answer"]["scheduler"]) == ("myopic", "myopic")
    assert facts["answer"]["value"] == answers["myopic"]
    alone = facts_of(f"{UNITS} -s myopic --free {free}", want, capsys)
    assert alone["answer"]["value"] == answers["myopic"]


def test_the_scheduler_that_needs_the_least_answers_and_not_the_first_of_those_that_do_now(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With 40 clients 4 come in all rounds but the first under both; 24 are enough for greedy, 13 for myopic."""
    line = UNITS.replace("-n 12", "-n 40")
    facts = facts_of(f"{line} -s greedy -s myopic --free clients", "4 clients in 98 % of rounds", capsys)

    assert facts["best"] == "greedy"  # as many rounds as myopic now, and more clients in them
    assert {one["scheduler"]: one["value"] for one in facts["answers"]} == {"greedy": 24, "myopic": 13}
    assert facts["answer"]["scheduler"] == "myopic"


def test_with_a_target_the_best_is_who_meets_it_most_often(capsys: pytest.CaptureFixture[str]) -> None:
    """Greedy has more clients on average, and 4 of them in fewer rounds."""
    facts = json.loads(run(f"{UNITS} --target 4 -s greedy -s myopic --json", capsys))
    greedy, myopic = facts["schedulers"]

    assert greedy["mean"]["mean"] > myopic["mean"]["mean"]
    assert greedy["on_target"]["mean"] < myopic["on_target"]["mean"]
    assert facts["best"] == "myopic"
    assert any("under myopic" in sentence for sentence in facts["sentences"])


def test_mains_power_sustains_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    facts = json.loads(run(f"{UNITS} -s always-on -s myopic --sustain 90 --json", capsys))

    assert [one["scheduler"] for one in facts["sustained"]] == ["myopic"]
    assert facts["best"] == "myopic"


def test_a_hopeless_search_says_so_below_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    line = "plan -n 10 --rate 0.1 --capacity 2 --rounds 20 --seeds 1 --free battery --want"
    out = called([*line.split(), "9 clients in 99 % of rounds"], capsys)

    assert "No battery up to " in out and "at best 0.0 %, with" in out


def test_a_hopeless_number_of_clients_ends_soon(capsys: pytest.CaptureFixture[str]) -> None:
    """Without a battery that lasts the night no number of clients does; fleets of a million nodes were once tried."""
    line = f"{SUN} --rounds 40 --from-empty -s always-on --free clients --json --want|2 clients in 99 % of rounds"
    facts = json.loads(run(line.replace("|1 Wh|", "|310 J|"), capsys))

    assert facts["answer"]["scheduler"] != "always-on"
    assert not any(one["found"] for one in facts["answers"])
    assert all(one["largest_searched"] < 1000 for one in facts["answers"])


@pytest.mark.parametrize(("capacity", "shown"), [("inf", "infinite: planned with"), ("100 J", "planned with 300 J")])
def test_a_battery_that_is_free_may_be_too_small_or_infinite_to_begin_with(
    capacity: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "plan -n 6 --harvest sun:watts=0.5,weather=typical --round-length 6h --rounds 60 --seeds 1 --free battery"
    # In quanta of 0.2 J, the cost is 300.0 J: a battery of so much would not hold it.
    more = ["--cost", "300.09 J", "--want", "2 clients in 90 % of rounds", "--json", "--capacity"]
    facts = json.loads(called([*words.split(), *more, capacity], capsys))

    assert facts["answer"]["found"]
    assert shown in called([word for word in (*words.split(), *more, capacity) if word != "--json"], capsys)
    given = json.loads(called([*words.split(), *more, "1 Wh"], capsys))
    assert facts["answer"]["value"] == pytest.approx(given["answer"]["value"], rel=0.011)  # as fine as it searches


@pytest.mark.parametrize(
    ("capacity", "cost", "quantum"), [("900 J", "300 J", "4e-6"), ("5 Wh", "1 J", "auto")], ids=["given", "auto"]
)
def test_larger_batteries_than_the_quantum_can_count_do_not_end_the_search(
    capacity: str, cost: str, quantum: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = "plan -n 4 --harvest sun:watts=0.2 --round-length 6h --rounds 200 --seeds 1 --free battery -s myopic --json"
    more = [
        "--from-empty",
        "--capacity",
        capacity,
        "--cost",
        cost,
        "-o",
        f"fleet.quantum={quantum}",
        "--want",
        "4 clients in 100 %",
    ]
    answer = json.loads(called([*words.split(), *more], capsys))["answer"]

    assert not answer["found"]  # batteries start empty, so that no client takes part in the first round
    assert max(one["value"] for one in answer["tried"]) == answer["largest_searched"]
    assert quantum == "auto" or answer["largest_searched"] > 2**30 * float(quantum)  # [J]
    assert all(one["share"] is not None for one in answer["tried"])


def test_shorter_rounds_are_searched_no_further_than_the_harvest_pays_for(capsys: pytest.CaptureFixture[str]) -> None:
    line = f"{SUN} --rounds 200 -s always-on --free round --json --want|2 clients in 90 % of rounds"
    facts = json.loads(run(line, capsys))

    assert [one["scheduler"] for one in facts["answers"]] == ["myopic", "greedy"]
    assert min(one["value"] for answer in facts["answers"] for one in answer["tried"]) > 500  # [s]


def test_the_most_that_can_be_sustained(capsys: pytest.CaptureFixture[str]) -> None:
    out = run(f"{UNITS} --sustain 90", capsys)

    assert re.search(r"\d clients can be wanted in 90 % of rounds in 9 of 10 years, \d or fewer \(2 years do", out)


def test_clairvoyant_shows_what_any_scheduler_could_have_reached(capsys: pytest.CaptureFixture[str]) -> None:
    facts = json.loads(run(f"{UNITS} --clairvoyant --json", capsys))
    best = [clairvoyant(Fleet(12, Bernoulli(0.4), capacity=3), 200, seed) for seed in (0, 1)]

    assert facts["possible"] == [{"seed": seed} | one.as_facts() for seed, one in enumerate(best)]
    assert "perfect foresight" in run(f"{UNITS} --clairvoyant", capsys)
    assert "foresight" not in run(UNITS, capsys)


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


def test_the_cheapest_battery_and_panel(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = SUN.replace("300 J", "900 J").replace("-n 6", "-n 3") + " --want|2 clients in 90 % of rounds"
    prices = "|--price|battery=0.3/Wh|--price|panel=1.2/W"
    out = run(f"{line}{prices}|--rounds 200 --out {tmp_path}", capsys)

    assert "cheapest with panel" in out and "in all" in out and "2 W" in out
    assert len((tmp_path / "sizes.csv").read_text().splitlines()) == 1 + 7 * 6
    assert (tmp_path / "figures" / "sizes.png").exists()
    with pytest.raises(SystemExit):
        main(["plan", "--price", "battery=0.3/Wh", "--price", "panel=1/W"])
    assert "--want must be given" in capsys.readouterr().err


def test_several_specs_are_side_by_side(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name, capacity in (("small", 1), ("large", 9)):
        text = (
            f'scheduler = "greedy"\nrounds = 50\nseeds = 2\n[fleet]\nclients = 5\nrate = 0.3\ncapacity = {capacity}\n'
        )
        (tmp_path / f"{name}.toml").write_text(text)
    line = f"plan {tmp_path / 'small.toml'} {tmp_path / 'large.toml'}"

    out = run(f"{line} --out {tmp_path / 'out'}", capsys)
    assert out.startswith("2 designs: small and large\n") and "with large" in out
    assert (tmp_path / "out" / "plan.html").exists()
    assert list(json.loads(run(f"{line} --json", capsys))["designs"]) == ["small", "large"]
