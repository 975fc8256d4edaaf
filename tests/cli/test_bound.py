"""`ehfl bound` from end to end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ehfl import Bernoulli, Fleet, Greedy, simulate
from ehfl.cli import main
from ehfl.theory import Constants, promise

Capture = pytest.CaptureFixture[str]


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["bound", *arguments])
    assert isinstance(stop.value.code, int)
    return stop.value.code


def test_bound_prints_every_bound_and_its_conditions(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    assert run("--rounds", "100", "--local-steps", "5") == 0

    out = capsys.readouterr().out
    assert "needs n_min >= 1" in out and "no: 0" in out
    assert max(map(len, out.splitlines())) <= 80


def test_bound_as_json_is_what_python_gives(capsys: Capture) -> None:
    options = ["-s", "greedy", "--rounds", "100", "--smoothness", "2", "--variance", "3", "--gap", "4", "--json"]

    assert run(*options) == 0

    shown = json.loads(capsys.readouterr().out)["schedulers"]
    counts = simulate(Fleet(clients=10, harvest=Bernoulli(0.5)), Greedy(), rounds=100).counts
    kept = promise(counts, 1, Constants(smoothness=2.0, variance=3.0, gap=4.0))
    assert list(shown) == ["greedy", "always-on"]
    assert shown["greedy"]["realised"] == kept.realised and shown["greedy"]["best"] == kept.best
    assert shown["greedy"]["corrected"] is None  # infinite: the first round is empty


def test_bound_verify_sets_measurement_beside_bound(tmp_path: Path, capsys: Capture) -> None:
    figure = tmp_path / "bound.svg"

    code = run("--verify", "--seeds", "4", "--rounds", "30", "-s", "myopic", "--figure", str(figure))

    assert code == 0
    assert "quadratic K=5 linear" in capsys.readouterr().out
    assert figure.read_text().startswith("<?xml")


def test_slowdown_is_against_mains_power_wherever_it_is_listed(capsys: Capture, tmp_path: Path) -> None:
    assert run("-s", "always-on", "-s", "greedy", "--rounds", "100", "--json") == 0
    shown = json.loads(capsys.readouterr().out)["schedulers"]

    assert list(shown) == ["greedy", "always-on"]
    assert shown["always-on"]["slowdown"]["best"] == pytest.approx(1.0)
    assert shown["greedy"]["slowdown"]["constant"] > 1.05
    assert run("-s", "always-on", "--figure", str(tmp_path / "alone.png")) == 0
    assert run("--rate", "0", "--rounds", "5", "--figure", str(tmp_path / "dark.png")) == 0


# from a spec

SPEC = "rounds = 50\nseeds = [7]\n[learning]\nlocal_steps = 1\n[fleet]\nrate = 0.3\n"


def spec(folder: Path, more: str = "") -> str:
    (folder / "mine.toml").write_text(SPEC + more)
    return str(folder / "mine.toml")


def as_json(capsys: Capture, *options: str) -> dict[str, Any]:
    assert run(*options, "--json") == 0
    shown: dict[str, Any] = json.loads(capsys.readouterr().out)
    return shown


def test_bound_takes_a_spec(tmp_path: Path, capsys: Capture) -> None:
    constants = ["--smoothness", "2", "--variance", "3", "--gap", "4"]
    from_spec = as_json(capsys, spec(tmp_path), *constants)
    from_options = as_json(capsys, "--rate", "0.3", "--rounds", "50", "--seed", "7", *constants)

    assert from_spec["constants"] == {"smoothness": 2.0, "variance": 3.0, "gap": 4.0, "heterogeneity": 0.0}
    for name in ("myopic", "round-robin", "greedy"):
        assert from_spec["schedulers"][name] == from_options["schedulers"][name]


ARMS = """
[[arms]]
scheduler = "greedy"
[[arms]]
label = "greedy, small"
scheduler = "greedy"
fleet = { capacity = 1, initial = 1 }
"""


def test_every_arm_is_played_in_its_own_fleet(tmp_path: Path, capsys: Capture) -> None:
    shown = as_json(capsys, spec(tmp_path, ARMS), "--smoothness", "1")["schedulers"]

    assert list(shown) == ["greedy", "greedy, small", "always-on"]
    full = simulate(Fleet(10, Bernoulli(0.3), capacity=1, initial=1), Greedy(), rounds=50, seed=7).counts
    assert shown["greedy, small"]["realised"] == promise(full, 1, Constants(1.0, 1.0, 1.0)).realised
    assert shown["greedy, small"]["realised"] != shown["greedy"]["realised"]


def test_mains_power_of_another_width_is_an_arm_of_its_own(capsys: Capture) -> None:
    shown = as_json(capsys, "-s", "always-on:2", "-s", "always-on", "--rounds", "50")["schedulers"]

    assert list(shown) == ["always-on:2", "always-on"]
    assert shown["always-on:2"]["slowdown"]["best"] > 1.5 > shown["always-on"]["slowdown"]["best"]


def test_a_scheduler_that_chooses_by_losses_has_none_here_and_that_is_said(capsys: Capture) -> None:
    assert run("-s", "power-of-choice", "--rounds", "20", "--json") == 0

    shown = capsys.readouterr()
    assert shown.err == "power-of-choice chooses by losses, which only training gives: none are known here\n"
    assert list(json.loads(shown.out)["schedulers"]) == ["power-of-choice", "always-on"]


OWN = """
[[arms]]
label = "as theory has it"
[[arms]]
label = "own"
step_size = 0.1
aggregation = "weighted"
learning = { clip = 1.0, partition = "shards:2" }
"""


def test_what_the_bounds_do_not_look_at_is_said(tmp_path: Path, capsys: Capture) -> None:
    assert run(spec(tmp_path, OWN), "--json") == 0
    assert capsys.readouterr().err == (
        "not looked at: learning.step_size, learning.aggregation, learning.partition, learning.clip "
        "(the bounds are for one seed, the mean, data alike and the best steps of each rule)\n"
    )
    assert run(spec(tmp_path), "--json") == 0
    assert capsys.readouterr().err == ""


def test_estimates_say_what_they_take_and_are_at_the_specs_batch_size(tmp_path: Path, capsys: Capture) -> None:
    assert run(spec(tmp_path), "-o", "learning.batch_size=7", "--task", "quadratic", "--json") == 0

    shown = capsys.readouterr()
    told = "estimating L, S2 and D of quadratic: 120 gradients of 1,000 examples, one thread\n"
    facts = json.loads(shown.out)
    assert shown.err == told
    assert facts["origin"] == "(estimates for quadratic, batches of 7)"
    assert facts["constants"]["variance"] == pytest.approx(1 / 7, rel=0.3)


def test_a_figure_says_what_was_played(tmp_path: Path, capsys: Capture) -> None:
    figure = tmp_path / "slow.svg"
    assert run("--rounds", "60", "-s", "greedy", "--clients", "4", "--figure", str(figure)) == 0

    about = "4 clients, bernoulli:0.5, capacity inf, 60 rounds, seed 0, K = 1, L = 1, s2 = 1, gap = 1"
    assert f"<!-- {about} -->" in figure.read_text()
