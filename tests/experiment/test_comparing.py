"""`ehfl.compare` and `ehfl.read`: the main job from Python."""

from __future__ import annotations

import copy
import sys
from pathlib import Path
from typing import Any

import pytest

import ehfl
from ehfl import Comparison
from ehfl.analysis import read
from ehfl.experiment import State, read_spec
from ehfl.runs import read_facts
from ehfl.validation import UserError

SMALL: dict[str, Any] = {
    "name": "small",
    "rounds": 6,
    "seeds": 2,
    "schedulers": ["myopic", "greedy"],
    "learning": {"task": "quadratic", "step_size": 0.1},
    "evaluation": {"every": 2},
}
TOML = """
rounds = 6
seeds = 2
schedulers = ["myopic", "greedy"]
learning = { task = "quadratic", step_size = 0.1 }
evaluation.every = 2
"""


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def finals(compared: Comparison) -> list[float]:
    return [row.final.mean for row in compared.rows]


def test_a_dict_a_file_and_a_spec_give_the_same(tmp_path: Path) -> None:
    (tmp_path / "small.toml").write_text(TOML)
    given = copy.deepcopy(SMALL)
    from_dict = ehfl.compare(SMALL, runs=tmp_path / "dict", jobs=1)
    from_file = ehfl.compare(str(tmp_path / "small.toml"), runs=str(tmp_path / "file"), jobs=1)
    from_path = ehfl.compare(tmp_path / "small.toml", runs=tmp_path / "file", jobs=1)  # finished already
    from_spec = ehfl.compare(read_spec(tmp_path / "small.toml"), runs=tmp_path / "spec", jobs=1)

    assert [arm.name for arm in from_dict.arms] == ["myopic", "greedy"]
    assert finals(from_dict) == finals(from_file) == finals(from_path) == finals(from_spec)
    assert from_dict.name == from_file.name == "small"
    assert given == SMALL  # what was given is as it was


def test_runs_lie_where_the_command_line_looks_for_them(tmp_path: Path) -> None:
    compared = ehfl.compare(SMALL, jobs=1)

    folder = tmp_path / "runs" / "small"
    assert {path.name for path in folder.iterdir() if path.is_dir()} == {
        "myopic-s0",
        "myopic-s1",
        "greedy-s0",
        "greedy-s1",
    }
    assert finals(read(folder)) == finals(compared)


def test_it_shows_as_a_table_and_its_figures_can_be_asked_for(tmp_path: Path) -> None:
    compared = ehfl.compare(SMALL, jobs=1)

    assert [line.split()[0] for line in str(compared).splitlines()[-3:-1]] == ["myopic", "greedy"]
    assert '<th scope="row">greedy</th>' in compared._repr_html_()
    assert compared.metric.name == "gap" and compared.missing == ()


# overrides


def ran_as(folder: Path) -> dict[str, Any]:
    return read_facts(folder / "spec.toml")


def test_overrides_are_keywords_tables_and_dotted_keys(tmp_path: Path) -> None:
    """A table changes only what it names."""
    (tmp_path / "small.toml").write_text(TOML)
    overrides: dict[str, Any] = {"learning.batch_size": 7}

    ehfl.compare("small.toml", name="changed", rounds=4, fleet={"clients": 3, "capacity": 2}, jobs=1,
                 learning={"local_steps": 2}, seeds=[5], **overrides)  # fmt: skip

    facts = ran_as(tmp_path / "runs" / "changed")
    assert (facts["rounds"], facts["seeds"]) == (4, [5])
    assert (facts["fleet"]["clients"], facts["fleet"]["capacity"]) == (3, 2)
    learning = facts["learning"]
    assert (learning["local_steps"], learning["batch_size"], learning["task"]) == (2, 7, {"name": "quadratic"})
    assert learning["step_size"] == {"name": "constant", "value": 0.1}


