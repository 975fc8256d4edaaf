"""`ehfl flower`: what it shows, what it refuses before anything is started, and how it ends."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

from ehfl import Bernoulli, Fleet
from ehfl.analysis.units import Scale
from ehfl.cli import main
from ehfl.cli.live import battery_scale, live_nodes
from ehfl.experiment import Outcome, Run, Spec
from ehfl.flower.local.up import NodeStatus, Status
from ehfl.validation import UserError

pytestmark = pytest.mark.filterwarnings("ignore:GitWildMatchPattern:DeprecationWarning")  # in Flower's own code

OPEN = "while this runs, any user of this machine can run code as you: the SuperLink takes apps without a password"
CAUSAL = ["-o", "learning.step_size=nominal-causal"]


def run(*words: str) -> object:
    with pytest.raises(SystemExit) as ended:
        main(["flower", *words])
    return ended.value.code


def test_help_imports_neither_flower_nor_torch() -> None:
    code = """
import sys
from ehfl.cli import main
for words in (["flower"], ["flower", "up", "-h"], ["flower", "app", "-h"]):
    try: main(words)
    except SystemExit: pass
print([name for name in ("flwr", "torch", "psutil", "numpy", "pydantic") if name in sys.modules])
"""
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout

    assert out.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["up", "--nodes", "3"], "a Flower deployment needs flwr and psutil: pip install 'ehfl[flower]'"),
        (["app", "solar"], "a Flower deployment needs flwr and psutil: pip install 'ehfl[flower]'"),
        (["simulate"], "Flower's simulation needs flwr, psutil and ray: pip install 'ehfl[flower-simulation]'"),
    ],
)
def test_a_missing_extra_is_one_line(words: list[str], hint: str, tmp_path: Path) -> None:
    code = f"""
import sys
for name in ("flwr", "psutil", "ray"):
    sys.modules[name] = None  # as if it were not installed, for imports and for whoever looks for it
