"""`ehfl compare` and `ehfl report` from end to end."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from ehfl.analysis import read
from ehfl.cli import main
from ehfl.cli.commands.report import compare_again
from ehfl.experiment import Spec, read_spec, run_all
from ehfl.experiment.spec.build import fleet_of
from ehfl.planning import clairvoyant, share
from ehfl.report.figures import comparison as figures
from ehfl.report.figures.comparison import draw_all

Capture = pytest.CaptureFixture[str]
OVERRIDES = ["learning.task=quadratic", "learning.step_size=0.1", "rounds=8", "evaluation.every=2", "seeds=2",
             "schedulers=['myopic', 'greedy']"]  # fmt: skip
FEW = ["learning.task=quadratic", "learning.step_size=0.1", "rounds=8", "evaluation.every=2", "seeds=1"]


def options(overrides: list[str]) -> list[str]:
    return [*(word for override in overrides for word in ("-o", override)), "--jobs", "1"]


SMALL = options(OVERRIDES)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(figures, "draw_all", lambda *_: ())  # figures take seconds; the first test draws them


def small(*more: str) -> Spec:
    return read_spec(overrides=[*OVERRIDES, *more])


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    assert isinstance(stop.value.code, int)
    return stop.value.code


def test_the_demo_can_be_copied_and_is_read_from_the_copy(capsys: Capture) -> None:
    assert run("compare", "--show-demo") == 0
    Path("demo.toml").write_text(capsys.readouterr().out)

    assert read_spec("demo.toml").facts() == read_spec().facts()


def test_compare_ends_with_table_words_and_the_way_to_the_page(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(figures, "draw_all", draw_all)

    assert run("compare", *SMALL) == 0

    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert lines[0] == "demo: gap on quadratic, 8 rounds, K = 5, 2 seeds, 5 of 10 clients wanted a round"
    assert {"myopic", "greedy"} <= {line.split()[0] for line in lines[2:7] if line}
    assert lines[-1] == "report: runs/demo/report.html"
    assert any("greedy" in line for line in lines[7:])
    assert Path("runs/demo/report.html").exists()
    assert {path.suffix for path in Path("runs/demo/figures").iterdir()} == {".pdf", ".png", ".svg"}


def test_json_table_and_text_files_hold_the_same_numbers(capsys: Capture) -> None:
    assert run("compare", *SMALL, "--json") == 0

    shown = json.loads(capsys.readouterr().out)
    rows = read(Path("runs/demo")).rows
    assert [arm["final"]["mean"] for arm in shown["arms"]] == [row.final.mean for row in rows]
    assert json.loads(Path("runs/demo/summary.json").read_text()) == shown
    with Path("runs/demo/rounds.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 2 * 2 * 8
    last = [float(line["test_metric"]) for line in lines if line["round"] == "7" and line["arm"] == "greedy"]
    assert sum(last) / 2 == pytest.approx(rows[1].final.mean, rel=1e-5)


def test_report_puts_experiments_together_and_counts_to_another_goal(capsys: Capture) -> None:
    run_all(small(), Path("runs/demo"), jobs=1)
    run_all(small("name=tiny", "fleet.capacity=1"), Path("runs/tiny"), jobs=1)

    assert run("report", "runs/demo", "runs/tiny", "--out", "both", "--goal", "2.5", "--json") == 0

    shown = json.loads(capsys.readouterr().out)
    assert [arm["arm"] for arm in shown["arms"]] == ["demo: myopic", "demo: greedy", "tiny: myopic", "tiny: greedy"]
    assert shown["goal"] == 2.5
    assert Path("both/report.html").exists()
    # a greedy client with an empty start never holds more than one unit, so that the battery's size is nothing to it
    assert shown["arms"][1]["final"] == shown["arms"][3]["final"]


def test_a_spec_in_a_run_folder_runs_again_and_finds_everything_done(capsys: Capture) -> None:
    run_all(small(), Path("runs/demo"), jobs=1)
    before = Path("runs/demo/myopic-s0/meta.json").read_bytes()

    assert run("compare", "runs/demo/spec.toml") == 0

    assert Path("runs/demo/myopic-s0/meta.json").read_bytes() == before
    assert capsys.readouterr().err == ""


def test_so_does_the_spec_of_a_single_run(capsys: Capture) -> None:
    run_all(small(), Path("runs/demo"), jobs=1)

    assert run("compare", "runs/demo/greedy-s1/spec.toml", "--runs", "again", "--jobs", "1", "--json") == 0

    (arm,) = json.loads(capsys.readouterr().out)["arms"]
    assert (arm["arm"], arm["seeds"]) == ("greedy", 1)
    there, again = (Path(place) / "demo/greedy-s1/checkpoint.safetensors" for place in ("runs", "again"))
    assert there.read_bytes() == again.read_bytes()


LEFT_OUT = (
    "not in this report: 3 runs in runs/demo that its spec.toml does not name (greedy-s1, myopic-s0, myopic-s1)\n"
)


def test_runs_that_a_smaller_spec_leaves_out_are_named(capsys: Capture) -> None:
    run_all(small(), Path("runs/demo"), jobs=1)

    assert run("compare", *options(FEW), "-o", "schedulers=['greedy']") == 0

    assert capsys.readouterr().err == LEFT_OUT


def test_a_runs_spec_in_place_of_the_comparisons_does_not_hide_the_other_runs(capsys: Capture) -> None:
    run_all(small(), Path("runs/demo"), jobs=1)
    shutil.copy("runs/demo/greedy-s0/spec.toml", "runs/demo")

    assert run("report", "runs/demo") == 0

    assert capsys.readouterr().err == LEFT_OUT


AGAIN = {
    "runs/demo": "ehfl compare runs/demo/spec.toml",
    "elsewhere/demo": "ehfl compare elsewhere/demo/spec.toml --runs elsewhere",
}


def test_what_is_run_again_is_run_in_the_same_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    run_all(small(), Path("runs/demo"), jobs=1)
    shutil.copytree("runs/demo", "elsewhere/demo")

    for runs, trained in AGAIN.items():
        assert compare_again([Path(folder) for folder in runs.split()]) == [trained]
    monkeypatch.chdir("runs/demo")
    assert compare_again([Path("greedy-s1")]) == []
    (trained,) = compare_again([Path()])
    assert trained == f"ehfl compare {Path().resolve()}/spec.toml --runs {Path('..').resolve()}"


ARMS = """
rounds = 6
seeds = 2
learning = { task = "quadratic", step_size = 0.1 }
evaluation.every = 3

