"""A run on nodes is the run of one process: the same participants, energies and models, whoever schedules."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ehfl.learning import AGGREGATIONS
from ehfl.runs import OtherRun
from ehfl.scheduling import SCHEDULERS
from loopback_grid import Played, loopback, play, play_here, tiny

pytestmark = pytest.mark.usefixtures("in_server", "no_fsync")


def check_same(devices: Played, here: Played) -> None:
    assert devices.outcome.error is None and here.outcome.error is None
    mine, theirs = devices.participation, here.participation
    for name in ("offsets", "indices", "spent", "final_energy", "energy", "weights", "steps"):
        np.testing.assert_array_equal(getattr(mine, name), getattr(theirs, name), err_msg=name)
    for name in ("totals", "target", "scheduler", "seed", "mains_powered", "unit", "n_clients"):
        assert getattr(mine, name) == getattr(theirs, name)
    assert [replace(record, devices=None) for record in devices.records] == here.records
    for record in here.records:  # equal, and there
        found = [value is not None for value in (record.start_loss, record.update_square, record.update_spread)]
        assert found == [record.participants > 0, record.participants > 0, record.participants > 1]
    for name, weights in here.weights.items():
        np.testing.assert_array_equal(devices.weights[name], weights)


FLEETS: list[dict[str, Any]] = [
    {"clients": 4, "rate": 0.6},
    {
        "clients": 5,
        "rate": [0.2, 0.9, 1.0, 0.5, 0.7],
        "cost": [1, 2, 1, 3, 1],
        "capacity": [1, 5, 2, 3, 9],
        "unit": "mJ",
    },
]


@pytest.mark.parametrize("fleet", FLEETS, ids=["alike", "each its own"])
@pytest.mark.parametrize("scheduler", SCHEDULERS.members)
def test_every_scheduler_has_the_run_of_one_process(scheduler: str, fleet: dict[str, Any], tmp_path: Path) -> None:
    spec = tiny(scheduler=scheduler, fleet=fleet | {"step_cost": 0})  # which one of them asks for

    devices = play(spec, tmp_path / "devices", loopback(tmp_path / "nodes", fleet["clients"]))

    check_same(devices, play_here(spec, tmp_path / "here"))
    assert any(record.participants for record in devices.records)


def test_devices_take_and_pay_for_the_steps_they_are_asked_for(tmp_path: Path) -> None:
    fleet = {"clients": 4, "harvest": "poisson:4.5", "capacity": 12, "cost": 10, "step_cost": 4, "initial": 6}
    spec = tiny(scheduler="adaptive-steps:4", fleet=fleet, rounds=12, learning={"aggregation": "fednova"})

    devices = play(spec, tmp_path / "devices", loopback(tmp_path / "nodes", 4))

    check_same(devices, play_here(spec, tmp_path / "here"))
    assert devices.participation.steps is not None and set(devices.participation.steps.tolist()) == {1, 2}


@pytest.mark.parametrize("aggregation", AGGREGATIONS.members)
def test_every_aggregation_has_the_run_of_one_process(aggregation: str, tmp_path: Path) -> None:
    spec = tiny(
        scheduler="f3ast" if aggregation == "scheduled" else "myopic",  # which goes by a scheduler's weights
        learning={"aggregation": aggregation, "partition": {"name": "dirichlet", "alpha": 0.5}, "task": "digits"},
    )

    devices = play(spec, tmp_path / "devices", loopback(tmp_path / "nodes", 4))
    here = play_here(spec, tmp_path / "here")

    check_same(devices, here)
    for key in ("model_weights", "models_down", "models_up"):
        assert devices.folder.meta()[key] == here.folder.meta()[key]


@pytest.mark.parametrize(
    "how", [{"local": "adam:eps=1e-6", "local_decay": 0.9}, {"local_epochs": 2, "local": "sgd:momentum=0.9"}]
)
def test_every_way_of_training_has_the_run_of_one_process(how: dict[str, Any], tmp_path: Path) -> None:
    spec = tiny(learning={"task": "digits", "batch_size": 100, "partition": "dirichlet:0.5", "step_size": 0.01, **how})

    check_same(play(spec, tmp_path / "devices", loopback(tmp_path / "nodes", 4)), play_here(spec, tmp_path / "here"))


MODERN = """
from torch import nn
from ehfl.learning.tasks.digits import Digits

class Modern(Digits):
    def model(self, rng):
        first = nn.Conv2d(1, 4, 3, stride=2).requires_grad_(False)
        return nn.Sequential(first, nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Dropout(0.2), nn.Linear(36, 10))