def test_overrides_change_a_dict_and_a_spec_alike(tmp_path: Path) -> None:
    given = copy.deepcopy(SMALL)
    ehfl.compare(SMALL, name="dict", learning={"local_steps": 2}, rounds=3, jobs=1)
    ehfl.compare(read_spec(SMALL), name="spec", learning={"local_steps": 2}, rounds=3, jobs=1)

    one, other = (ran_as(tmp_path / "runs" / name) for name in ("dict", "spec"))
    assert one | {"name": "spec"} == other
    assert one["learning"]["local_steps"] == 2 and one["rounds"] == 3
    assert given == SMALL


def test_without_a_spec_it_is_the_demo_and_overrides_shorten_it(tmp_path: Path) -> None:
    compared = ehfl.compare(rounds=2, seeds=1, jobs=1)

    assert compared.name == "demo"
    assert [[arm.name for arm in world.arms] for world in compared.worlds] == [
        ["Equal fleet: myopic", "Equal fleet: greedy"],
        ["Unequal fleet: greedy", "Unequal fleet: myopic", "Unequal fleet: greedy + MIFA"],
    ]
    assert [world.name for world in compared.worlds] == ["Equal fleet", "Unequal fleet"]
    assert [world.target for world in compared.worlds] == [5, 5]
    assert {len(trial.records) for arm in compared.arms for trial in arm.trials} == {2}


def test_arms_can_be_given_as_python_has_them(tmp_path: Path) -> None:
    arms = [{"scheduler": "greedy", "label": f"K = {k}", "learning.local_steps": k} for k in (1, 4)]

    compared = ehfl.compare(rounds=4, seeds=1, learning={"task": "quadratic"}, arms=arms, jobs=1)

    assert [(arm.name, arm.trials[0].local_steps) for arm in compared.arms] == [("K = 1", 1), ("K = 4", 4)]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        ({"rounds": 0}, "^rounds must be a whole number in \\[1, 10000000\\], got 0$"),
        ({"fleet": {"rat": 1}}, "^fleet.rat is not a key of fleet"),
        ({"ronds": 3}, "^ronds is not a key"),
        ({"fleet": 3}, "^fleet must be a table of keys, got 3$"),
        ({"jobs": 0}, "^jobs must be a whole number >= 1, got 0$"),
        ({"on": "moon"}, "^on must be local or ray, got moon$"),
    ],
)
def test_bad_input_is_one_line_and_nothing_is_written(overrides: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=message):
        ehfl.compare(SMALL, **overrides)

    assert list(tmp_path.iterdir()) == []


def test_progress_can_be_followed() -> None:
    looks: list[list[State]] = []

    ehfl.compare(SMALL, jobs=1, on_look=looks.append)

    assert [state.rounds for state in looks[0]] == [0] * 4
    assert [state.rounds for state in looks[-1]] == [6] * 4


# runs that fail

FAILS = """
class Fails:
    def select(self, view):
        if view.round == 25:  # later than a scheduler is tried before the start
            raise RuntimeError("the sun went out")
        return []
"""


def test_runs_that_fail_are_named_and_the_others_compared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fails_in_part.py").write_text(FAILS)
    monkeypatch.syspath_prepend(tmp_path)

    compared = ehfl.compare(SMALL, schedulers=["greedy", "fails_in_part:Fails"], rounds=30, jobs=1)

    assert [arm.name for arm in compared.arms] == ["greedy"]
    cause = "Fails fails: round 25, RuntimeError: the sun went out (fails_in_part.py:5)"
    assert [(one.arm, one.seed, one.error) for one in compared.missing] == [
        ("fails_in_part:Fails", seed, cause) for seed in (0, 1)
    ]
    assert 'raise RuntimeError("the sun went out")' in compared.missing[0].traceback
    line = f"fails_in_part:Fails seed 1 (failed: {cause})"
    assert line in repr(compared) and f"left out: {line}" in str(compared).splitlines()
    assert f"left out: {line}" in compared._repr_html_()


# frames and page


