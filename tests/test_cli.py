"""The command line, as a user meets it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ehfl import Bernoulli, Fleet, Greedy, Myopic, Participation, simulate
from ehfl.cli import main
from ehfl.theory import Constants, promise


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
    assert lines[1].split() == names
    assert max(map(len, lines)) <= 80


def test_json_holds_what_python_gives(capsys: Capture) -> None:
    options = [
        "--clients",
        "10",
        "--rate",
        "0.5",
        "--capacity",
        "inf",
        "--target",
        "5",
        "--rounds",
        "100",
        "--seed",
        "3",
    ]
    assert run("simulate", *options, "--scheduler", "myopic", "--json") == 0

    told = json.loads(capsys.readouterr().out)["schedulers"]["myopic"]
    played = simulate(Fleet(clients=10, harvest=Bernoulli(0.5)), Myopic(target=5), rounds=100, seed=3)
    assert told["counts"] == played.counts.tolist()
    assert {name: told[name] for name in played.summary().as_dict()} == played.summary().as_dict()


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
    assert Participation.load(tmp_path / "p" / "round-robin-1.npz").policy == "RoundRobin(per_round=1)"


BAD = {
    "--rate 1.5": "--rate must be in [0, 1], got 1.5",
    "--rate 0.1,nan": "got nan for client 1",
    "--rate -0.1": "--rate must be in [0, 1], got -0.1",
    "--rate 0.1,0.2 --clients 3": "one per client (3), got a list of 2",
    "--rate missing.txt": "got missing.txt (No such file or directory)",
    "--rate words.txt": "got words.txt",
    "--capacity -1": "--capacity must be inf or a whole number in [0, 1073741823], got -1",
    "--capacity nan": "got nan",
    "--capacity 1.5": "got 1.5",
    "--capacity lots": "got lots",
    "--capacity 2 --initial 3": "--initial must be at least 0 and at most the capacity 2, got 3",
    "--initial -1": "got -1",
    "--target 11": "--target must be auto or a whole number in [1, 10] (the clients), got 11",
    "--target 0": "got 0",
    "--rounds 0": "--rounds must be a whole number in [1, 2147483647], got 0",
    "--rounds many": "must be a whole number, got many",
    "--clients 0": "--clients must be a whole number in [1, 2147483647], got 0",
    "--seed -1": "--seed must be a whole number",
    "--scheduler myopik": "did you mean myopic?",
    "--scheduler nowhere:Policy": "No module named 'nowhere'",
    "--scheduler round-robin:11": "--scheduler must be given a width in [1, 10] (the clients), got round-robin:11",
    "--figure nowhere/n.png": "--figure must be in a folder that exists",
    "--figure n.txt": "--figure must be a file name that ends in .png, .svg, .pdf, got n.txt",
    "--save nowhere/deeper": "--save must be in a folder that exists",
    "--clients 5000 --rounds 1 --threads 100000": "--threads must be a whole number in [1, ",
    "--wrong": "No such option: --wrong",
}


@pytest.mark.parametrize("options", BAD)
def test_bad_input_is_one_line_exit_code_2_and_nothing_written(
    options: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)  # so that a cold cache would be spoken of
    Path("words.txt").write_text("half\n")

    assert run("simulate", *options.split()) == 2

    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1 and told.err.startswith("ehfl: error: ")
    assert BAD[options] in told.err
    assert [path.name for path in tmp_path.iterdir()] == ["words.txt"]


def test_an_unreadable_file_is_named(tmp_path: Path, capsys: Capture) -> None:
    assert run("simulate", "--rate", str(tmp_path)) == 2

    assert str(tmp_path) in capsys.readouterr().err


def test_a_policy_of_the_users_own_runs_by_its_import_path(tmp_path: Path) -> None:
    (tmp_path / "mine.py").write_text(
        "import numpy as np\nclass Nobody:\n    def select(self, view):\n        return np.array([], dtype=int)\n"
    )
    ehfl = str(Path(sys.executable).with_name("ehfl"))  # a console script does not look into its folder by itself
    command = [ehfl, "simulate", "-s", "mine:Nobody", "--rounds", "5", "--json"]

    out = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)

    assert json.loads(out.stdout)["schedulers"]["mine:Nobody"]["empty_rounds"] == 5


def test_a_policy_that_breaks_the_rules_is_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    (tmp_path / "rule_breaker.py").write_text(
        "import numpy as np\nclass Everyone:\n    def select(self, view):\n        return np.arange(view.energy.size)\n"
    )
    monkeypatch.syspath_prepend(tmp_path)

    assert run("simulate", "-s", "rule_breaker:Everyone") == 2

    assert "spends energy that is not there: round 0" in capsys.readouterr().err


def test_help_has_examples_and_no_command_shows_help(capsys: Capture) -> None:
    assert run("simulate", "--help") == 0
    assert "\n    ehfl simulate --rate 0.1,0.5,0.9 --rounds 200 --json\n" in capsys.readouterr().out

    assert run() == 0
    assert "simulate" in capsys.readouterr().out

    assert run("--version") == 0
    assert capsys.readouterr().out.startswith("ehfl ")


def test_bound_prints_every_bound_and_its_conditions(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    assert run("bound", "--rounds", "100", "--local-steps", "5") == 0

    out = capsys.readouterr().out
    assert "needs n_min >= 1" in out and "no: 0" in out
    assert max(map(len, out.splitlines())) <= 80


def test_bound_as_json_is_what_python_gives(capsys: Capture) -> None:
    options = ["-s", "greedy", "--rounds", "100", "--smoothness", "2", "--variance", "3", "--gap", "4", "--json"]

    assert run("bound", *options) == 0

    told = json.loads(capsys.readouterr().out)["schedulers"]
    counts = simulate(Fleet(clients=10, harvest=Bernoulli(0.5)), Greedy(), rounds=100).counts
    kept = promise(counts, 1, Constants(smoothness=2.0, variance=3.0, gap=4.0))
    assert list(told) == ["greedy", "always-on"]
    assert told["greedy"]["realised"] == kept.realised and told["greedy"]["best"] == kept.best
    assert told["greedy"]["corrected"] is None  # infinite: the first round is empty


def test_bound_verify_sets_measurement_beside_bound(tmp_path: Path, capsys: Capture) -> None:
    figure = tmp_path / "bound.svg"

    code = run("bound", "--verify", "--seeds", "4", "--rounds", "30", "-s", "myopic", "--figure", str(figure))

    assert code == 0
    assert "quadratic K=5 linear" in capsys.readouterr().out
    assert figure.read_text().startswith("<?xml")


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--eta 1000", "--eta must be in (0, 8.94427], got 1000"),
        ("--eta 0", "--eta must be in (0, "),
        ("--smoothness 0", "--smoothness must be in [1e-50, 1e50], got 0"),
        ("--variance -1", "--variance must be 0 or in [1e-50, 1e50], got -1"),
        ("--gap nan", "--gap must be 0 or in [1e-50, 1e50], got nan"),
        ("--gap 0", "--gap must be a positive number"),
        ("--rate 0 --rounds 5 --verify", "myopic has no participants in any round"),
        ("--local-steps 0", "--local-steps must be a whole number >= 1, got 0"),
        ("--seeds 1 --verify", "--seeds must be a whole number >= 2, got 1"),
        ("--seeds 9", "--seeds must be left out without --verify"),
        ("--verify --eta 5", "--eta must be left out with --verify"),
    ],
)
def test_bound_refuses_in_one_line(options: str, told: str, capsys: Capture) -> None:
    assert run("bound", *options.split()) == 2

    error = capsys.readouterr().err
    assert told in error and error.count("\n") == 1


def test_slowdown_is_against_mains_power_wherever_it_is_listed(capsys: Capture, tmp_path: Path) -> None:
    assert run("bound", "-s", "always-on", "-s", "greedy", "--rounds", "100", "--json") == 0
    told = json.loads(capsys.readouterr().out)["schedulers"]

    assert list(told) == ["greedy", "always-on"]
    assert told["always-on"]["slowdown"]["best"] == pytest.approx(1.0)
    assert told["greedy"]["slowdown"]["constant"] > 1.05
    assert run("bound", "-s", "always-on", "--figure", str(tmp_path / "alone.png")) == 0
    assert run("bound", "--rate", "0", "--rounds", "5", "--figure", str(tmp_path / "dark.png")) == 0


def test_wide_tables_are_whole_where_no_terminal_bounds_them(capsys: Capture) -> None:
    names = ["myopic", "round-robin", "round-robin:1", "greedy", "uniform-random", "always-on", "myopic:2"]

    assert run("simulate", "--rounds", "20", *(word for name in names for word in ("-s", name))) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == names
    assert len(lines) == 12


def test_saving_where_a_file_stands_is_refused_before_the_work(tmp_path: Path, capsys: Capture) -> None:
    (tmp_path / "f").write_text("mine")

    assert run("simulate", "--save", str(tmp_path / "f")) == 2

    told = capsys.readouterr()
    assert told.out == "" and "--save must be a folder" in told.err


def test_a_round_can_cost_more_than_a_unit(capsys: Capture) -> None:
    assert run("simulate", "--cost", "2", "--json") == 0

    told = json.loads(capsys.readouterr().out)
    played = simulate(Fleet(10, Bernoulli(0.5), cost=2), Greedy(), len(told["schedulers"]["greedy"]["counts"]))
    assert told["schedulers"]["greedy"]["counts"] == played.counts.tolist()


def test_an_error_in_the_users_policy_is_one_line_that_names_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    code = "import numpy\nclass Raises:\n    def select(self, view):\n        return numpy.reshape(view.energy, 3)\n"
    (tmp_path / "raising_policy.py").write_text(code)
    monkeypatch.syspath_prepend(tmp_path)

    assert run("simulate", "-s", "myopic", "-s", "raising_policy:Raises") == 2

    err = capsys.readouterr().err
    assert err.startswith("ehfl: error: Raises fails: round 0, ValueError: cannot reshape")
    assert err.endswith("(raising_policy.py:4)\n")  # the line in the user's file, though NumPy raised
    assert err.count("\n") == 1
