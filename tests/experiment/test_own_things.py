"""Things of the user's own, in a file beside the spec: each with its parameters, here and in worker processes."""

from __future__ import annotations

import importlib
import itertools
import json
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from ehfl import Fleet, History, simulate, train
from ehfl.analysis import read
from ehfl.cli import main
from ehfl.experiment import SpecError, make_spec, read_spec, run_all
from ehfl.runs import OtherRun, Record, RunFolder, read_history
from ehfl.validation import UserError

ROUNDS = 6


NUMBERS = itertools.count()


@pytest.fixture
def module(tmp_path: Path) -> str:
    """A copy of own_things.py beside the spec, under a name that no other test imports."""
    name = f"own_things_{next(NUMBERS)}"
    shutil.copy(Path(__file__).with_name("own_things.py"), tmp_path / f"{name}.py")
    return name


def put(facts: dict[str, Any], key: str, value: Any) -> None:
    *sections, last = key.split(".")
    for section in sections:
        facts = facts.setdefault(section, {})
    facts[last] = value


def facts_of(module: str, **changes: Any) -> dict[str, Any]:
    facts = {
        "rounds": ROUNDS,
        "seeds": 2,
        "scheduler": {"name": f"{module}:FirstFew", "count": 2},
        "fleet": {"clients": 3, "harvest": {"name": f"{module}:EveryOther", "peak": 2}},
        "learning": {
            "task": {"name": f"{module}:Line", "slope": 3.0},
            "partition": {"name": f"{module}:FirstHas", "examples": 4},
            "step_size": {"name": f"{module}:Halving", "first": 0.25},
            "aggregation": {"name": f"{module}:Damped", "part": 0.75},
            "local_steps": 2,
            "batch_size": 3,
        },
        "evaluation": {"every": 2},
    }
    for key, value in changes.items():
        put(facts, key, value)
    return facts


def trained(own: ModuleType, seed: int) -> History:
    """Return the same without a spec."""
    played = simulate(Fleet(3, own.EveryOther(peak=2)), own.FirstFew(count=2), ROUNDS, seed)
    return train(
        own.Line(slope=3.0), played, partition=own.FirstHas(examples=4), step_size=own.Halving(first=0.25),
        aggregation=own.Damped(part=0.75), local_steps=2, batch_size=3, seed=seed, eval_every=2,
    )  # fmt: skip


def ran(folder: Path, seed: int = 0) -> list[Record]:
    (path,) = folder.glob(f"*-s{seed}/rounds.jsonl")
    return read_history(path)


def check_run(module: str, folder: Path, jobs: int) -> None:
    outcomes = run_all(make_spec(facts_of(module), folder), folder / "runs", jobs=jobs)

    assert [outcome.error for outcome in outcomes] == [None, None]
    own = importlib.import_module(module)
    for seed in (0, 1):
        assert ran(folder / "runs", seed) == list(trained(own, seed).records)
    assert ran(folder / "runs")[0].participants == 0  # the sun has shone on nobody yet
    compared = read(folder / "runs")
    assert compared.metric.name == "error"
    assert [len(arm.trials) for arm in compared.arms] == [2]  # seeds of one arm are made from the same


def test_all_six_are_found_beside_the_spec_and_get_their_parameters(module: str, tmp_path: Path) -> None:
    check_run(module, tmp_path, jobs=1)


@pytest.mark.slow
def test_so_they_are_in_workers_which_never_go_on_with_code_that_has_changed(module: str, tmp_path: Path) -> None:
    """In a notebook: an edit, another comparison; the workers of the first are still there."""
    check_run(module, tmp_path, jobs=2)
    code = (tmp_path / f"{module}.py").read_text()
    (tmp_path / f"{module}.py").write_text(code.replace("[: self.count]", "[: self.count + 1]"))

    run_all(make_spec(facts_of(module), tmp_path), tmp_path / "after", jobs=2)

    assert [record.participants for record in ran(tmp_path / "runs")] == [0, 2, 2, 2, 2, 2]
    assert [record.participants for record in ran(tmp_path / "after")] == [0, 3, 3, 3, 3, 3]


ANOTHER = {
    "scheduler.count": 1,
    "fleet.harvest.peak": 1,
    "learning.task.slope": -1.0,
    "learning.partition.examples": 6,
    "learning.step_size.first": 0.125,
    "learning.aggregation.part": 0.5,
}


def test_every_parameter_reaches_its_thing(module: str, tmp_path: Path) -> None:
    """With two units every other round a client takes part in every round, with one in every other."""
    run_all(make_spec(facts_of(module, seeds=1), tmp_path), tmp_path / "runs", jobs=1)
    before = ran(tmp_path / "runs")
    for key, value in ANOTHER.items():
        spec = make_spec(facts_of(module, seeds=1, **{key: value}), tmp_path)

        run_all(spec, tmp_path / key, jobs=1)

        assert ran(tmp_path / key) != before


