"""Sweeps: the arms of a spec at each point; runs, frames, tables and figures follow from that."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import ehfl
from ehfl.analysis.sweep import Sweep
from ehfl.experiment import Spec, SpecError, make_spec, read_spec, run_all
from ehfl.report import compact_table, draw_all, draw_sweep, verdict_of
from ehfl.report.figures.sweep import sweep_figure
from ehfl.validation import InvalidValue, UserError

SPEC: dict[str, Any] = {
    "name": "swept", "rounds": 4, "seeds": 2, "schedulers": ["myopic", "greedy"], "fleet": {"clients": 3},
    "learning": {"task": "quadratic", "step_size": 0.1, "local_steps": 1},
}  # fmt: skip


def spec_of(sweep: Any, **more: Any) -> Spec:
    return make_spec({**SPEC, **more, "sweep": sweep})


def test_every_arm_stands_at_every_point_the_last_keys_values_first() -> None:
    spec = spec_of({"fleet": {"capacity": [1, math.inf]}, "target": [1, 2]})

    assert [arm.label for arm in spec.arms][:3] == [
        "capacity 1, target 1: myopic", "capacity 1, target 1: greedy", "capacity 1, target 2: myopic",
    ]  # fmt: skip
    assert [(arm.setting.fleet.capacity, arm.setting.target) for arm in spec.arms[::2]] == [
        (1, 1), (1, 2), (math.inf, 1), (math.inf, 2),
    ]  # fmt: skip
    assert spec.arms[0].point == {"fleet.capacity": 1, "target": 1}
    assert spec.runs()[0].folder_name == "capacity-1-target-1-myopic-s0"


def test_zip_pairs_values() -> None:
    spec = spec_of({"fleet.capacity": [1, 2], "target": [2, 1], "zip": True})

    assert [(arm.setting.fleet.capacity, arm.setting.target) for arm in spec.arms[::2]] == [(1, 2), (2, 1)]


def test_a_parameter_of_every_arms_scheduler_is_swept() -> None:
    spec = spec_of({"scheduler.target": [1, 2]}, schedulers=["myopic", "uniform-random"])

    assert [arm.label for arm in spec.arms[:2]] == ["target 1: myopic", "target 1: uniform-random"]
    assert [arm.setting.scheduler["target"] for arm in spec.arms] == [1, 1, 2, 2]


def test_short_keys_tables_and_long_texts_have_readable_labels() -> None:
    harvests = ["poisson:0.3", {"name": "bernoulli", "rate": 0.2}, {"name": "markov", "stay_on": 0.9, "stay_off": 0.85}]
    spec = spec_of({"harvest": harvests}, schedulers=["greedy"])

    assert [arm.label for arm in spec.arms] == [
        "harvest poisson:0.3: greedy", "harvest bernoulli:rate=0.2: greedy", "harvest no. 3: greedy",
    ]  # fmt: skip


def test_what_is_written_reads_back_with_its_points(tmp_path: Path) -> None:
    spec = spec_of({"fleet.capacity": [1, 2]})
    again = make_spec(spec.facts())

    assert [(arm.label, arm.point) for arm in again.arms] == [(arm.label, arm.point) for arm in spec.arms]
    assert [arm.setting.facts() for arm in again.arms] == [arm.setting.facts() for arm in spec.arms]
    alone = make_spec(spec.runs()[0].facts())
    assert (alone.arms[0].label, alone.arms[0].point) == ("capacity 1: myopic", {"fleet.capacity": 1})
    with pytest.raises(SpecError, match=r"sweep must be left out: arms\[1\] has a point of a sweep"):
        make_spec(spec.facts() | {"sweep": {"target": [1, 2]}})


def test_a_swept_fleet_leaves_out_the_demos_arms() -> None:
    swept = read_spec(overrides={"sweep": {"fleet.capacity": [1, 2]}})
    rounds = read_spec(overrides={"sweep": {"rounds": [3, 4]}})

    assert {arm.label for arm in swept.arms} >= {"capacity 1: myopic", "capacity 2: always-on"}
    assert rounds.arms[0].label == "rounds 3: Equal fleet: myopic"


@pytest.mark.parametrize(
    ("sweep", "error"),
    [
        ({"fleet.capacitty": [1]}, r"sweep.fleet.capacitty is not a key of fleet .*did you mean capacity\?"),
        ({"fleet.capacity": [1, -1]}, r"sweep.fleet.capacity must be .*, got -1"),
        ({"fleet.capacity": 3}, r"sweep.fleet.capacity must be a list of values, at least one, got 3"),
        ({"fleet.capacity": []}, r"sweep.fleet.capacity must be a list of values, at least one, got \[\]"),
        ({"seeds": [1, 2]}, r"sweep.seeds must be left out: it is the same for all arms"),
        ({"scheduler": ["myopic"]}, r"sweep.scheduler must be left out: schedulers\[1\] sets it"),
        ({"scheduler.target": [1, 2]}, r"sweep.scheduler.target .*greedy"),
        ({}, "sweep must name at least one key"),
        ([1], r"sweep must be a table of keys and lists of values, got \[1\]"),
        ({"rounds": [1, 2], "target": [1], "zip": True}, "sweep must have equally many values .*rounds 2, target 1"),
        ({"rounds": [1, 2], "zip": 1}, "sweep.zip must be true or false, got 1"),
        ({"rounds": [3, 3]}, "must have labels that differ"),
    ],
)
def test_a_wrong_sweep_is_one_line_that_names_the_key(sweep: Any, error: str) -> None:
    with pytest.raises((SpecError, InvalidValue), match=error) as caught:
        spec_of(sweep)
    assert "\n" not in str(caught.value)


def test_points_are_worlds_and_the_frame_has_a_column_a_key(tmp_path: Path) -> None:
    sweep = {"fleet.capacity": [1, 2], "fleet.rate": [0.3, 0.6]}
    found = ehfl.compare(SPEC, runs=tmp_path, sweep=sweep, jobs=1)

    frame = found.frame()
    assert frame["fleet.capacity"].tolist() == [1, 1, 1, 1, 2, 2, 2, 2]
    assert frame["fleet.rate"].tolist() == [0.3, 0.3, 0.6, 0.6] * 2
    assert frame["line"].tolist() == ["myopic", "greedy"] * 4
    assert [world.baseline for world in found.worlds] == [row.arm for row in found.rows[::2]]
    assert all(row.difference is not None for row in found.rows[1::2])
    kept = {path: path.stat().st_mtime_ns for path in tmp_path.glob("swept/*/meta.json")}
    longer = ehfl.compare(SPEC, runs=tmp_path, sweep=sweep | {"fleet.capacity": [1, 2, 3]}, jobs=1)
    assert len(longer.arms) == 12
    assert {path: path.stat().st_mtime_ns for path in kept} == kept  # finished runs are not run again


def test_a_single_arm_is_compared_with_itself_at_the_first_point(tmp_path: Path) -> None:
    found = ehfl.compare(SPEC, runs=tmp_path, schedulers=["greedy"], sweep={"fleet.capacity": [1, 2, 4]}, jobs=1)

    assert [world.baseline for world in found.worlds] == ["capacity 1: greedy"]


@pytest.fixture(scope="module")
def wide(tmp_path_factory: pytest.TempPathFactory) -> ehfl.Comparison:
    """Fifty arms: five schedulers at ten points."""
    place = tmp_path_factory.mktemp("wide")
    spec = spec_of(
        {"fleet.rate": [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]}, rounds=2, seeds=1,
        schedulers=["myopic", "greedy", "round-robin", "always-on", "round-robin:1"],
    )  # fmt: skip
    run_all(spec, place / "swept", jobs=1)
    return ehfl.read(place / "swept")


def test_fifty_arms_are_a_row_for_each_point(wide: ehfl.Comparison) -> None:
    table = compact_table(wide)

    assert [line.label for line in table.lines] == [f"rate {rate / 10:g}" for rate in range(1, 10)] + ["rate 1.0"]
    assert [name.replace("\n", "") for name in table.names][:2] == ["myopic", "greedy"]
    assert max(map(len, table.text(100).splitlines())) <= 100
    assert len(verdict_of(wide)) <= 7


def test_any_figure_is_drawn_against_the_swept_value(wide: ehfl.Comparison, tmp_path: Path) -> None:
    for of in ("final", "participants", "energy_spent"):
        draw_sweep(wide, tmp_path / f"{of}.png", of)
        assert (tmp_path / f"{of}.png").stat().st_size > 5_000
    with pytest.raises(InvalidValue, match=r"of must be one of seeds, final, .*, got accuracy"):
        draw_sweep(wide, tmp_path / "no.png", "accuracy")


def test_intervals_of_all_arms_lie_beside_each_other_within_the_axes(tmp_path: Path) -> None:
    found = ehfl.compare(SPEC, runs=tmp_path, sweep={"fleet.capacity": [1, 2]}, seeds=2, jobs=1)
    figure = sweep_figure(found)
    assert figure is not None
    (axes,) = figure.axes
    bottom, top = axes.get_ylim()
    bars = [bar for line in axes.collections for bar in line.get_segments()]  # type: ignore[attr-defined]

    assert len({x for ((x, _), _) in bars}) == len(bars) == 4
    ends = [end for row in found.rows for end in (row.final.low, row.final.high)]
    assert all(end is not None and bottom < end < top for end in ends)


def test_two_keys_are_a_grid_and_other_comparisons_no_sweep(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ehfl.report.figures.comparison._FIGURES", {})  # which take long to draw
    sweep = {"fleet.capacity": [1, 2], "fleet.rate": [0.3, 0.6]}
    found = ehfl.compare(SPEC, runs=tmp_path, sweep=sweep, seeds=1, jobs=1)
    seen = Sweep.of(found)

    assert seen is not None and seen.is_grid and list(seen.lines) == ["myopic", "greedy"]
    assert [(one.name, one.caption) for one in draw_all(found, tmp_path)] == [
        ("sweep", "Gap after the last round against fleet.capacity and fleet.rate.")
    ]
    plain = ehfl.compare(SPEC, runs=tmp_path, name="plain", seeds=1, jobs=1)
    assert Sweep.of(plain) is None
    with pytest.raises(UserError, match="plain is not a sweep"):
        draw_sweep(plain, tmp_path / "no.png")
