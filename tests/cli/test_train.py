"""`ehfl train` from end to end."""

from __future__ import annotations

import json
import re
import resource
import tomllib
from pathlib import Path
from typing import Any

import pytest

from ehfl import Bernoulli, Fleet, Myopic, simulate, train
from ehfl.analysis import read
from ehfl.cli import main
from ehfl.learning.engine.flat import FlatModel
from ehfl.learning.engine.workers import Workers
from ehfl.learning.tasks.cifar_files import TEST, TRAINING
from ehfl.report.figures import comparison as figures
from ehfl.runs import read_history

Capture = pytest.CaptureFixture[str]
QUADRATIC = ["--task", "quadratic", "--rounds", "12"]


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def command(*arguments: str) -> int:
    with pytest.raises(SystemExit) as stop:
        main(list(arguments))
    assert isinstance(stop.value.code, int)
    return stop.value.code


def run(*arguments: str) -> int:
    usual = [] if "--step-size" in arguments else ["--step-size", "0.1"]
    return command("train", *QUADRATIC, *usual, *arguments)


def shown_rounds(capsys: Capture, *arguments: str) -> list[dict[str, Any]]:
    assert run(*arguments, "--json") == 0
    rounds: list[dict[str, Any]] = json.loads(capsys.readouterr().out)["rounds"]
    return rounds


def test_train_prints_evaluations_and_goes_on_from_its_folder(capsys: Capture) -> None:
    outputs = [shown_rounds(capsys, "--run", "r", "--eval-every", "4") for _ in range(2)]

    assert outputs[0] == outputs[1]  # the timing as well: nothing was run again
    assert [line["round"] for line in outputs[0] if line["test_loss"] is not None] == [3, 7, 11]
    assert [line["train_loss"] for line in outputs[0] if line["participants"] == 0] == [None]
    assert Path("r/checkpoint.safetensors").exists()


def test_a_finished_run_that_was_changed_is_not_shown(capsys: Capture) -> None:
    assert run("--run", "r") == 0
    path = Path("r/rounds.jsonl")
    path.write_text(path.read_text().replace('"round": 11, "participants": ', '"round": 11, "participants": 1'))
    capsys.readouterr()

    assert run("--run", "r") == 2
    error = f"ehfl: error: {path.absolute()} was edited after the run ended (checksum mismatch)"
    assert capsys.readouterr() == ("", f"{error}: delete {path.parent.absolute()} to run it again\n")


@pytest.mark.parametrize(("room", "name"), [(500, "spec.toml"), (1_100, "participation.npz"), (2_000, "rounds.jsonl")])
def test_a_full_disk_is_told_with_the_file_and_leaves_no_part_of_it(room: int, name: str, capsys: Capture) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        code = run("--run", "r")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)

    assert code == 2
    assert capsys.readouterr().err == f"ehfl: error: {Path('r', name).absolute()}: File too large\n"
    assert not list(Path("r").glob(".part*"))
    assert run("--run", "r") == 0  # it goes on where there is room


def test_train_prints_a_table(capsys: Capture) -> None:
    assert run("--partition", "shards:2", "--aggregation", "weighted") == 0

    out = capsys.readouterr().out
    assert "gap" in out and "1 round without participants" in out
    assert re.search(r"; (0\.\d+) MB went to clients and \1 MB back", " ".join(out.split()))


def test_train_says_what_turns_have_sent(capsys: Capture) -> None:
    for given in (["--run", "r"], ["--run", "r"], []):  # the second time it is read from the folder
        assert run("--aggregation", "scaffold", "--json", *given) == 0
        found = json.loads(capsys.readouterr().out)
        turns = sum(line["participants"] for line in found["rounds"])
        assert found["uploaded"] == found["downloaded"] == turns * 2 * 20 * 4 / 1e6


