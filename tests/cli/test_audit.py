"""`ehfl audit`, as a user meets it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ehfl.cli import main

Capture = pytest.CaptureFixture[str]
UNEQUAL = [
    "-o", "fleet.rate={low=0.1,high=0.9}", "-o", "learning.partition=shards:2", "-o", "learning.order=by-label",
    "-o", "seeds=2", "-o", "schedulers=['greedy', 'myopic']",
]  # fmt: skip


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(["audit", *arguments])
    assert isinstance(stop.value.code, int)
    return stop.value.code


def test_the_table_and_the_words_fit_into_80_columns(capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")

    assert run(*UNEQUAL) == 0

    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "demo: 10 clients, 100 rounds" and max(map(len, lines)) <= 80
    greedy, myopic = (line.split() for line in lines if line.startswith(("greedy ", "myopic ")))
    assert greedy[1:3] == ["exactly", "0.305"] and myopic[1:3] == ["20", "seeds"]
    text = " ".join(lines)
    assert "Under greedy, client 0 weighs 0.18 of what is fair and client 9 1.92." in text
    assert "floor" in text

    assert run(*UNEQUAL, "--full") == 0
    assert "client 3" in capsys.readouterr().out


def test_json_and_the_figure_hold_the_same(tmp_path: Path, capsys: Capture) -> None:
    figure = tmp_path / "weights.png"

    assert run(*UNEQUAL, "--seeds", "3", "--without-floor", "--json", "--figure", str(figure)) == 0

    shown = capsys.readouterr()
    greedy, myopic = json.loads(shown.out)["arms"]
    assert greedy["exact"] and greedy["floor"] is None
    assert greedy["chi_square"] == pytest.approx(0.305, abs=5e-4)
    assert (myopic["exact"], myopic["seeds"], len(myopic["weights_error"])) == (False, 3, 10)
    assert sum(greedy["mixture"]["optimised"].values()) == pytest.approx(1)
    assert figure.read_bytes().startswith(b"\x89PNG") and "figure: " in shown.err


def test_charging_losses_are_not_called_exact(capsys: Capture) -> None:
    fleet = ["rate=0.6", "clients=4", "efficiency=[1, 0.5, 0.5, 0.2]", "capacity='10 J'", "cost='1 J'", "quantum='1 J'"]
    given = [part for one in [*fleet, "arrival='1 J'", "round_length='1 min'"] for part in ("-o", f"fleet.{one}")]

    assert run(*given, "-o", "schedulers=['greedy', 'always-on']", "-o", "target=1", "--without-floor") == 0

    out = capsys.readouterr().out
    greedy, always_on = (line for line in out.splitlines() if line.startswith(("greedy ", "always-on ")))
    assert "20 seeds" in greedy and "exactly" in always_on
    assert "Under greedy, client 3 weighs" in out and "Under always-on, all clients weigh alike" in out


def test_a_task_without_classes_has_weights_alone_and_says_so(capsys: Capture) -> None:
    assert run("-o", "learning.task=quadratic", "-o", "schedulers=['greedy', 'power-of-choice']",
               "-o", "learning.step_size=0.1") == 0  # fmt: skip

    shown = capsys.readouterr()
    assert "labels\n" not in shown.out and "chi^2" in shown.out
    assert shown.err.splitlines() == [
        "power-of-choice chooses by losses, which only training gives: none are known here",
        "quadratic has no classes: there are no labels to mix",
    ]


def test_energy_alone_needs_no_torch() -> None:
    code = """
import sys
sys.modules["torch"] = None
from ehfl.cli import main
main(["audit", "-o", "schedulers=['greedy']", "--energy-only"])
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr.strip()) == (0, "")
    assert "weight x N" in ended.stdout
    assert "labels" not in ended.stdout.partition("next:")[0]


def test_help_loads_nothing_heavy() -> None:
    code = (
        "import sys; from ehfl.cli import main\n"
        "try: main(['audit', '--help'])\n"
        "except SystemExit: print([m for m in ('torch', 'scipy', 'pydantic', 'matplotlib') if m in sys.modules])"
    )
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert out.stdout.splitlines()[-1] == "[]"
