"""Bad input, command by command: one line that says what was wrong, what is allowed and what was given; exit code 2.

To add a case, add a line to bad_input.txt: the command line, =>, and what its line must say, where " ... " stands for
anything. They are run in a folder with the files in FILES; STANDS_FOR has what capitals such as LONG stand for.
What all options refuse in the same way is tried for every option that there is.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

from ehfl.cli import app as application
from ehfl.cli import main
from ehfl.cli.options import SPEC_OPTIONS
from ehfl.cli.usage import number, option_name, path, whole
from ehfl.learning.tasks.cifar_files import TEST, TRAINING

Row = tuple[str, str]

STANDS_FOR = {"LONG": "x" * 5000, "NESTED": "[" * 5000 + "]" * 5000, "ESC": "\x1b",
              "NUL": "\0", "RLO": "\u202e"}  # fmt: skip
LINES = (Path(__file__).with_name("bad_input.txt")).read_text(encoding="utf-8").splitlines()
ROWS: list[Row] = [(row[0], row[2]) for line in LINES if (row := line.partition("  =>  "))[1]]
FILES: dict[str, str | bytes] = {
    "negative.csv": "time,roof\n0,1\n60,-3\n",
    "gap.csv": "time,roof\n0,1\n60,1\n120,1\n900,1\n",
    "zones.csv": "time,roof\n2026-03-29T01:00:00+01:00,1\n2026-03-29T03:00:00,1\n",
    "roof.csv": "time,roof\n" + "".join(f"{60 * k},{k % 3}\n" for k in range(60)),
    "dark.csv": "time,roof\n" + "".join(f"{60 * k},0\n" for k in range(60)),
    "words.txt": "half\n",
    "empty.toml": "",
    "binary.toml": bytes(range(256)),
    "bom.toml": b"\xef\xbb\xbfrounds = 0\n",
    "torn.toml": "rounds = [1,\n",
    "twice.toml": "rounds = 1\nrounds = 2\n",
    "deep.toml": f"rounds = {STANDS_FOR['NESTED']}",
    "mine.toml": "rounds = 5\nseeds = 1\nlearning.task = 'quadratic'\n",
    "arms.toml": "[[arms]]\nlabel='a'\n[[arms]]\nlabel='b'\nlearning.local_steps=9\n",
    "epochs.toml": "learning.local_epochs = 2\n",
    "adam.toml": "[[arms]]\nscheduler='greedy'\nlearning.local='adam'\n",
    "decay.toml": "schedulers = ['greedy']\nlearning.local_decay = 0.9\n",
    "rounds.toml": "[[arms]]\nscheduler='greedy'\nrounds=9",
    "always-on.toml": "[[arms]]\nlabel='always-on'\nscheduler='greedy'",
    "bad_input_mine.py": "class Mine:\n    def select(self, view):\n        return []\n",
    "bad_input_moving.py": "import numpy\nRNG = numpy.random.default_rng(0)\nclass Sun:\n"
    "    def units(self, seed, rounds, clients):\n        return RNG.integers(0, 2, (len(rounds), len(clients)))\n"
    "    def mean_rates(self, n_clients):\n        return numpy.full(n_clients, 0.5)\n",
    "bad_input_leaving.py": "raise SystemExit(0)\n",
    "bad_input_classes.py": "from ehfl.learning.tasks.digits import Digits\nclass Nine(Digits):\n"
    "    classes = tuple('012345678')\nclass Eleven(Digits):\n    classes = tuple('0123456789X')\n",
    "made/spec.toml": "rounds = 5\n",
    "made/greedy-s0/meta.json": "{}",
    **{f"torn/{name}": b"\0" * 10 for name in (*TRAINING, *TEST)},
}
# In a folder that holds finished runs, `done` of digits and `plain` of a task without classes.
RUNS: list[Row] = [
    ("report done --goal 3", "--goal must be a finite number in [0, 1], the bounds of accuracy, got 3"),
    ("report done --goal nan", "--goal must be a finite number, got nan"),
    ("report done done/spec.toml", "RUN must be a folder that ehfl compare or ehfl train wrote, got done/spec.toml"),
    ("report done --out done/spec.toml", "--out must be a folder, got done/spec.toml, a file"),
    (
        "report done --out done/spec.toml/x",
        "--out must be a folder, got done/spec.toml/x, and done/spec.toml is a file",
    ),
    (
        "train --rounds 1 --clients 2 --aggregation mifa --run done",  # and no note on memory before it
        "done belongs to another run (seeds is [7] there and [0] here",
    ),
    ("compare --runs . -o name=done -o rounds=1", "done is the folder of a single run, not of a comparison: give this"),
]
COMMAND = typer.main.get_command(application.app)  # made once: Typer would make it anew for every row


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("bad")
    for name in ("torn", "torn.png"):
        (place / name).mkdir()
    for name, content in FILES.items():
        (place / name).parent.mkdir(parents=True, exist_ok=True)
        (place / name).write_bytes(content.encode() if isinstance(content, str) else content)
    return place


@pytest.fixture
def inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(application, "app", COMMAND)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    return folder


def check_refused(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    before = sorted(Path().rglob("*"))

    with pytest.raises(SystemExit) as stop:
        main(words)

    shown = capsys.readouterr()
    assert (stop.value.code, shown.out) == (2, "")
    assert shown.err.startswith("ehfl: error: ") and shown.err.endswith("\n") and shown.err.count("\n") == 1
    assert shown.err[:-1].isprintable() and len(shown.err) < 700
    at = 0
    for part in message.split(" ... "):
        at = shown.err.find(part, at)
        assert at >= 0, f"{part!r} is not in {shown.err!r}"
    assert sorted(Path().rglob("*")) == before


@pytest.fixture(scope="module")
def after_a_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("done")
    for name, task in (("done", "digits"), ("plain", "quadratic")):
        command = f"train --task {task} --rounds 1 --clients 2 --seed 7 --run {place}/{name} --batch-size 2 -k 1"
        with pytest.raises(SystemExit, match="0"):
            main(shlex.split(command))
    return place


@pytest.mark.parametrize(("line", "message"), RUNS, ids=[line for line, _ in RUNS])
def test_so_it_is_where_there_is_a_run(
    line: str, message: str, after_a_run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(after_a_run)
    capsys.readouterr()  # what the run itself showed

    check_refused(shlex.split(line), message, capsys)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("report done", "RUN must be a folder that can be written to, got done"),
        ("report done --out there/deeper", "--out must be a folder that can be written to, got there/deeper"),
        ("simulate --save there", "--save must be a folder that can be written to, got there"),
        ("train --run there", "--run must be a folder that can be written to, got there"),
        ("compare --runs there", "--runs must be a folder that can be written to, got there"),
    ],
)
def test_a_folder_that_cannot_be_written_to_is_called_as_it_was_given(
    line: str, message: str, after_a_run: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(after_a_run)
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root, as in containers, may write everywhere

    check_refused(shlex.split(line), message, capsys)


@pytest.mark.parametrize(("line", "message"), ROWS, ids=[line for line, _ in ROWS])
def test_bad_input_is_one_line_exit_code_2_and_nothing_written(
    line: str, message: str, inside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = shlex.split(line)
    for short, long in STANDS_FOR.items():
        words = [word.replace(short, long) for word in words]
    check_refused(words, message, capsys)


# What a command needs besides the option that is tried.
BASES = {
    "report": "report .",
    "devices": "devices --device cortex-m4 --radio ble",
    "harvest fit": "harvest fit roof.csv --round 1min",
    "harvest show": "harvest show bernoulli:0.5",
    "flower app": "flower app new",
    "bound --seeds": "bound --verify",
}


def options(known: Any = COMMAND, command: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every option with its command."""
    for name, inner in getattr(known, "commands", {}).items():
        yield from options(inner, f"{command} {name}".strip())
    for one in known.params if command and not hasattr(known, "commands") else ():
        if one.param_type_name == "option" and one.name != "help":
            yield command, one