def test_the_frame_says_what_arms_are(tmp_path: Path) -> None:
    arms: list[dict[str, Any]] = [
        {"label": "one", "scheduler": "myopic:3", "fleet.capacity": 2},
        {"label": "two", "scheduler": "greedy", "fleet.capacity": 2, "aggregation": "fedprox:0.5"},
    ]
    frame = ehfl.compare({key: value for key, value in SMALL.items() if key != "schedulers"}, arms=arms, jobs=1).frame()

    assert frame.columns[:4].tolist() == [
        "scheduler",
        "aggregation",
        "scheduler.target",
        "learning.aggregation.mu",
    ]
    assert frame["scheduler"].tolist() == ["myopic", "greedy"]
    assert frame["aggregation"].tolist() == ["mean", "fedprox"]
    assert frame.loc["one", "scheduler.target"] == 3 and frame.loc["two", "learning.aggregation.mu"] == 0.5
    assert "fleet.capacity" not in frame  # the same for both


def test_every_round_of_every_run_is_a_row() -> None:
    found = ehfl.compare(SMALL, jobs=1)
    rounds = found.rounds()

    assert len(rounds) == 2 * 2 * 6  # arms, seeds, rounds
    assert rounds[["arm", "seed", "round"]].drop_duplicates().shape[0] == len(rounds)
    trial = found.arm("greedy").trials[1]
    mine = rounds[(rounds["arm"] == "greedy") & (rounds["seed"] == trial.seed)]
    assert mine["participants"].tolist() == trial.participation.counts.tolist()
    assert mine["step_size"].tolist() == trial.steps.tolist()
    assert mine["energy_spent"].tolist() == trial.spent[1:].tolist()
    evaluated = mine.dropna(subset="test_metric")
    assert (evaluated["round"] + 1).tolist() == [2, 4, 6]
    assert evaluated["test_metric"].tolist() == [one.metric for one in trial.evaluations[1:]]
    assert all(rounds[column].dtype.kind in "if" for column in rounds.columns if column != "arm")


@pytest.mark.parametrize("how", ["found", "read", "at once"])
def test_the_page_of_the_command_line_is_written_from_python(how: str, tmp_path: Path) -> None:
    found = ehfl.compare(SMALL, jobs=1, report=how == "at once")
    page = Path("runs/small/report.html")
    if how != "at once":
        assert ehfl.write_report(ehfl.read("runs/small") if how == "read" else found, "runs/small") == page

    text = page.read_text(encoding="utf-8")
    assert "<dt>version</dt>" in text and "local_steps = 5" in text  # where it ran, and its spec
    assert len(Path("runs/small/rounds.csv").read_text().splitlines()) == 1 + len(found.rounds())


def test_where_all_fail_it_is_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "fails_always.py").write_text(FAILS)
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(UserError) as caught:
        ehfl.compare(SMALL, schedulers=["fails_always:Fails"], rounds=30, jobs=1)

    assert str(caught.value) == (
        "no run came to its end: fails_always:Fails seed 0 failed: Fails fails: round 25, RuntimeError: the sun "
        "went out (fails_always.py:5)"
    )


# reading


def test_folders_are_read_again_alone_or_together() -> None:
    first = ehfl.compare(SMALL, jobs=1)
    ehfl.compare(SMALL, name="tiny", fleet={"capacity": 1}, jobs=1)

    assert finals(ehfl.read("runs/small")) == finals(first)
    assert finals(ehfl.read(Path("runs/small"))) == finals(first)
    both = ehfl.read("runs/small", "runs/tiny", goal=2.5)
    assert [arm.name for arm in both.arms] == ["small: myopic", "small: greedy", "tiny: myopic", "tiny: greedy"]
    assert both.goal == 2.5
    assert [arm.name for arm in ehfl.read("runs/small/greedy-s1").arms] == ["greedy"]


def test_a_folder_that_is_none_is_one_line(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"^runs/absent is not a run folder: it has no spec\.toml$"):
        ehfl.read("runs/absent")
    with pytest.raises(UserError, match=r"^no run folder was given$"):
        ehfl.read()


def test_reading_needs_neither_torch_nor_pydantic(tmp_path: Path) -> None:
    import subprocess

    ehfl.compare(SMALL, jobs=1)
    code = (
        "import sys; from ehfl.analysis import read; found = read('runs/small');"
        "print(found.arms[0].name, sorted({'torch', 'pydantic', 'joblib', 'matplotlib', 'rich'} & set(sys.modules)))"
    )

    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)

    assert done.stdout == "myopic []\n"
