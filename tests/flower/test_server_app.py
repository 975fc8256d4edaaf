"""Runs of one spec that an app plays one after the other: the folder lists all of them."""

from __future__ import annotations

import logging
import tomllib
from pathlib import Path
from unittest.mock import Mock

import pytest
from flwr.app import Context, RecordDict

from ehfl.experiment import Outcome, Spec, read_spec, run_all, write_spec
from ehfl.flower import client_app, server_app
from ehfl.flower.app.specs import bundle_of
from ehfl.validation import UserError
from loopback_grid import loopback, tiny


def in_process(spec: Spec, runs: Path, exchange: object) -> list[Outcome]:
    outcomes = run_all(spec, runs / spec.name, jobs=1)
    logging.getLogger("ehfl.flower").warning("no devices")
    return outcomes


def test_a_second_arm_and_seed_stands_beside_the_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ehfl.flower.server.server_app.serve", in_process)
    small = ["name=few", "rounds=1", "seeds=3", "fleet.clients=2", "target=1", "learning.task=quadratic"]
    spec = read_spec(None, [*small, "schedulers=['myopic', 'greedy', 'round-robin']"])
    (tmp_path / "spec.toml").write_text(write_spec(spec.facts()))
    app = server_app(tmp_path / "spec.toml")

    for arm, seed in (("myopic", 0), ("greedy", 2)):
        config: dict[str, bool | float | int | str] = {"runs": str(tmp_path / "runs"), "arm": arm, "seed": seed}
        app(Mock(), Context(1, 0, {}, RecordDict(), config))

    listed = tomllib.loads((tmp_path / "runs" / "few" / "spec.toml").read_text())
    assert [arm["label"] for arm in listed["arms"]] == ["myopic", "greedy"]
    assert listed["seeds"] == [0, 2]
    said = [line.split(" ", 3)[2:] for line in (tmp_path / "runs" / "few" / "server.log").read_text().splitlines()]
    assert said == [["WARNING", "no devices"], ["INFO", f"the run is finished: ehfl report {tmp_path}/runs/few"]] * 2


@pytest.mark.usefixtures("in_server", "no_fsync")
def test_what_is_worth_knowing_is_logged_when_there_is_a_folder_for_it(tmp_path: Path) -> None:
    spec = tiny(rounds=1, learning={"aggregation": "mifa"})
    (tmp_path / "spec.toml").write_text(write_spec(spec.facts()))

    app, context = server_app(tmp_path / "spec.toml"), Context(1, 0, {}, RecordDict(), {"runs": str(tmp_path / "runs")})
    grid = loopback(tmp_path / "nodes", 4)
    grid.app = client_app(bundle_of(spec), grid.state)
    app(grid, context)

    said = [line.split(" ", 3)[3] for line in (tmp_path / "runs" / "tiny" / "server.log").read_text().splitlines()]
    assert said[0].startswith("mifa remembers a model of each of 4 clients: up to ")
    assert said[1].startswith("myopic seed 3, 1 rounds, in ")


def test_a_run_that_is_refused_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(spec: Spec, runs: Path, exchange: object) -> list[Outcome]:
        raise UserError("not this one")

    monkeypatch.setattr("ehfl.flower.server.server_app.serve", refuse)
    (tmp_path / "spec.toml").write_text(write_spec(read_spec(None, ["learning.task=quadratic"]).facts()))

    with pytest.raises(UserError, match="not this one"):
        server_app(tmp_path / "spec.toml")(Mock(), Context(1, 0, {}, RecordDict(), {"runs": str(tmp_path / "runs")}))
    assert not (tmp_path / "runs").exists()