@pytest.mark.parametrize(
    ("text", "key", "expected"),
    [
        ("FirstFew:2", "scheduler", {"count": 2}),
        ("FirstFew:count=2", "scheduler", {"count": 2}),
        ("FirstFew", "scheduler", {"count": 1}),  # the default, spelled out
        ("EveryOther:3", "fleet.harvest", {"peak": 3}),
        ("FirstHas:examples=3", "learning.partition", {"examples": 3}),
        ("Halving:0.5", "learning.step_size", {"first": 0.5}),
        ("Damped:0.5", "learning.aggregation", {"part": 0.5}),
        ("Line:slope=1.0", "learning.task", {"slope": 1.0}),
    ],
)
def test_the_short_forms_serve_as_well(
    text: str, key: str, expected: dict[str, Any], module: str, tmp_path: Path
) -> None:
    facts: Any = make_spec(facts_of(module, **{key: f"{module}:{text}"}), tmp_path).base.facts()
    for part in key.split("."):
        facts = facts[part]

    assert facts == {"name": f"{module}:{text.partition(':')[0]}"} | expected


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("scheduler.cuont", 1, "scheduler.cuont must be a parameter of {}:FirstFew, one of count, got cuont (did you "
         "mean count?)"),
        ("scheduler.count", "all", "scheduler.count must be a whole number, got 'all'"),
        ("fleet.harvest.peak", 0.5, "fleet.harvest.peak must be a whole number, got 0.5"),
        ("learning.partition.examples", True, "learning.partition.examples must be a whole number, got True"),
        ("learning.step_size.first", "a", "learning.step_size.first must be a number, got 'a'"),
        ("learning.partition", "FirstHos", "learning.partition must be importable as package.module:Class, got "
         "{}:FirstHos (module '{}' has no attribute 'FirstHos')"),
        ("scheduler", "Line", "scheduler must be a class with select, got {}:Line without select"),
    ],
)  # fmt: skip
def test_a_wrong_parameter_is_refused_under_its_key(
    key: str, value: object, message: str, module: str, tmp_path: Path
) -> None:
    given = f"{module}:{value}" if isinstance(value, str) and value[0].isupper() else value
    with pytest.raises(SpecError) as caught:
        make_spec(facts_of(module, **{key: given}), tmp_path)

    assert str(caught.value) == message.replace("{}", module)


@pytest.mark.parametrize(
    ("key", "value", "message"),
    [
        ("learning.task.slope", "a", "learning.task.slope must be a number, got 'a'"),
        ("learning.aggregation.part", "a", "learning.aggregation.part must be a number, got 'a'"),
        ("learning.aggregation.prat", 1, "learning.aggregation.prat must be a parameter of {}:Damped, one of part, got "
         "prat (did you mean part?)"),
        ("fleet.clients", 1, "learning.partition cannot deal out the data under seed 0: ValueError: "
         "number sections must be larger than 0."),
    ],
)  # fmt: skip
def test_what_shows_when_it_is_made_is_refused_before_anything_is_written(
    key: str, value: object, message: str, module: str, tmp_path: Path
) -> None:
    spec = make_spec(facts_of(module, seeds=1, **{key: value}), tmp_path)

    with pytest.raises(UserError) as caught:
        run_all(spec, tmp_path / "runs", jobs=1)

    assert str(caught.value) == message.replace("{}", module)
    assert not (tmp_path / "runs").exists()


def test_the_spec_that_was_written_says_where_the_code_lies(module: str, tmp_path: Path) -> None:
    """So that it can be run again from anywhere."""
    place = tmp_path / "runs"
    run_all(make_spec(facts_of(module, seeds=1), tmp_path), place, jobs=1)

    assert read_spec(place / "spec.toml").code == str(tmp_path)
    assert [outcome.error for outcome in run_all(read_spec(place / "spec.toml"), place, jobs=1)] == [None]


def test_a_spec_without_code_of_ones_own_names_no_folder(tmp_path: Path) -> None:
    (tmp_path / "mine.toml").write_text("rounds = 3")

    assert read_spec(tmp_path / "mine.toml").code is None


