"""`ehfl compare`, `ehfl report` and `ehfl bound SPEC` from end to end."""

from __future__ import annotations

import csv
import json
import shutil
from pathlib import Path

import pytest

from ehfl.cli import main
from ehfl.cli.report import again
from ehfl.experiment import Spec, read_results, read_spec, run_all

Capture = pytest.CaptureFixture[str]
OVERRIDES = ["learning.task=quadratic", "learning.step_size=0.1", "rounds=8", "evaluation.every=2", "seeds=2",
             "schedulers=['myopic', 'greedy']"]  # fmt: skip
SMALL = [*(word for override in OVERRIDES for word in ("-o", override)), "--jobs", "1"]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def small(*more: str) -> Spec:
    return read_spec(overrides=[*OVERRIDES, *more])


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    assert isinstance(stop.value.code, int)
    return stop.value.code


def test_compare_ends_with_table_words_and_the_way_to_the_page(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    assert run("compare", *SMALL) == 0

    shown = capsys.readouterr()
    lines = shown.out.splitlines()
    assert lines[0] == "demo"
    assert lines[1].split() == ["myopic", "greedy"]
    assert lines[-1] == "report: runs/demo/report.html"
    assert any(line.startswith("Greedy") for line in lines)
    assert "greedy seed 1: 8 rounds" in shown.err
    assert Path("runs/demo/report.html").exists()
    assert {path.suffix for path in Path("runs/demo/figures").iterdir()} == {".png", ".svg"}


def test_json_table_and_text_files_hold_the_same_numbers(capsys: Capture) -> None:
    assert run("compare", *SMALL, "--json") == 0

    told = json.loads(capsys.readouterr().out)
    rows = read_results([Path("runs/demo")]).comparison.rows
    assert [arm["final"]["mean"] for arm in told["arms"]] == [row.final.mean for row in rows]
    assert json.loads(Path("runs/demo/summary.json").read_text()) == told
    with Path("runs/demo/rounds.csv").open() as file:
        lines = list(csv.DictReader(file))
    assert len(lines) == 2 * 2 * 8
    last = [float(line["test_metric"]) for line in lines if line["round"] == "7" and line["arm"] == "greedy"]
    assert sum(last) / 2 == pytest.approx(rows[1].final.mean, rel=1e-5)


def test_report_puts_experiments_together_and_counts_to_another_goal(capsys: Capture) -> None:
    run_all(small(), Path("runs/demo"), jobs=1)
    run_all(small("name=tiny", "fleet.capacity=1"), Path("runs/tiny"), jobs=1)

    assert run("report", "runs/demo", "runs/tiny", "--out", "both", "--goal", "2.5", "--json") == 0

    told = json.loads(capsys.readouterr().out)
    assert [arm["arm"] for arm in told["arms"]] == ["demo: myopic", "demo: greedy", "tiny: myopic", "tiny: greedy"]
    assert told["goal"] == 2.5
    assert Path("both/report.html").exists()
    # a greedy client with an empty start never holds more than one unit, so that the battery's size is nothing to it
    assert told["arms"][1]["final"] == told["arms"][3]["final"]


def test_a_spec_in_a_run_folder_runs_again_and_finds_everything_done(capsys: Capture) -> None:
    run_all(small(), Path("runs/demo"), jobs=1)
    before = Path("runs/demo/myopic-s0/meta.json").read_bytes()

    assert run("compare", "runs/demo/spec.toml") == 0

    assert Path("runs/demo/myopic-s0/meta.json").read_bytes() == before
    assert capsys.readouterr().err == ""


def test_runs_that_a_smaller_spec_leaves_out_are_named(capsys: Capture) -> None:
    run_all(small(), Path("runs/demo"), jobs=1)

    assert run("compare", *SMALL, "-o", "schedulers=['greedy']", "-o", "seeds=1") == 0

    left_out = "not in this report, of other arms or seeds: 3 in runs/demo (greedy-s1, myopic-s0, myopic-s1)\n"
    assert capsys.readouterr().err == left_out


@pytest.mark.parametrize(
    ("runs", "trained"),
    [
        (["runs/demo"], "ehfl compare runs/demo/spec.toml"),
        (["runs/demo/greedy-s1", "runs/demo/myopic-s1"], "ehfl compare runs/demo/spec.toml"),
        (["elsewhere/moved"], "ehfl compare elsewhere/moved/spec.toml --runs elsewhere -o name=moved"),
    ],
)
def test_what_is_run_again_is_run_in_the_same_folders(
    runs: list[str], trained: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_all(small(), Path("runs/demo"), jobs=1)
    shutil.copytree("runs/demo", "elsewhere/moved")

    commands = again([Path(folder) for folder in runs], Path("out"), goal=0.5)

    monkeypatch.chdir("runs/demo")
    (parent, _), (itself, _) = again([Path("greedy-s1")], Path("out"), None), again([Path()], Path("out"), None)
    assert parent == f"ehfl compare {Path().resolve()}/spec.toml --runs {Path('..').resolve()}"
    assert itself == parent
    assert commands == [trained, f"ehfl report {' '.join(runs)} --out out --goal 0.5"]


def test_bound_takes_a_spec(capsys: Capture) -> None:
    Path("mine.toml").write_text("rounds = 50\nseeds = [7]\n[learning]\nlocal_steps = 1\n[fleet]\nrate = 0.3\n")

    assert run("bound", "mine.toml", "--json") == 0
    from_spec = json.loads(capsys.readouterr().out)
    assert run("bound", "--rate", "0.3", "--rounds", "50", "--seed", "7", "--json") == 0
    from_options = json.loads(capsys.readouterr().out)

    for name in ("myopic", "round-robin", "greedy"):
        assert from_spec["schedulers"][name] == from_options["schedulers"][name]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("compare absent.toml", "spec must be a readable TOML file, got absent.toml (No such file or directory)"),
        ("compare -o rounds=0", "rounds must be greater than or equal to 1, got 0"),
        ("compare -o learning.local_step=1", "learning.local_step is not a key of learning"),
        ("compare --jobs 0", "--jobs must be a whole number >= 1, got 0"),
        ("compare --on moon", "'moon' is not one of 'local', 'ray'"),
        ("compare --data nowhere -o learning.task=cifar10", "nowhere"),
        ("report", "Missing argument 'RUN"),
        ("report absent", "RUN must be a folder that ehfl compare wrote, got absent"),
        ("report .", ". is not a run folder: it has no spec.toml"),
        ("bound absent.toml", "spec must be a readable TOML file, got absent.toml"),
    ],
)
def test_bad_input_is_one_line_exit_code_2_and_nothing_written(arguments: str, message: str, capsys: Capture) -> None:
    assert run(*arguments.split()) == 2

    err = capsys.readouterr().err
    assert message in err
    assert err.startswith("ehfl: error: ")
    assert err.count("\n") == 1
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize("command", ["compare", "report", "bound"])
def test_help_has_examples(command: str, capsys: Capture) -> None:
    assert run(command, "--help") == 0

    assert f"  ehfl {command} " in capsys.readouterr().out
