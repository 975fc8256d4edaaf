"""`ehfl simulate`, and what every command has in common, as a user meets it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ehfl import Bernoulli, Fleet, Greedy, Myopic, Participation, simulate
from ehfl.cli import main
from ehfl.planning import clairvoyant, share
from ehfl.report.write import DASH


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    assert isinstance(stop.value.code, int)
    return stop.value.code


Capture = pytest.CaptureFixture[str]


def test_simulate_prints_schedulers_side_by_side_within_80_columns(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    names = ["myopic", "greedy", "round-robin", "uniform-random", "always-on"]

    assert run("simulate", "--rounds", "50", *(word for name in names for word in ("-s", name))) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[5:10]] == names
    assert max(map(len, lines)) <= 80


def test_json_holds_what_python_gives(capsys: Capture) -> None:
    options = "--clients 10 --rate 0.5 --capacity inf --target 5 --rounds 100 --seed 3 --scheduler myopic --json"
    assert run("simulate", *options.split()) == 0

    shown = json.loads(capsys.readouterr().out)["schedulers"]["myopic"]
    played = simulate(Fleet(clients=10, harvest=Bernoulli(0.5)), Myopic(target=5), rounds=100, seed=3)
    assert shown["counts"] == played.counts.tolist()
    assert shown["spent"] == played.spent.tolist()
    expected = played.summary().as_dict() | {"scheduler": "Myopic(target='auto')"}  # the target is the fleet's
    assert {name: shown[name] for name in expected} == expected


def test_a_rate_per_client_comes_as_a_list_or_from_a_file(tmp_path: Path, capsys: Capture) -> None:
    file = tmp_path / "rates.txt"
    file.write_text("0.2 0.4  # two in the shade\n0.9\n")

    outputs = []
    for given in ("0.2,0.4,0.9", str(file)):
        assert run("simulate", "--rate", given, "--rounds", "60", "--json") == 0
        outputs.append(capsys.readouterr().out)

    assert outputs[0] == outputs[1]
    assert json.loads(outputs[0])["fleet"]["clients"] == 3


def test_figure_and_saved_participations_are_written(tmp_path: Path, capsys: Capture) -> None:
    figure = tmp_path / "n.png"

    code = run(
        "simulate", "-s", "myopic", "-s", "round-robin:1", "--figure", str(figure), "--save", str(tmp_path / "p")
    )

    assert code == 0
    assert figure.read_bytes().startswith(b"\x89PNG")
    assert {path.name for path in tmp_path.iterdir()} == {"n.png", "p"}
    assert Participation.load(tmp_path / "p" / "round-robin-1.npz").scheduler == "RoundRobin(per_round=1)"


def test_several_seeds_are_played_like_each_alone(tmp_path: Path, capsys: Capture) -> None:
    options = ["--rounds", "40", "-s", "myopic", "-s", "greedy", "--capacity", "2"]
    (tmp_path / "p").mkdir()

    several = shown_as_json(capsys, *options, "--seeds", "3", "--seed", "5", "--save", str(tmp_path / "p"))
    alone = [shown_as_json(capsys, *options, "--seed", str(seed)) for seed in (5, 6, 7)]

    assert several["seeds"] == [5, 6, 7] and "seed" not in several
    for name in ("myopic", "greedy"):
        found = several["schedulers"][name]
        assert found["by_seed"] == [one["schedulers"][name] for one in alone]
        assert found["estimates"]["mean"]["mean"] == pytest.approx(sum(one["mean"] for one in found["by_seed"]) / 3)
        assert found["estimates"]["mean"]["n"] == 3 and 0 <= found["seeds_on_target"] <= 1
    names = {f"{name}-s{seed}.npz" for name in ("myopic", "greedy") for seed in (5, 6, 7)}
    assert {path.name for path in (tmp_path / "p").iterdir()} == names
    assert Participation.load(tmp_path / "p" / "greedy-s6.npz").seed == 6
    listed = shown_as_json(capsys, *options, "-o", "seeds=[5, 6, 7]")
    assert listed["schedulers"] == several["schedulers"]


def test_arms_may_be_given_instead_of_schedulers(capsys: Capture) -> None:
    arms = "arms=[{scheduler='greedy'}, {label='small', scheduler='greedy', fleet={capacity=1, initial=1}}]"

    shown = shown_as_json(capsys, "--rounds", "20", "-o", arms)["schedulers"]

    assert list(shown) == ["greedy", "small"]
    assert (shown["greedy"]["counts"][0], shown["small"]["counts"][0]) == (0, 10)
    assert list(shown_as_json(capsys, "--rounds", "20", "-o", "scheduler=greedy")["schedulers"]) == ["greedy"]


def test_a_table_and_a_figure_of_several_seeds_say_so(
    tmp_path: Path, capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    figure = tmp_path / "n.svg"

    assert run("simulate", "--rounds", "40", "--seeds", "4", "--figure", str(figure)) == 0

    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert lines[1].startswith("40 rounds, 4 seeds") and max(map(len, lines)) <= 80
    assert any(line.startswith("myopic ") and " of 4" in line for line in lines)
    assert shown.err == f"figure: {figure}\n"
    assert "the first of 4 seeds" in figure.read_text()


def test_a_scheduler_of_the_users_own_runs_by_its_import_path(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import numpy as np\nclass Nobody:\n    def select(self, view):\n        return np.array([], dtype=int)\n"
    )
    ehfl = str(Path(sys.executable).with_name("ehfl"))  # a console script does not look into its folder by itself
    command = [ehfl, "simulate", "-s", "mine:Nobody", "--rounds", "5", "--json"]

    out = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)

    assert json.loads(out.stdout)["schedulers"]["mine:Nobody"]["empty_rounds"] == 5


def test_a_scheduler_that_breaks_the_rules_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    (tmp_path / "rule_breaker.py").write_text(
        "import numpy as np\nclass Everyone:\n    def select(self, view):\n        return np.arange(view.energy.size)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    assert run("simulate", "-s", "rule_breaker:Everyone") == 2

    err = capsys.readouterr().err
    assert "Everyone spends energy that is not there: round 0, client 9 was picked with 0 units" in err
    assert err.count("\n") == 1


def test_help_has_examples_and_no_command_shows_help(capsys: Capture) -> None:
    assert run("simulate", "--help") == 0
    assert "\n    ehfl simulate --rate 0.1,0.5,0.9 --cost 1,2,3 --rounds 200 --json\n" in capsys.readouterr().out

    assert run() == 0
    assert "simulate" in capsys.readouterr().out

    assert run("--version") == 0
    assert capsys.readouterr().out.startswith("ehfl ")


def test_schedulers_are_rows_and_every_figure_stands_in_blocks(capsys: Capture) -> None:
    names = ["myopic", "round-robin", "round-robin:1", "greedy", "uniform-random", "always-on", "myopic:2"]

    assert run("simulate", "--rounds", "20", *(word for name in names for word in ("-s", name))) == 0

    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[5:12]] == names
    assert max(map(len, lines)) <= 100

    assert run("simulate", "--full", "--rounds", "20", *(word for name in names for word in ("-s", name))) == 0
    full = capsys.readouterr().out
    assert "clients short a round" in full and max(map(len, full.splitlines())) <= 100


def test_a_round_can_cost_more_than_a_unit(capsys: Capture) -> None:
    assert run("simulate", "--cost", "2", "--json") == 0

    shown = json.loads(capsys.readouterr().out)
    played = simulate(Fleet(10, Bernoulli(0.5), cost=2), Greedy(), len(shown["schedulers"]["greedy"]["counts"]))
    assert shown["schedulers"]["greedy"]["counts"] == played.counts.tolist()


def test_an_error_in_the_users_scheduler_is_one_line_that_names_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    code = "import numpy\nclass Raises:\n    def select(self, view):\n        return numpy.reshape(view.energy, 3)\n"
    (tmp_path / "raising_scheduler.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)

    assert run("simulate", "-s", "myopic", "-s", "raising_scheduler:Raises") == 2

    err = capsys.readouterr().err
    assert err.startswith("ehfl: error: --scheduler cannot be run: Raises fails: round 0, ValueError: cannot reshape")
    assert err.endswith("(raising_scheduler.py:4)\n")  # the line in the user's file, though NumPy raised
    assert err.count("\n") == 1


# fleets


def shown_as_json(capsys: Capture, *options: str) -> dict[str, Any]:
    assert run("simulate", *options, "--json") == 0
    shown: dict[str, Any] = json.loads(capsys.readouterr().out)
    return shown


def test_costs_batteries_and_starts_may_differ_from_client_to_client(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "costs.csv").write_text("cost\n1\n2\n1\n")
    options = [
        "--rate",
        "1",
        "--cost",
        str(tmp_path / "costs.csv"),
        "--capacity",
        "{low=2,high=4}",
        "--initial",
        "2,0,1",
    ]

    shown = shown_as_json(capsys, *options, "-s", "greedy", "--rounds", "4", "-o", "fleet.unit=mJ")

    assert shown["fleet"] == {
        "clients": 3, "harvest": "Bernoulli(rate=1)", "unit": "mJ", "capacity": [2, 3, 4], "initial": [2, 0, 1],
        "cost": [1, 2, 1],
    }  # fmt: skip
    # The first and the last can always pay; the second has two units in every other round, and pays two.
    assert shown["schedulers"]["greedy"]["counts"] == [2, 2, 3, 2]
    assert shown["schedulers"]["greedy"]["spent"] == [2, 2, 4, 2]
    assert shown["schedulers"]["greedy"]["energy"]["spent"] == 10


def test_the_title_says_in_which_unit_and_between_which_ends(capsys: Capture) -> None:
    assert run("simulate", "--capacity", "5,9", "--cost", "2", "-o", "fleet.unit=mJ", "--rounds", "9") == 0
    assert capsys.readouterr().out.splitlines()[0] == ("2 clients, Bernoulli(rate=0.5), battery 5 to 9 mJ, cost 2 mJ")
    assert run("simulate", "--rounds", "9") == 0
    assert capsys.readouterr().out.splitlines()[:2] == [
        "10 clients, Bernoulli(rate=0.5), battery inf",
        "9 rounds, seed 0, 5 clients wanted a round",
    ]


def test_a_recorded_harvest_is_played(tmp_path: Path, capsys: Capture) -> None:
    """Who has a unit takes part in the round after; what is over is kept."""
    (tmp_path / "sun.csv").write_text("1,0\n0,2\n1,1\n0,0\n")

    shown = shown_as_json(
        capsys, "--harvest", f"replay:{tmp_path / 'sun.csv'}", "--clients", "2", "--rounds", "4", "-s", "greedy"
    )

    assert shown["schedulers"]["greedy"]["counts"] == [0, 1, 1, 2]
    assert shown["fleet"]["harvest"] == "Replay(4 rounds, 2 clients)"


def test_a_harvest_of_the_users_own_takes_parameters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """It gives `peak` units to everybody in every other round, of which one is spent in each."""
    (tmp_path / "cli_harvest.py").write_text(
        "import numpy as np\nfrom dataclasses import dataclass\n@dataclass(frozen=True)\nclass EveryOther:\n"
        "    peak: int = 1\n"
        "    def units(self, seed, rounds, clients):\n"
        "        return self.peak * np.repeat((1 - np.asarray(rounds) % 2)[:, None], len(clients), axis=1)\n"
        "    def mean_rates(self, n_clients):\n        return np.full(n_clients, self.peak / 2)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)
    for given, counts in (("1", [0, 3, 0, 3]), ("2", [0, 3, 3, 3]), ("peak=2", [0, 3, 3, 3])):
        options = ["--harvest", f"cli_harvest:EveryOther:{given}", "--clients", "3", "--rounds", "4", "-s", "greedy"]
        assert shown_as_json(capsys, *options)["schedulers"]["greedy"]["counts"] == counts


def test_a_harvest_without_a_repr_is_named_by_its_class(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    """Its address in memory was printed, and stood in the JSON, which then differed from run to run."""
    (tmp_path / "harvest_without_repr.py").write_text(
        "import numpy as np\nclass Steady:\n"
        "    def units(self, seed, rounds, clients): return np.ones((len(rounds), len(clients)), int)\n"
        "    def mean_rates(self, n_clients): return np.ones(n_clients)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    run("simulate", "--harvest", "harvest_without_repr:Steady", "--rounds", "3")
    assert "10 clients, harvest_without_repr:Steady, battery inf" in capsys.readouterr().out
    facts = shown_as_json(capsys, "--harvest", "harvest_without_repr:Steady", "--rounds", "3")
    assert facts["fleet"]["harvest"] == "harvest_without_repr:Steady"


def test_parameters_of_a_scheduler_are_given_by_name_or_as_the_first(capsys: Capture) -> None:
    counts = [
        shown_as_json(capsys, "--rounds", "50", "-s", name)["schedulers"][name]["counts"]
        for name in ("round-robin:1", "round-robin:per_round=1", "round-robin")
    ]

    assert counts[0] == counts[1] != counts[2]


def test_a_scheduler_that_chooses_by_losses_has_none_here_and_that_is_said(capsys: Capture) -> None:
    assert run("simulate", "-s", "power-of-choice", "-s", "greedy", "--rounds", "20", "--json") == 0

    shown = capsys.readouterr()
    assert shown.err == "power-of-choice chooses by losses, which only training gives: none are known here\n"
    assert set(json.loads(shown.out)["schedulers"]) == {"power-of-choice", "greedy"}


JOULES = ["--clients=3", "--rounds=48", "--round-length=3600", "--capacity=40", "--cost=4", "-o", "fleet.arrival=8"]


def test_fleets_in_joules_have_joules_beside_quanta(capsys: Capture) -> None:
    shown = shown_as_json(capsys, *JOULES, "-s", "greedy")
    found = shown["schedulers"]["greedy"]

    assert shown["fleet"]["quantum"] == 0.002
    assert shown["fleet"]["joules"] == {"capacity": 40, "initial": 0, "cost": 4}
    assert found["joules"].keys() == found["energy"].keys()
    assert found["joules"]["spent"] == pytest.approx(0.002 * found["energy"]["spent"])
    assert "joules" not in shown_as_json(capsys, "--rounds", "5")["fleet"]


def test_the_figure_of_a_fleet_in_joules_has_hours(tmp_path: Path, capsys: Capture) -> None:
    assert run("simulate", *JOULES, "--figure", str(tmp_path / "n.svg")) == 0

    assert "48 rounds of 1 h" in capsys.readouterr().out
    assert "<!-- h -->" in (tmp_path / "n.svg").read_text("utf-8")


def test_clairvoyant_shows_each_schedulers_share_of_what_was_possible(capsys: Capture) -> None:
    words = "--clients 8 --capacity 3 --rounds 60 -s myopic -s greedy -s always-on"
    options = ["simulate", "--clairvoyant", *words.split()]
    assert run(*options, "--full") == 0
    lines = {line[:22].strip(): line[22:].split() for line in capsys.readouterr().out.splitlines()}
    assert run(*options, "--json") == 0
    facts = json.loads(capsys.readouterr().out)["schedulers"]

    fleet = Fleet(clients=8, harvest=Bernoulli(0.5), capacity=3)
    best = clairvoyant(fleet, 60)
    reached = share(simulate(fleet, Greedy(), 60), best)
    assert reached is not None
    assert facts["greedy"]["possible"] == best.as_facts()
    assert facts["greedy"]["share"] == {"mean_sqrt": reached.mean_sqrt, "least": reached.least, "exact": True}
    assert facts["always-on"]["share"] is None
    assert lines["share of possible"][2:4] == [f"{reached.mean_sqrt:.1%}"[:-1], "%"]
    assert lines["of the lowest"][-1] == lines["share of possible"][-1] == DASH


def test_shares_of_several_seeds_are_means_with_intervals_and_bounds_say_so(capsys: Capture) -> None:
    words = "--clients 5 --capacity 5 --cost 2 --rounds 40 --seeds 3 -s greedy"
    options = ["simulate", "--clairvoyant", *words.split()]
    assert run(*options) == 0
    text = " ".join(capsys.readouterr().out.split())
    assert run(*options, "--json") == 0
    facts = json.loads(capsys.readouterr().out)["schedulers"]["greedy"]

    assert "what is achievable is an upper bound" in text
    shares = [one["share"]["mean_sqrt"] for one in facts["by_seed"]]
    assert facts["estimates"]["share_mean_sqrt"]["mean"] == pytest.approx(sum(shares) / 3)
    assert not any(one["possible"]["exact"] for one in facts["by_seed"])
