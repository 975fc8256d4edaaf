"""`ehfl bound` from end to end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ehfl import Bernoulli, Fleet, Greedy, Myopic, simulate
from ehfl.cli import main
from ehfl.theory import Bound, Constants, bound_any, bound_uniform, promise, verification

Capture = pytest.CaptureFixture[str]


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["bound", *arguments])
    assert isinstance(stop.value.code, int)
    return stop.value.code


def test_bound_prints_every_bound_and_its_conditions(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    assert run("--rounds", "100", "--local-steps", "5", "--full") == 0

    lines = capsys.readouterr().out.splitlines()
    text = " ".join(" ".join(lines).split())
    assert "needs n_min >= 1" in text and "no: 0" in text
    assert max(map(len, lines)) <= 80
    who = "myopic; round-robin; greedy; always-on"
    assert f"{who}: no theorem covers this: steps are beyond 1/(8 K L), up to which theorem A is proven" in text


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
    out = capsys.readouterr().out
    assert "F: inverse probability" in out and " bounds hold; " in out
    assert max(map(len, out.splitlines())) <= 100
    assert figure.read_text().startswith("<?xml")


def test_bound_verify_ends_with_exit_code_1_where_a_bound_is_broken(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bound that is wrong by design: half of what theorem D promises."""

    def halved(*given: Any) -> Bound:
        found = bound_uniform(*given)
        return Bound(found.value / 2, found.weights)

    monkeypatch.setattr(verification, "bound_uniform", halved)

    assert run("--verify", "--seeds", "20", "--rounds", "100", "-s", "greedy") == 1

    shown = capsys.readouterr()
    assert "*" in shown.out
    assert "bounds are broken, the worst is theorem D, quadratic" in shown.err


def test_bound_verify_leaves_out_unlike_data_where_there_are_too_many_clients(capsys: Capture) -> None:
    assert run("--verify", "--seeds", "2", "--rounds", "10", "--clients", "100", "-s", "greedy") == 0

    shown = capsys.readouterr()
    assert "theorems C to H, for unlike data, are tried with 2 to 64 clients: left out here" in shown.err
    assert "C: unlike" not in shown.out


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
label = "small steps"
step_size = 0.1
[[arms]]
label = "large steps"
step_size = 1.5
[[arms]]
label = "memory"
step_size = 0.1
aggregation = "mifa"
[[arms]]
label = "clipped"
learning = { clip = 1.0 }
[[arms]]
label = "clipped too"
scheduler = "greedy"
learning = { clip = 1.0 }
"""


def test_arms_have_their_own_steps_and_what_theory_covers_is_said(tmp_path: Path, capsys: Capture) -> None:
    path = spec(tmp_path, OWN)
    shown = as_json(capsys, path, "--heterogeneity", "0.5")["schedulers"]

    found = {label: one["covered"]["theorem"] for label, one in shown.items()}
    assert found == {"small steps": "C", "large steps": None, "memory": None, "clipped": None, "clipped too": None,
                     "always-on": "D"}  # fmt: skip
    counts = simulate(Fleet(clients=10, harvest=Bernoulli(0.3)), Myopic(), rounds=50, seed=7).counts
    etas = np.where(counts > 0, 0.1, 0.0)
    expected = bound_any(counts, etas, 10, 1, Constants(1.0, 1.0, 1.0, heterogeneity=0.5)).value
    assert shown["small steps"]["covered"]["own_steps"] == pytest.approx(expected, rel=1e-12)
    assert shown["large steps"]["covered"]["largest_step"] == pytest.approx(1.5)
    assert shown["large steps"]["covered"]["own_steps"] is None

    assert run(path, "--heterogeneity", "0.5") == 0
    text = " ".join(capsys.readouterr().out.split())
    for sentence in (
        "small steps: theorem C covers this, theorem A does not: clients' data differ",
        "large steps: no theorem covers this: steps are beyond 1/L, up to which theorem C is proven",
        "memory: no theorem covers this: theorem G, on memory, asks for exact gradients (s2 = 0)",
        "clipped; clipped too: no theorem covers this: clipped gradients are biased",
        "always-on: theorem D covers this, theorem A does not: clients' data differ, and participants are drawn "
        "uniformly",
    ):
        assert sentence in text


def test_the_example_in_the_documents_is_what_is_printed(tmp_path: Path, capsys: Capture) -> None:
    page = (Path(__file__).parents[2] / "docs" / "theory.md").read_text(encoding="utf-8")
    toml, rest = page.split("```toml\n# covered.toml\n")[1].split("```\n", 1)
    (tmp_path / "covered.toml").write_text(toml)
    lines = rest.split("prints, among others,\n")[1].split("\n## ")[0].split("\n")

    assert run(str(tmp_path / "covered.toml"), "--variance", "0", "--heterogeneity", "0.5") == 0

    printed = {tuple(line.split()) for line in capsys.readouterr().out.splitlines()}
    assert len([line for line in lines if line]) == 8
    assert {tuple(line.split()) for line in lines} <= printed


def test_where_theorem_a_covers_all_nothing_is_said(tmp_path: Path, capsys: Capture) -> None:
    assert run(spec(tmp_path)) == 0

    shown = capsys.readouterr()
    assert "theorem A does not" not in shown.out and "no theorem" not in shown.out
    assert shown.err == ""


def test_bounds_are_for_the_first_seed(tmp_path: Path, capsys: Capture) -> None:
    assert run(spec(tmp_path), "-o", "seeds=[7, 8]", "--json") == 0
    assert capsys.readouterr().err == "bounds are for seed 7, the first of the spec's 2\n"


TWO_DEALS = """
[[arms]]
label = "halves"
fleet = { clients = 2, rate = 0.5 }
[[arms]]
label = "halves again"
scheduler = "greedy"
fleet = { clients = 2, rate = 0.5 }
"""


def test_estimates_are_of_each_arms_own_deal_and_batches(tmp_path: Path, capsys: Capture) -> None:
    assert run(spec(tmp_path, TWO_DEALS), "-o", "learning.batch_size=7", "--task", "quadratic", "--json") == 0

    shown = capsys.readouterr()
    told = "estimating L, S2, Z2 and D of quadratic: 120 gradients of 1,000 examples and 3 of 1,000, one thread\n"
    facts = json.loads(shown.out)
    assert shown.err == 2 * told  # two deals: among two clients, and among the ten of mains power
    assert facts["origin"] == "(estimates for quadratic, batches of 7)"
    halves, again, tenths = (facts["schedulers"][label]["constants"] for label in facts["schedulers"])
    assert halves == again and tenths == facts["constants"]
    # noise of variance 1: a batch of 7 has 1/7 (less what there is in a share), shares differ by 1/D - 1/1000
    assert halves["variance"] == pytest.approx(1 / 7 - 1 / 500, rel=0.2)
    assert tenths["heterogeneity"] == pytest.approx(1 / 100 - 1 / 1000, rel=0.5)
    assert tenths["heterogeneity"] > 4 * halves["heterogeneity"] > 0
    assert facts["schedulers"]["halves again"]["covered"]["theorem"] == "D"


def test_a_figure_says_what_was_played(tmp_path: Path, capsys: Capture) -> None:
    figure = tmp_path / "slow.svg"
    assert run("--rounds", "60", "-s", "greedy", "--clients", "4", "--figure", str(figure)) == 0

    about = "4 clients, bernoulli:0.5, capacity inf, 60 rounds, seed 0, K = 1, L = 1, s2 = 1, gap = 1, zeta2 = 0"
    assert f"<!-- {about} -->" in figure.read_text()