[[arms]]
scheduler = "greedy"

[[arms]]
label = "sunny"
scheduler = "greedy"
fleet.rate = 0.75

[[arms]]
label = "weighted, K = 1"
scheduler = { name = "round-robin", per_round = 2 }
aggregation = "weighted"
"learning.local_steps" = 1
"""


def test_what_several_worlds_come_to_stands_last_where_a_terminal_shows_it(capsys: Capture) -> None:
    arms = "{label='Dim: myopic'},{label='Dim: greedy',scheduler='greedy'}"
    bright = arms.replace("Dim", "Bright").replace("'}", "',fleet.rate=0.9}")

    assert run("compare", *options([*FEW[:-1], "seeds=3", f"arms=[{arms},{bright}]"])) == 0

    *_, empty, dim, bright, _, _, text, page = capsys.readouterr().out.splitlines()
    assert (empty, text, page) == (
        "",
        "next: every row: --full, or runs/demo/table.txt",
        "report: runs/demo/report.html",
    )
    assert dim.startswith("Dim: ") and bright.startswith("Bright: ")


def test_arms_of_a_spec_are_compared_and_pairs_are_only_claimed_where_they_are(capsys: Capture) -> None:
    Path("arms.toml").write_text(ARMS)

    assert run("compare", "arms.toml", "--jobs", "1", "--json") == 0

    arms = json.loads(capsys.readouterr().out)["arms"]
    assert [arm["arm"] for arm in arms] == ["greedy", "sunny", "weighted, K = 1"]
    assert [arm["difference"] is not None for arm in arms] == [False, False, True]
    assert {path.name for path in Path("runs/arms").glob("*-s1")} == {"greedy-s1", "sunny-s1", "weighted-k-1-s1"}


def test_code_beside_the_spec_is_found_from_anywhere(capsys: Capture) -> None:
    Path("mine").mkdir()
    Path("mine/cli_beside.py").write_text("class Nobody:\n    def select(self, view):\n        return []\n")
    Path("mine/spec.toml").write_text(ARMS.partition("[[arms]]")[0] + 'schedulers = ["greedy", "cli_beside:Nobody"]')

    assert run("compare", "mine/spec.toml", "--jobs", "1", "-o", "name=beside", "--json") == 0

    assert [arm["participants"] for arm in json.loads(capsys.readouterr().out)["arms"]][1] == 0


def test_runs_that_fail_are_named_and_the_exit_code_is_1(capsys: Capture) -> None:
    Path("cli_fails.py").write_text(
        "class Fails:\n    def select(self, view):\n"
        "        if view.round == 25: raise RuntimeError('the sun went out')\n        return []\n"
    )
    fault = "Fails fails: round 25, RuntimeError: the sun went out (cli_fails.py:3)"

    few = [one for one in FEW if not one.startswith("rounds")]
    assert run("compare", *options([*few, "rounds=30"]), "-o", "schedulers=['greedy', 'cli_fails:Fails']") == 1

    shown = capsys.readouterr()
    assert f"ehfl: error: cli_fails:Fails seed 0 failed: {fault}\n" in shown.err
    assert shown.err.endswith(
        "1 of 2 runs failed, 1 finished: tracebacks are in their meta.json; the same command runs them again\n"
    )
    assert shown.out.splitlines()[4].split()[0] == "greedy"
    assert "Traceback" not in shown.err


def test_a_comparison_does_not_move_into_the_folder_of_a_single_run(capsys: Capture) -> None:
    """`ehfl train --run` has written it."""
    assert run("train", "--task", "quadratic", "--rounds", "4", "--run", "runs/mine") == 0
    before = {path: path.read_bytes() for path in Path("runs/mine").rglob("*")}
    capsys.readouterr()

    assert run("compare", "runs/mine/spec.toml", "--jobs", "1") == 2

    assert "runs/mine is the folder of a single run, not of a comparison: give this one" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in Path("runs/mine").rglob("*")} == before
    assert compare_again([Path("runs/mine")]) == []
    assert run("compare", "runs/mine/spec.toml", "-o", "name=mine-again", "--jobs", "1") == 0


def test_clairvoyant_shows_each_arms_share_of_what_was_possible(capsys: Capture) -> None:
    """Of compare and report alike; several experiments name arms after both."""
    assert run("compare", *SMALL, "--clairvoyant", "--json") == 0
    greedy = json.loads(capsys.readouterr().out)["arms"][1]
    setting = small().base
    best = [clairvoyant(fleet_of(setting), setting.rounds, seed) for seed in (0, 1)]
    played = [trial.participation for trial in read("runs/demo").arm("greedy").trials]
    shares = [share(one, most) for one, most in zip(played, best, strict=True)]

    assert greedy["share_of_possible"]["mean"] == pytest.approx(sum(one.mean_sqrt for one in shares if one) / 2)
    page = Path("runs/demo/report.html").read_text("utf-8")
    assert "share of possible" in page and "--clairvoyant" in page

    assert run("compare", *SMALL, "-o", "name=other") == 0
    assert "share of possible" not in capsys.readouterr().out
    assert run("report", "runs/demo", "runs/other", "--clairvoyant", "--json") == 0
    arms = {one["arm"]: one["share_of_possible"] for one in json.loads(capsys.readouterr().out)["arms"]}
    assert arms["demo: greedy"] == arms["other: greedy"] == greedy["share_of_possible"]


def test_a_page_says_how_it_is_made_again(capsys: Capture) -> None:
    run_all(small(), Path("runs/demo"), jobs=1)

    assert run("report", "runs/demo", "--goal", "0.5", "--json") == 0

    page = Path("runs/demo/report.html").read_text()
    assert "ehfl compare runs/demo/spec.toml" in page and "ehfl report runs/demo --goal 0.5" in page
