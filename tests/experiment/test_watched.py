"""Code of the user's own that changes: between comparisons, while one runs, in the modules that it imports."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ehfl import user_code
from ehfl.analysis import read
from ehfl.experiment import Spec, SpecError, check_comparison, execute, inputs_of, make_spec, read_spec, run_all
from ehfl.experiment.run.execute import Cores
from ehfl.runs import OtherRun, Record, RunFolder, read_history
from ehfl.validation import UserError

NUMBERS = itertools.count()
TAKES = "import numpy as np\nfrom {helper} import LIMIT\nclass Takes:\n    def select(self, view):\n" \
        "        return view.able()[:LIMIT]\n"  # fmt: skip


def plain(module: str, folder: Path, **changes: Any) -> Spec:
    """Return a spec of which nothing but the scheduler is the user's own."""
    facts = {"rounds": 4, "scheduler": f"{module}:Takes", "fleet": {"clients": 3, "rate": 1}, "learning": LEARNING}
    return make_spec(facts | {"seeds": 1} | changes, folder)


LEARNING = {"task": "quadratic", "step_size": 0.1}


@pytest.fixture
def takes(tmp_path: Path) -> tuple[str, Path]:
    """A scheduler that takes as many as another module says."""
    name = f"takes_{next(NUMBERS)}"
    (tmp_path / f"{name}.py").write_text(TAKES.format(helper=f"{name}_helper"))
    (tmp_path / f"{name}_helper.py").write_text("LIMIT = 1\n")
    return name, tmp_path / f"{name}_helper.py"


def ran(folder: Path, seed: int = 0) -> list[Record]:
    (path,) = folder.glob(f"*-s{seed}/rounds.jsonl")
    return read_history(path)


def counts(folder: Path, seed: int = 0) -> list[int]:
    return [record.participants for record in ran(folder, seed)]


def test_a_seed_is_not_added_where_something_that_the_code_imports_has_changed(
    takes: tuple[str, Path], tmp_path: Path
) -> None:
    name, helper = takes
    run_all(plain(name, tmp_path), tmp_path / "runs", jobs=1)
    assert set(RunFolder(next((tmp_path / "runs").glob("*-s0"))).meta()["inputs"]) == {
        "data", f"{name}.py", helper.name, f"{name}:Takes"
    }  # fmt: skip
    helper.write_text("LIMIT = 2\n")

    with pytest.raises(OtherRun, match=f"-s0 was run with another version of {helper.name}: delete the folder"):
        run_all(plain(name, tmp_path, seeds=2), tmp_path / "runs", jobs=1)
    assert not list((tmp_path / "runs").glob("*-s1"))

    helper.write_text("LIMIT = 1\n")
    run_all(plain(name, tmp_path, seeds=2), tmp_path / "runs", jobs=1)
    assert counts(tmp_path / "runs", seed=1) == [0, 1, 1, 1]


def test_a_module_that_came_or_went_is_another_version(takes: tuple[str, Path], tmp_path: Path) -> None:
    name, helper = takes
    code = f"try:\n    from {name}_helper import LIMIT\nexcept ImportError:\n    LIMIT = 2\n"
    (tmp_path / f"{name}.py").write_text(code + TAKES[TAKES.index("class") :])
    helper.rename(tmp_path / "away")
    run_all(plain(name, tmp_path), tmp_path / "without", jobs=1)
    (tmp_path / "away").rename(helper)
    (tmp_path / f"{name}.py").touch()

    with pytest.raises(OtherRun, match=f"-s0 was run without {helper.name}: delete"):
        in_a_new_session(lambda: run_all(plain(name, tmp_path), tmp_path / "without", jobs=1))
    in_a_new_session(lambda: run_all(plain(name, tmp_path), tmp_path / "with", jobs=1))
    helper.unlink()
    with pytest.raises(OtherRun, match=f"-s0 was run with {helper.name}, which is not there now: delete"):
        run_all(plain(name, tmp_path), tmp_path / "with", jobs=1)


def in_a_new_session(call: Callable[[], object]) -> None:
    user_code._loaded.clear()
    call()


def test_code_that_was_edited_in_between_is_run_as_it_is_now(takes: tuple[str, Path], tmp_path: Path) -> None:
    """In one session, as in a notebook; with one job the runs are in this very process."""
    name, helper = takes
    run_all(plain(name, tmp_path), tmp_path / "one", jobs=1)
    helper.write_text("LIMIT = 2\n")

    run_all(plain(name, tmp_path), tmp_path / "two", jobs=1)

    assert (counts(tmp_path / "one"), counts(tmp_path / "two")) == ([0, 1, 1, 1], [0, 2, 2, 2])


def test_an_edit_while_a_comparison_runs_changes_none_of_its_runs(takes: tuple[str, Path], tmp_path: Path) -> None:
    """With one job, so in this process; by a scheduler that edits its own helper while it is played."""
    name, helper = takes
    edit = f"import pathlib; view.round and pathlib.Path({str(helper)!r}).write_text('LIMIT = 2')"
    code = TAKES.format(helper=f"{name}_helper").replace("return", f"{edit}\n        return")
    (tmp_path / f"{name}.py").write_text(code)

    outcomes = run_all(plain(name, tmp_path, seeds=2), tmp_path / "runs", jobs=1)

    assert [outcome.error for outcome in outcomes] == [None, None]
    assert counts(tmp_path / "runs", 0) == counts(tmp_path / "runs", 1) == [0, 1, 1, 1]