OPTIONS = list(options())
_OTHER = {("devices", "device"), ("bound", "task"), ("plan", "precision")}  # which are no keys of the spec there
OF_SPEC = [(command, one) for command, one in OPTIONS if one.name in SPEC_OPTIONS and command.split()[0] != "flower"
           and (command, one.name) not in _OTHER]  # fmt: skip


def name_of(given: object) -> str:
    return given if isinstance(given, str) else option_name(given)


def words_of(command: str, option: Any) -> list[str]:
    return shlex.split(BASES.get(f"{command} {option_name(option)}", BASES.get(command, command)))


def of_kind(parser: object) -> list[tuple[str, Any]]:
    return [(command, one) for command, one in OPTIONS if getattr(one.type, "func", None) is parser]


@pytest.mark.parametrize(("command", "option"), {option_name(one[1]): one for one in OPTIONS}.values(), ids=name_of)
def test_an_option_is_given_with_a_value_if_it_takes_one(
    command: str, option: Any, inside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words, name = shlex.split(command), option_name(option)
    if option.is_flag:
        check_refused([*words, f"{name}=yes"], f"option '{name}' does not take a value", capsys)
        return
    check_refused([*words, name], f"option '{name}' requires an argument", capsys)


@pytest.mark.parametrize(("command", "option"), of_kind(whole), ids=name_of)
def test_a_whole_number_is_one_as_toml_writes_it(
    command: str, option: Any, inside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = option_name(option)
    tried = ["", "many", "1e3", "inf", "true", "١٢", "1__0"] if name == "--rounds" else []  # all are read alike

    for given in ["2.5", *tried]:
        words = [*words_of(command, option), name, given]
        check_refused(words, f"{name} must be a whole number ... got {given!r}", capsys)


@pytest.mark.parametrize(("command", "option"), of_kind(number), ids=name_of)
def test_a_number_is_one_as_toml_writes_it(
    command: str, option: Any, inside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = option_name(option)

    for given in ("''", "much", "true") if name == "--gap" else ("much",):
        words = [*words_of(command, option), name, given.strip("'")]
        check_refused(words, f"{name} must be a number, got {given}", capsys)


@pytest.mark.parametrize(("command", "option"), of_kind(path), ids=name_of)
def test_a_path_is_not_empty(command: str, option: Any, inside: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = option_name(option)

    check_refused(
        [*words_of(command, option), name, ""], f"{name} must be the name of a file or folder, got ''", capsys
    )


@pytest.mark.parametrize(
    ("command", "option"), [(one, option) for one, option in OF_SPEC if one not in BASES], ids=name_of
)
def test_an_option_and_its_key_are_not_given_together(
    command: str, option: Any, inside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name, key = option_name(option), SPEC_OPTIONS[option.name].key
    words = [*words_of(command, option), name, "1", "-o", f"{key}=1"]

    check_refused(words, f"{name} must be left out where -o {key} is given, got ", capsys)


OTHERWISE = [("plan", name) for name in ("rounds", "seed", "scheduler")]  # which say how a spec is played
WITH_SPEC = [(command, one) for command, one in OF_SPEC if command in ("bound", "plan")
             and (command, one.name) not in OTHERWISE]  # fmt: skip


@pytest.mark.parametrize(("command", "option"), WITH_SPEC, ids=name_of)
def test_options_of_the_fleet_are_left_out_with_a_spec(
    command: str, option: Any, inside: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    name = option_name(option)

    check_refused([command, "mine.toml", name, "1"], f"{name} must be left out with a spec", capsys)