"""


@pytest.mark.parametrize("buffers", ["mean", "local", "frozen"])
def test_buffers_and_random_numbers_are_those_of_one_process(buffers: str, tmp_path: Path) -> None:
    (tmp_path / "modern_models.py").write_text(MODERN)
    learning = {"task": "modern_models:Modern", "batch_size": 50, "step_size": 0.1, "buffers": buffers}
    spec = tiny(code=str(tmp_path), learning=learning)

    devices = play(spec, tmp_path / "devices", loopback(tmp_path / "nodes", 4))
    here = play_here(spec, tmp_path / "here")

    check_same(devices, here)
    assert here.folder.meta()["model_weights"] == 370 + (0 if buffers == "frozen" else 8) + 8


def test_digits_with_ten_clients_for_twenty_rounds(tmp_path: Path) -> None:
    spec = tiny(rounds=20, fleet={"clients": 10}, learning={"task": "digits", "local_steps": 5, "batch_size": 50})

    check_same(play(spec, tmp_path / "devices", loopback(tmp_path / "nodes", 10)), play_here(spec, tmp_path / "here"))


SUNNY = """
from dataclasses import dataclass
import numpy as np

@dataclass(frozen=True)
class Sunny:
    day: int = 3

    def units(self, seed, rounds, clients):
        sun = [int(t % self.day != 0) for t in rounds]
        return np.repeat(np.array(sun, np.int32)[:, None], len(clients), axis=1)

    def mean_rates(self, n_clients):
        return np.full(n_clients, 1 - 1 / self.day)
"""


def test_classes_of_the_users_own_are_found_on_nodes_of_this_machine(tmp_path: Path) -> None:
    (tmp_path / "sunny_days.py").write_text(SUNNY)
    spec = tiny(code=str(tmp_path), fleet={"clients": 3, "harvest": "sunny_days:Sunny"}, rounds=7)

    devices = play(spec, tmp_path / "devices", loopback(tmp_path / "nodes", 3))

    check_same(devices, play_here(spec, tmp_path / "here"))
    assert devices.participation.energy is not None
    assert devices.participation.totals.harvested == 3 * 4  # on two days of three


def test_a_run_goes_on_where_its_clients_are_and_counts_there_alone(tmp_path: Path) -> None:
    spec = tiny()
    play_here(spec, tmp_path / "here")
    play(spec, tmp_path / "devices", loopback(tmp_path / "nodes", 4))

    with pytest.raises(OtherRun, match="was begun with its clients in process, not on devices: delete the folder"):
        play(spec, tmp_path / "here", loopback(tmp_path / "others", 4))
    with pytest.raises(OtherRun, match="was begun with its clients on devices, not in process: delete the folder"):
        play_here(spec, tmp_path / "devices")


def test_devices_know_whom_the_model_serves_unless_their_data_are_their_own(tmp_path: Path) -> None:
    spec = tiny(learning={"partition": "shards:2", "task": "digits"})
    here = play_here(spec, tmp_path / "here")

    dealt = play(spec, tmp_path / "dealt", loopback(tmp_path / "nodes", 4))
    grid = loopback(tmp_path / "owners", 4)
    grid.configs[12]["examples"] = "all"
    owned = play(spec, tmp_path / "owned", grid)

    check_same(dealt, here)
    assert here.records[-1].by_class is not None and here.records[-1].by_client is not None
    for key in ("classes", "labels"):
        assert dealt.folder.meta()[key] == here.folder.meta()[key]
    assert owned.records[-1].by_class is not None and owned.records[-1].by_client is None
    assert owned.folder.meta()["classes"] == list("0123456789") and owned.folder.meta()["labels"] is None


def test_a_finished_run_goes_on_for_more_rounds(tmp_path: Path) -> None:
    """With a client that was away, so that its participants are not those of a simulation."""
    grid, whole = loopback(tmp_path / "nodes", 4), tiny(rounds=9, scheduler="greedy")
    grid.away = {11}
    short = play(tiny(scheduler="greedy"), tmp_path / "devices", grid)
    first = short.records
    assert short.outcome.error is None and any(record.participants for record in first)

    longer = play(whole, tmp_path / "devices", grid)

    assert longer.outcome.error is None
    assert longer.records[:6] == first and len(longer.records) == 9
    grid = loopback(tmp_path / "other nodes", 4)
    grid.away = {11}
    other = play(whole, tmp_path / "at once", grid)
    for name, weights in other.weights.items():
        np.testing.assert_array_equal(longer.weights[name], weights)