def test_a_worker_that_would_begin_with_other_code_than_the_comparison_refuses(
    takes: tuple[str, Path], tmp_path: Path
) -> None:
    name, helper = takes
    (run,) = plain(name, tmp_path).runs()
    inputs = inputs_of(run, check_comparison(run.spec)[run.arm.label])
    helper.write_text("LIMIT = 2\n")

    outcome = execute(run, RunFolder(tmp_path / "run"), Cores(1), inputs)

    assert outcome.error is not None
    assert outcome.error.startswith(f"the comparison began with another version of {helper.name}: put it back")
    assert not (tmp_path / "run" / "rounds.jsonl").exists()


def test_a_harvest_that_is_another_one_in_each_process_is_told_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By what hash() makes of a text, say; here by its environment, which a test can change."""
    name = f"moody_{next(NUMBERS)}"
    (tmp_path / f"{name}.py").write_text(
        "import os\nimport numpy as np\nclass Moody:\n    def units(self, seed, rounds, clients):\n"
        "        return np.full((len(rounds), len(clients)), seed + int(os.environ['MOOD']))\n"
        "    def mean_rates(self, n_clients):\n        return np.ones(n_clients)\n"
    )
    monkeypatch.setenv("MOOD", "1")
    facts = {"rounds": 3, "seeds": 2, "scheduler": "greedy", "fleet": {"harvest": f"{name}:Moody"}}
    spec = make_spec(facts | {"learning": LEARNING}, tmp_path)
    run_all(spec, tmp_path / "runs", jobs=1)
    (arm,) = read(tmp_path / "runs").arms
    assert len(arm.trials) == 2  # seeds of one arm are made from the same
    run = spec.runs()[0]
    inputs = inputs_of(run, check_comparison(spec)[run.arm.label])
    monkeypatch.setenv("MOOD", "2")

    outcome = execute(run, RunFolder(tmp_path / "again"), Cores(1), inputs)

    assert outcome.error is not None and outcome.error.startswith("the comparison began with other weather (a harvest")
    with pytest.raises(
        OtherRun, match=r"-s0 was run with other weather \(a harvest that asks hash\(\), a clock or its"
    ):
        run_all(spec, tmp_path / "runs", jobs=1)


def test_specs_in_two_folders_may_have_modules_of_one_name(tmp_path: Path) -> None:
    """Read both, then run both: each is run with what lies beside it, in this process and in others."""
    name = f"twin_{next(NUMBERS)}"
    for folder, limit in (("one", 1), ("two", 2)):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / f"{name}.py").write_text(TAKES.format(helper=f"{name}_helper"))
        (tmp_path / folder / f"{name}_helper.py").write_text(f"LIMIT = {limit}\n")
    specs = {folder: plain(name, tmp_path / folder) for folder in ("one", "two")}

    for folder, spec in specs.items():
        run_all(spec, tmp_path / folder / "runs", jobs=1)

    assert [counts(tmp_path / folder / "runs") for folder in specs] == [[0, 1, 1, 1], [0, 2, 2, 2]]


def test_the_folder_of_the_code_may_be_named_beside_the_spec_and_must_exist(
    takes: tuple[str, Path], tmp_path: Path
) -> None:
    (tmp_path / "specs").mkdir()
    facts = f'code = "{{}}"\nscheduler = "{takes[0]}:Takes"\n'
    (tmp_path / "specs" / "mine.toml").write_text(facts.format(".."))
    (tmp_path / "specs" / "wrong.toml").write_text(facts.format("nowhere"))

    assert Path(str(read_spec(tmp_path / "specs" / "mine.toml").code)).samefile(tmp_path)
    with pytest.raises(SpecError, match=r"wrong.toml: code must be a folder, got nowhere"):
        read_spec(tmp_path / "specs" / "wrong.toml")


def test_data_that_changed_between_two_comparisons_of_a_session_are_read_anew(tmp_path: Path) -> None:
    name = f"recorded_{next(NUMBERS)}"
    (tmp_path / f"{name}.py").write_text(RECORDED)
    learning = {"task": f"{name}:Recorded", "step_size": 0.1, "data": str(tmp_path / "slope.txt")}
    first_losses = []
    for slope in ("2", "5"):
        (tmp_path / "slope.txt").write_text(slope)
        spec = make_spec({"rounds": 3, "seeds": 1, "scheduler": "always-on", "learning": learning}, tmp_path)
        run_all(spec, tmp_path / f"slope {slope}", jobs=1)
        first_losses.append(ran(tmp_path / f"slope {slope}")[0].train_loss)

    assert first_losses[0] != first_losses[1]


RECORDED = """
import torch
from pathlib import Path
from ehfl import Metric
from ehfl.learning.tasks.examples import Examples

class Recorded:
    name = "recorded"
    metric = Metric("error", lower_is_better=True, bounds=(0, None))

    def __init__(self, data: Path):
        x = torch.linspace(-1, 1, 24)[:, None]
        self.training = Examples(x, (float(Path(data).read_text()) * x[:, 0] * 24).round().long())
        self.test = self.training

    def model(self, rng):
        layer = torch.nn.Linear(1, 1, bias=False)
        torch.nn.init.constant_(layer.weight, float(rng.random()))
        return layer

    def loss(self, outputs, targets):
        return (outputs[:, 0] - targets / 24).square().mean()

    def score(self, outputs, targets):
        return abs(float((outputs[:, 0] - targets / 24).mean()))
"""


def test_a_class_without_a_file_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    sys.modules["without_a_file"] = ModuleType("without_a_file")
    exec(TAKES.replace("from {helper} import LIMIT", "LIMIT = 1"), vars(sys.modules["without_a_file"]))

    with pytest.raises(UserError, match="without_a_file has no file: put the class into one"):
        run_all(plain("without_a_file", tmp_path), tmp_path / "runs", jobs=1)

    assert not (tmp_path / "runs").exists()