def numbers(rounds: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    return [(line["participants"], line["step_size"], line["train_loss"], line["test_metric"]) for line in rounds]


@pytest.mark.parametrize(
    ("options", "given"),
    [
        ("", {}),
        ("--clip 0.5", {"clip": 0.5}),
        ("--weight-decay 0.25", {"weight_decay": 0.25}),
        ("--clip 0.5 --weight-decay 0.25 -k 2 --batch-size 7", {"clip": 0.5, "weight_decay": 0.25, "local_steps": 2,
                                                                "batch_size": 7}),
        ("--partition shards:3 --aggregation weighted", {"partition": "shards:3", "aggregation": "weighted"}),
        ("--step-size linear:0.3", {"step_size": "linear:0.3"}),
        ("--step-size constant:value=0.2", {"step_size": 0.2}),
        ("-o learning.clip=0.5", {"clip": 0.5}),
    ],
)  # fmt: skip
def test_every_option_of_learning_is_that_of_python(options: str, given: dict[str, Any], capsys: Capture) -> None:
    found = shown_rounds(capsys, *options.split())

    played = simulate(Fleet(10, Bernoulli(0.5)), Myopic(), rounds=12)
    history = train("quadratic", played, **{"step_size": 0.1} | given)
    expected = [(one.participants, one.step_size, one.train_loss, one.test_metric) for one in history.records]
    assert numbers(found) == expected
    if given:
        assert expected[-1] != numbers(shown_rounds(capsys))[-1]  # it makes a difference


def test_options_of_the_fleet_and_the_seed_are_those_of_python(capsys: Capture) -> None:
    found = shown_rounds(capsys, "--rate", "0.9,0.1,0.5", "--capacity", "2", "--cost", "1,1,2", "--seed", "3")

    played = simulate(Fleet(3, Bernoulli([0.9, 0.1, 0.5]), capacity=2, cost=[1, 1, 2]), Myopic(), rounds=12, seed=3)
    history = train("quadratic", played, step_size=0.1, seed=3)
    assert [line["participants"] for line in found] == played.counts.tolist()
    assert [line["train_loss"] for line in found] == [one.train_loss for one in history.records]


def test_a_scheduler_that_chooses_by_losses_is_trained_in_lockstep(capsys: Capture) -> None:
    rounds = shown_rounds(capsys, "-s", "power-of-choice:target=2,candidates=4", "--run", "choosy")

    assert all(len(line["losses"]) == line["participants"] <= 2 for line in rounds)
    assert rounds == shown_rounds(capsys, "-s", "power-of-choice:target=2,candidates=4", "--run", "choosy")


# runs that are kept


def test_a_run_that_was_kept_is_reported_alone_or_beside_others(
    capsys: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(figures, "draw_all", lambda *_: ())  # figures take seconds
    assert run("--run", "runs/mine") == 0
    assert run("--run", "runs/yours", "--capacity", "1", "--scheduler", "greedy") == 0
    capsys.readouterr()

    assert command("report", "runs/mine", "--json") == 0
    (mine,) = json.loads(capsys.readouterr().out)["arms"]
    assert command("report", "runs/mine", "runs/yours", "--out", "both", "--json") == 0
    both = json.loads(capsys.readouterr().out)["arms"]

    assert Path("runs/mine/report.html").exists() and Path("both/report.html").exists()
    assert mine["arm"] == "myopic"
    assert [arm["arm"] for arm in both] == ["mine: myopic", "yours: greedy"]
    assert mine["final"]["mean"] == read_history(Path("runs/mine/rounds.jsonl"))[-1].test_metric
    assert both[1]["difference"] is not None  # the same weather, data and first model


def test_a_run_that_was_kept_is_one_of_a_comparison(capsys: Capture) -> None:
    """The same numbers as `ehfl compare` gives, and a spec that it takes."""
    assert run("--run", "runs/mine", "--clip", "0.5") == 0
    assert command("compare", "runs/mine/spec.toml", "--runs", "again", "--jobs", "1") == 0

    there, again = (read_history(Path(place) / "rounds.jsonl") for place in ("runs/mine", "again/mine/myopic-s0"))
    assert there == again
    assert read("runs/mine").name == "mine"


def test_a_spec_is_written_that_has_every_option(capsys: Capture) -> None:
    options = (
        "--run runs/mine --clip 0.5 --weight-decay 0.25 --aggregation weighted --partition shards:3 --eval-every 3 "
        "--batch-size 7 -k 2 --device cpu --seed 9 --target 3 --capacity 4 --initial 1 --cost 1 --rate 0.75"
    )
    assert run(*options.split()) == 0

    facts = tomllib.loads(Path("runs/mine/spec.toml").read_text())
    learning, fleet = facts["learning"], facts["fleet"]
    assert (facts["name"], facts["seeds"], facts["rounds"], facts["target"]) == ("mine", [9], 12, 3)
    assert (learning["clip"], learning["weight_decay"], learning["batch_size"], learning["local_steps"]) == (
        0.5,
        0.25,
        7,
        2,
    )
    assert (learning["aggregation"], learning["device"]) == ({"name": "weighted"}, "cpu")
    assert learning["partition"] == {"name": "shards", "num_shards_per_partition": 3}
    assert (fleet["capacity"], fleet["initial"], fleet["cost"], fleet["harvest"]["rate"]) == (4, 1, 1, 0.75)
    assert facts["evaluation"]["every"] == 3


def test_another_run_in_the_folder_is_refused_and_left_as_it_is(capsys: Capture) -> None:
    assert run("--run", "runs/mine") == 0
    before = {path: path.read_bytes() for path in Path("runs/mine").iterdir()}

    assert run("--run", "runs/mine", "--clip", "0.5") == 2

    assert "belongs to another run (learning.clip is not set there and 0.5 here)" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in Path("runs/mine").iterdir()} == before


def test_a_run_may_be_kept_in_the_folder_at_hand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir("here")

    assert run("--run", ".") == 0

    assert tomllib.loads(Path("spec.toml").read_text())["name"] == "here"


def test_data_from_the_environment_are_named_by_its_variable(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    Path("torn").mkdir()
    for name in (*TRAINING, *TEST):
        Path("torn", name).write_bytes(b"\x00" * 10)
    for given, fault in (
        ("torn", "whole: a data_batch_1.bin of 30730000 bytes"),
        ("no", "a folder with cifar-10-batch"),
    ):
        monkeypatch.setenv("EHFL_DATA", given)
        for command_line in (("train", "--task", "cifar10"), ("bound", "--task", "cifar10")):
            assert command(*command_line) == 2
            assert f"ehfl: error: $EHFL_DATA must be {fault}" in capsys.readouterr().err


def test_a_step_that_makes_the_model_diverge_is_told(capsys: Capture) -> None:
    assert command("train", "--task", "quadratic", "--step-size", "1e6", "--rounds", "12") == 2

    assert "try a smaller step size" in capsys.readouterr().err
    assert list(Path().iterdir()) == []


@pytest.mark.parametrize(("options", "count"), [((), 1), (("--workers", "2"), 2)])
def test_a_small_model_has_one_worker_unless_more_are_asked_for(
    options: tuple[str, ...], count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[int] = []
    begin = Workers.__init__

    def spied(self: Workers, model: FlatModel, number: int) -> None:
        seen.append(number)
        begin(self, model, number)

    monkeypatch.setattr(Workers, "__init__", spied)

    assert command("train", "--task", "quadratic", "--rounds", "2", *options) == 0
    assert seen == [count]


def test_train_says_which_class_fares_worst(capsys: Capture) -> None:
    quick = ["--task", "digits", "--rounds", "2", "--local-steps", "1", "--batch-size", "5"]
    assert command("train", *quick) == 0
    shown = capsys.readouterr().out
    assert command("train", *quick, "--json") == 0
    facts = json.loads(capsys.readouterr().out)

    shares = facts["rounds"][-1]["by_class"]
    worst = facts["classes"][shares.index(min(shares))]
    assert f"the worst class, {worst}, {100 * min(shares):.1f} %." in shown


def test_train_says_nothing_of_classes_where_there_are_none(capsys: Capture) -> None:
    assert run() == 0
    assert "class" not in capsys.readouterr().out
    assert run("--json") == 0
    assert "classes" not in json.loads(capsys.readouterr().out)


def test_an_extension_that_would_change_the_rounds_so_far_is_refused_and_changes_nothing(capsys: Capture) -> None:
    theorem = ("--run", "runs/mine", "--step-size", "theorem")
    assert run(*theorem) == 0
    before = {path: path.read_bytes() for path in Path("runs/mine").iterdir()}

    assert run(*theorem, "--rounds", "20") == 2

    assert "its step sizes (theorem) depend on the number of rounds" in capsys.readouterr().err
    assert {path: path.read_bytes() for path in Path("runs/mine").iterdir()} == before
    assert run("--run", "runs/yours") == run("--run", "runs/yours", "--rounds", "20") == 0
