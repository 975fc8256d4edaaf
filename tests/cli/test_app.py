"""The console script as it is installed: what it imports, and how errors reach the user."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from ehfl.cli import main
from ehfl.experiment.spec.models import EvaluationSpec, FleetSpec, LearningSpec, Section

EHFL = str(Path(sys.executable).with_name("ehfl"))
# Modules of Python's that the commands and their workers import on their way, and one of a library's.
STANDARD = ("queue", "random", "json", "typing", "statistics", "copy", "token", "csv", "numpy", "argparse", "pickle",
            "pathlib", "signal")  # fmt: skip
LOUD = """
print("loading")
class Loud:
    def select(self, view):
        print("choosing")
        return []
"""


def python(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, timeout=120)


def ehfl(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return python(EHFL, *arguments, folder=folder)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with files that bear the names of Python's modules, and say so if they are imported."""
    for name in STANDARD:
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name}.py of the current folder was imported')\n")
    return tmp_path


def test_files_of_the_current_folder_stand_for_no_module_of_pythons(folder: Path) -> None:
    done = python("-m", "ehfl", "simulate", "--rounds", "3", "--json", folder=folder)

    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)


@pytest.mark.slow
def test_nor_do_they_in_workers_whose_prints_are_no_results(folder: Path) -> None:
    (folder / "loud.py").write_text(LOUD)
    changes = ["learning.task=quadratic", "rounds=3", "seeds=1", "schedulers=['loud:Loud','greedy']"]

    for command in (["compare", *(f"-o{change}" for change in changes), "--jobs", "2"], ["report", "runs/demo"]):
        done = ehfl(*command, "--json", folder=folder)

        assert (done.returncode, "was imported" in done.stderr) == (0, False), done.stderr
        assert json.loads(done.stdout)
        assert ("choosing" in done.stderr) == (command[0] == "compare")


def test_but_classes_of_ones_own_are_found_there(folder: Path) -> None:
    (folder / "mine.py").write_text("class Nobody:\n    def select(self, view):\n        return []\n")

    done = ehfl("simulate", "-s", "mine:Nobody", "--rounds", "5", "--json", folder=folder)

    assert json.loads(done.stdout)["schedulers"]["mine:Nobody"]["empty_rounds"] == 5


def test_a_pipe_that_nobody_reads_ends_the_command_quietly(tmp_path: Path) -> None:
    command = [EHFL, "simulate", "--rounds", "3", "--save", "played"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=tmp_path) as process:
        assert process.stdout is not None and process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()

    assert process.returncode == 141
    assert said == "saved: played/myopic.npz and 2 more\n"


def help_of(command: str, capsys: pytest.CaptureFixture[str]) -> str:
    with pytest.raises(SystemExit) as stop:
        main([*command.split(), "--help"])
    assert stop.value.code == 0
    return capsys.readouterr().out


@pytest.mark.parametrize(
    "command",
    [
        *("", "compare", "report", "simulate", "plan", "audit", "bound", "devices", "train", "view"),
        *("harvest fit", "harvest show", "flower up", "flower simulate", "flower app"),
    ],
)
def test_help_fits_80_columns_breaks_no_word_and_names_no_type_of_python(
    command: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    text = help_of(command, capsys)

    assert not [line for line in text.splitlines() if len(line) > 80 or line.endswith("-")]
    assert not re.search(r"\{[A-Z]+\}|<list|<Path>", text)
    assert f"\n    ehfl {command}" in text or not command


def test_the_help_of_compare_lists_every_key_of_a_spec(capsys: pytest.CaptureFixture[str]) -> None:
    found = help_of("compare", capsys).partition("Keys of a spec")[2].partition("Arguments:")[0]
    sections: dict[str, type[Section]] = {"fleet": FleetSpec, "learning": LearningSpec, "evaluation": EvaluationSpec}

    for section, kind in sections.items():
        listed = re.search(rf"{section}\.\s+(.*?)(?:\n\s+\w+\.|\Z)", found, re.DOTALL)
        assert listed is not None
        assert set(kind.model_fields) <= set(re.findall(r"\w+", listed[1]))
    assert {"name", "code", "rounds", "target", "seeds", "schedulers", "arms"} <= set(re.findall(r"\w+", found))


def test_a_path_never_steers_the_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit):
        main(["simulate", "--rounds", "1", "-s", "greedy", "--save", "red\x1b[31m"])

    assert capsys.readouterr().err == "saved: red\\x1b[31m/greedy.npz\n"
    assert Path("red\x1b[31m/greedy.npz").is_file()
