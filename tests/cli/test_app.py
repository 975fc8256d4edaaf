"""The console script as it is installed: what it imports, and how errors reach the user."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ehfl.cli import main

EHFL = str(Path(sys.executable).with_name("ehfl"))
# Modules of Python's that the commands import on their way; one in the current folder must not stand for them.
STANDARD = ("queue", "random", "json", "typing", "statistics", "copy", "token")


def ehfl(*arguments: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([EHFL, *arguments], capture_output=True, text=True, check=False, cwd=folder, timeout=120)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with files that bear the names of Python's modules, and say so if they are imported."""
    for name in STANDARD:
        (tmp_path / f"{name}.py").write_text(f"raise SystemExit('{name}.py of the current folder was imported')\n")
    return tmp_path


def test_files_of_the_current_folder_do_not_stand_for_modules_of_python(folder: Path) -> None:
    small = ["-o", "learning.task=quadratic", "-o", "rounds=3", "-o", "seeds=1", "-o", "schedulers=['greedy']"]

    for arguments in (
        ["simulate", "--rounds", "3", "--json"],
        ["compare", *small, "--jobs", "1"],
        ["report", "runs/demo", "--json"],
    ):
        done = ehfl(*arguments, folder=folder)
        assert (done.returncode, "was imported" in done.stderr + done.stdout) == (0, False), done.stderr


def test_but_classes_of_ones_own_are_found_there(folder: Path) -> None:
    (folder / "mine.py").write_text("class Nobody:\n    def select(self, view):\n        return []\n")

    done = ehfl("simulate", "-s", "mine:Nobody", "--rounds", "5", "--json", folder=folder)

    assert json.loads(done.stdout)["schedulers"]["mine:Nobody"]["empty_rounds"] == 5


def test_a_module_of_ones_own_that_exits_is_one_line_and_exit_code_2(folder: Path) -> None:
    (folder / "leaving.py").write_text("import sys\nsys.exit(0)\n")

    for arguments in (
        ["simulate", "-s", "leaving:Mine"],
        ["simulate", "--harvest", "leaving:Mine"],
        ["compare", "-o", "schedulers=['leaving:Mine']"],
    ):
        done = ehfl(*arguments, folder=folder)

        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.count("\n") == 1 and done.stderr.startswith("ehfl: error: ")
        assert "must be importable as package.module:Class, got leaving:Mine (SystemExit: 0)" in done.stderr
    assert not (folder / "runs").exists()


def test_python_m_ehfl_is_ehfl(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "ehfl", "--version"]

    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)

    assert done.stdout.startswith("ehfl ")


def test_every_command_has_help_with_examples(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("compare", "report", "simulate", "bound", "train"):
        with pytest.raises(SystemExit) as stop:
            main([command, "--help"])

        assert stop.value.code == 0
        assert f"\n    ehfl {command}" in capsys.readouterr().out