@pytest.mark.parametrize("name", ["EveryOther", "FirstFew", "FirstHas", "Halving", "Damped", "Line"])
def test_code_that_has_changed_is_not_taken_for_the_old_one(name: str, module: str, tmp_path: Path) -> None:
    """Only one thing is the user's own at a time, so that each is seen to be watched."""
    plain = {"scheduler": "greedy", "fleet.harvest": "bernoulli:0.5", "learning.task": "quadratic",
             "learning.partition": "iid", "learning.step_size": 0.1, "learning.aggregation": "mean"}  # fmt: skip
    places = dict(zip(["FirstFew", "EveryOther", "Line", "FirstHas", "Halving", "Damped"], plain, strict=True))
    facts = facts_of(module, seeds=1, **plain | {places[name]: f"{module}:{name}"})
    run_all(make_spec(facts, tmp_path), tmp_path / "runs", jobs=1)
    with (tmp_path / f"{module}.py").open("a") as file:
        file.write("# an edited comment refuses no run\n")
    run_all(make_spec(facts, tmp_path), tmp_path / "runs", jobs=1)
    with (tmp_path / f"{module}.py").open("a") as file:
        file.write("ANOTHER = 'version'\n")

    message = f"-s0 was run with another version of {module}.py: delete the folder to run it again"
    with pytest.raises(OtherRun, match=message):
        run_all(make_spec(facts, tmp_path), tmp_path / "runs", jobs=1)


def test_other_data_are_not_taken_for_the_same(module: str, tmp_path: Path) -> None:
    facts = facts_of(module, seeds=1)
    run_all(make_spec(facts, tmp_path), tmp_path / "runs", jobs=1)
    (run,) = (tmp_path / "runs").glob("*-s0")
    meta = RunFolder(run).meta()
    RunFolder(run).add_meta(inputs=meta["inputs"] | {"data": "0123"})

    with pytest.raises(OtherRun, match="-s0 was run with other data"):
        run_all(make_spec(facts, tmp_path), tmp_path / "runs", jobs=1)
    own = ("EveryOther", "FirstFew", "FirstHas", "Halving", "Damped", "Line")
    assert set(meta["inputs"]) == {"data", "weather", f"{module}.py", *(f"{module}:{name}" for name in own)}


# a recorded harvest

SUN = "1,0\n0,2\n1,1\n0,0\n"


def recorded(folder: Path, more: str = "") -> Path:
    (folder / "data").mkdir(exist_ok=True)
    (folder / "data" / "sun.csv").write_text(f"{SUN}{more}")
    path = folder / "mine.toml"
    path.write_text(
        'rounds = 4\nseeds = 1\nscheduler = "greedy"\n'
        '[fleet]\nclients = 2\nharvest = { name = "replay", arrivals = "data/sun.csv" }\n'
        '[learning]\ntask = "quadratic"\nstep_size = 0.1\n'
    )
    return path


def test_a_recorded_harvest_lies_where_the_spec_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Who has a unit takes part in the round after: the second client's second unit is spent a round later."""
    spec = read_spec(recorded(tmp_path))
    monkeypatch.chdir("/")

    run_all(spec, tmp_path / "runs", jobs=1)

    played = read(tmp_path / "runs").arms[0].trials[0].participation
    assert [played.clients(t).tolist() for t in range(4)] == [[], [0], [1], [0, 1]]
    assert played.spent.tolist() == [0, 1, 1, 2]