from ehfl.cli import main
main(["flower", *{words}])
"""
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=tmp_path)

    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", f"ehfl: error: {hint}\n")


def test_an_app_has_as_many_clients_as_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run("app", "solar", "--nodes", "3", "--arm", "greedy", "--seed", "2", *CAUSAL) == 0

    shown = capsys.readouterr()
    assert shown.out == "app: solar\n"
    assert shown.err == ""
    spec = tomllib.loads((tmp_path / "solar" / "spec.toml").read_text())
    assert (spec["name"], spec["fleet"]["clients"]) == ("demo-flower", 3)
    config = tomllib.loads((tmp_path / "solar" / "pyproject.toml").read_text())["tool"]["flwr"]["app"]["config"]
    assert config == {"runs": str(tmp_path / "runs"), "arm": "greedy on Flower", "seed": 2}


def test_lists_for_each_client_may_be_as_long_as_there_are_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)

    assert run("app", "solar", "--nodes", "3", "-o", "fleet.capacity=[2, 4, 8]", *CAUSAL) == 0

    assert tomllib.loads((tmp_path / "solar" / "spec.toml").read_text())["fleet"]["capacity"] == [2, 4, 8]


Play = Callable[..., Outcome]


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[Play], None]:
    """A way to say what happens instead of a deployment."""
    monkeypatch.chdir(tmp_path)
    return lambda instead: monkeypatch.setattr("ehfl.flower.run_up", instead)


def test_a_failed_server_is_one_line_and_exit_code_1(
    played: Callable[[Play], None], capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(spec: Spec, run: Run, runs: Path, show: object) -> Outcome:
        assert (spec.base.fleet.clients, len(spec.arms), runs) == (2, 4, Path("runs"))
        return Outcome(run.arm.label, run.seed, "the sun went out")

    played(fail)

    assert run("up", "--nodes", "2", "--arm", "greedy", "-o", "fleet.clients=2", *CAUSAL) == 2
    capsys.readouterr()
    assert run("up", "--nodes", "2", "--arm", "greedy", *CAUSAL) == 1
    assert capsys.readouterr().err.splitlines()[-1] == ("ehfl: error: greedy on Flower seed 0 failed: the sun went out")


def test_an_interrupt_says_how_to_go_on(played: Callable[[Play], None], capsys: pytest.CaptureFixture[str]) -> None:
    def interrupted(*given: object, **more: object) -> Outcome:
        raise KeyboardInterrupt

    played(interrupted)

    assert run("up", *CAUSAL) == 130
    assert capsys.readouterr().err.splitlines() == [OPEN, "stopped; the same command goes on from here"]


def test_a_folder_in_use_is_one_line(played: Callable[[Play], None], capsys: pytest.CaptureFixture[str]) -> None:
    def used(*given: object, **more: object) -> Outcome:
        raise UserError("runs/demo-flower is in use by another process")

    played(used)

    assert run("up", *CAUSAL) == 2
    assert capsys.readouterr().err.splitlines()[1:] == ["ehfl: error: runs/demo-flower is in use by another process"]


HEARD = NodeStatus(heard=True, energy=2, took_part=3)
SILENT = NodeStatus(heard=False, energy=0, took_part=1, lost=2, reason="no reply in 30 s")


def test_plain_lines_say_who_is_online_when_that_changes(capsys: pytest.CaptureFixture[str]) -> None:
    with live_nodes("myopic seed 0", "accuracy", Scale("mJ")) as show:
        show(Status(0, 8, None, (NodeStatus(), NodeStatus())))
        for rounds in (3, 4):  # nothing has changed in between
            show(Status(rounds, 8, 0.5, (HEARD, HEARD)))
        show(Status(5, 8, 0.5, (HEARD, SILENT)))
        show(Status(5, 8, 0.5, (HEARD, NodeStatus(running=False))))

    assert capsys.readouterr().err.splitlines() == [
        "myopic seed 0: round 0 of 8 (node 0 starting, node 1 starting; batteries - -)",
        "myopic seed 0: round 3 of 8, accuracy 0.5 (node 0 online, node 1 online; batteries 2 2)",
        "myopic seed 0: round 5 of 8, accuracy 0.5 (node 0 online, node 1 offline; batteries 2 0)",
        "myopic seed 0: round 5 of 8, accuracy 0.5 (node 0 online, node 1 ended; batteries 2 -)",
    ]


def test_nodes_of_a_resumed_run_are_starting_until_it_has_played_a_round(capsys: pytest.CaptureFixture[str]) -> None:
    with live_nodes("myopic seed 0", "accuracy", Scale("mJ")) as show:
        show(Status(5, 8, 0.5, (HEARD, SILENT), earlier=5))
        show(Status(6, 8, 0.5, (HEARD, HEARD), earlier=5))
        show(Status(6, 8, 0.5, (HEARD, HEARD), earlier=5, stopping=True))

    assert capsys.readouterr().err.splitlines() == [
        "myopic seed 0: round 5 of 8, accuracy 0.5 (node 0 starting, node 1 starting; batteries 2 0)",
        "myopic seed 0: round 6 of 8, accuracy 0.5 (node 0 online, node 1 online; batteries 2 2)",
        "myopic seed 0: round 6 of 8, accuracy 0.5; stopping (node 0 online, node 1 online; batteries 2 2)",
    ]


def test_a_terminal_has_a_line_for_each_node(monkeypatch: pytest.MonkeyPatch) -> None:
    import io
    import re

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    for name, text in {"TERM": "xterm", "COLUMNS": "100"}.items():
        monkeypatch.setenv(name, text)
    monkeypatch.setattr(sys, "stderr", terminal := Terminal())

    with live_nodes("[mine], with a label of some length seed 0", "accuracy", Scale("mJ")) as show:
        show(Status(5, 8, 0.5, (HEARD, SILENT), stopping=True))

    shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", terminal.getvalue())
    assert "[mine], with a label of some length seed 0: round 5 of 8, accuracy 0.5; stopping" in shown
    assert "battery [mJ]" in shown
    assert re.search(r"0 +online +2 +3 +0", shown)
    assert re.search(r"1 +offline +0 +1 +2 +no reply in 30 s", shown)


def test_batteries_are_shown_in_joules_where_quanta_have_a_size() -> None:
    harvest = Bernoulli(rate=0.5)
    scale = battery_scale(Fleet.in_joules(3, harvest, capacity=18_000, cost=12, round_length=60, arrival=12))

    assert (scale.unit, scale.of(360_000.0)) == ("Wh", 1.0)  # quanta of 10 mJ
    assert battery_scale(Fleet(clients=3, harvest=harvest, unit="mJ")) == Scale("mJ")