@pytest.mark.parametrize("short", ["replay:data/sun.csv", "replay:arrivals=data/sun.csv"])
def test_the_short_forms_of_a_recorded_harvest(short: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = recorded(tmp_path)
    monkeypatch.chdir(tmp_path)  # from which paths of overrides start

    assert read_spec(path, {"fleet.harvest": short}).base == read_spec(path).base


def test_a_recorded_harvest_that_has_changed_is_refused(tmp_path: Path) -> None:
    run_all(read_spec(recorded(tmp_path)), tmp_path / "runs", jobs=1)

    message = r"greedy-s0 was run with another version of fleet\.harvest\.arrivals: delete the folder"
    with pytest.raises(OtherRun, match=message):
        run_all(read_spec(recorded(tmp_path, more="1,1\n")), tmp_path / "runs", jobs=1)


def test_a_recorded_harvest_may_move(tmp_path: Path) -> None:
    """What it holds counts, not where it lies."""
    run_all(read_spec(recorded(tmp_path)), tmp_path / "runs", jobs=1)
    (tmp_path / "elsewhere").mkdir()
    before = (tmp_path / "runs" / "greedy-s0" / "rounds.jsonl").stat().st_mtime_ns

    run_all(read_spec(recorded(tmp_path / "elsewhere")), tmp_path / "runs", jobs=1)

    assert (tmp_path / "runs" / "greedy-s0" / "rounds.jsonl").stat().st_mtime_ns == before


@pytest.mark.parametrize("given", ["records/units.txt", "records"])
def test_a_file_or_folder_that_a_thing_of_ones_own_reads_lies_beside_the_spec_and_is_watched(
    given: str, module: str, tmp_path: Path
) -> None:
    (tmp_path / "records").mkdir()
    (tmp_path / "records" / "units.txt").write_text("2")
    facts = facts_of(module, seeds=1, **{"fleet.harvest": {"name": f"{module}:Written", "file": given}})
    for _ in range(2):  # what has not changed is counted, not refused
        run_all(make_spec(facts, tmp_path), tmp_path / "runs", jobs=1)
    assert [record.participants for record in ran(tmp_path / "runs")] == [0, 2, 2, 2, 2, 2]

    (tmp_path / "records" / "units.txt").write_text("1")

    with pytest.raises(OtherRun, match=r"-s0 was run with another version of fleet\.harvest\.file: delete the folder"):
        run_all(make_spec(facts, tmp_path), tmp_path / "runs", jobs=1)


# all six kinds, by every form in which they can be named

FORMS = {
    "--scheduler": ("{}:FirstFew:2", "{}:FirstFew:count=2", '{{name="{}:FirstFew", count=2}}'),
    "--harvest": ("{}:EveryOther:2", "{}:EveryOther:peak=2", '{{name="{}:EveryOther", peak=2}}'),
    "--task": ("{}:Line:3.0", "{}:Line:slope=3.0", '{{name="{}:Line", slope=3.0}}'),
    "--partition": ("{}:FirstHas:4", "{}:FirstHas:examples=4", '{{name="{}:FirstHas", examples=4}}'),
    "--step-size": ("{}:Halving:0.25", "{}:Halving:first=0.25", '{{name="{}:Halving", first=0.25}}'),
    "--aggregation": ("{}:Damped:0.75", "{}:Damped:part=0.75", '{{name="{}:Damped", part=0.75}}'),
}


@pytest.mark.parametrize("form", [0, 1, 2])
def test_things_of_ones_own_are_named_with_parameters_on_the_command_line_too(
    form: int, module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    named = [word for option, forms in FORMS.items() for word in (option, forms[form].format(module))]
    others = ["--clients", "3", "--rounds", str(ROUNDS), "--local-steps", "2", "--batch-size", "3", "--eval-every", "2"]

    with pytest.raises(SystemExit) as caught:
        main(["train", *named, *others, "--json"])

    assert caught.value.code == 0
    shown = json.loads(capsys.readouterr().out)["rounds"]
    expected = trained(importlib.import_module(module), seed=0).records
    assert [record["test_loss"] for record in shown] == [record.test_loss for record in expected]
    assert [record["participants"] for record in shown] == [0, 2, 2, 2, 2, 2]


@pytest.mark.parametrize("form", [0, 1, 2])
def test_so_they_are_in_overrides_and_lists_of_a_comparison(form: int, module: str, tmp_path: Path) -> None:
    given = {option: forms[form].format(module) for option, forms in FORMS.items()}
    overrides = [f"fleet.harvest={given['--harvest']}", f"learning.task={given['--task']}",
                 f"learning.partition={given['--partition']}", f"learning.step_size={given['--step-size']}",
                 f"learning.aggregation={given['--aggregation']}", f"scheduler={given['--scheduler']}"]  # fmt: skip
    (tmp_path / "mine.toml").write_text("rounds = 6\nseeds = 2\n[fleet]\nclients = 3\n")
    spec = read_spec(tmp_path / "mine.toml", overrides)
    expected = make_spec(facts_of(module), tmp_path)

    assert spec.base.scheduler == expected.base.scheduler
    assert spec.base.fleet == expected.base.fleet
    for name in ("task", "partition", "step_size", "aggregation"):
        assert getattr(spec.base.learning, name) == getattr(expected.base.learning, name)
    scheduler = given["--scheduler"] if form == 2 else f"'{given['--scheduler']}'"
    listed = read_spec(tmp_path / "mine.toml", [f"schedulers=[{scheduler}, 'greedy']"])
    assert listed.arms[0].setting.scheduler == expected.base.scheduler


def test_several_schedulers_may_each_be_a_table(
    module: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    named = [f'{{name="{module}:FirstFew", count=2}}', "{name='round-robin', per_round=1}", f"{module}:FirstFew"]

    with pytest.raises(SystemExit) as caught:
        main(["simulate", "--rounds", "5", "--json", *(word for one in named for word in ("-s", one))])

    assert caught.value.code == 0
    labels = [f"{module}:FirstFew:count=2", "round-robin:1", f"{module}:FirstFew"]
    assert list(json.loads(capsys.readouterr().out)["schedulers"]) == labels
