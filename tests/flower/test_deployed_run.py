"""The same spec and seed on three real nodes and in one process: the same rounds, and folders that fit together."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from deployed import running
from ehfl import load_model
from ehfl.analysis import read_results
from ehfl.experiment import read_spec, run_all
from ehfl.flower import for_flower
from ehfl.run_folder import RunFolder
from ehfl.scheduling import Participation

SPEC = [
    "scheduler=myopic", "seeds=[3]", "rounds=3", "target=2", "fleet.clients=3", "fleet.initial=1", "fleet.capacity=2",
    "learning.step_size=nominal-causal", "evaluation.every=2", "flower.deadline=60",
]  # fmt: skip
CHOSEN = [[1, 2], [0, 1], []]  # under this seed


def weights(folder: Path) -> Tensor:
    return nn.utils.parameters_to_vector(load_model(folder).parameters()).detach()


@pytest.mark.slow
def test_three_nodes_play_the_rounds_of_one_process_and_their_folders_are_read_together(tmp_path: Path) -> None:
    here = read_spec(None, SPEC)
    on_flower = for_flower(here)
    assert [outcome.error for outcome in run_all(here, tmp_path / "runs" / here.name, jobs=1)] == [None]

    with running(tmp_path, on_flower) as deployed:
        deployed.wait_for_end(240)

    alone = RunFolder(tmp_path / "runs" / here.name / here.runs()[0].folder_name)
    one, other = Participation.load(alone.participation), Participation.load(deployed.run.participation)
    assert [one.clients(t).tolist() for t in range(3)] == [other.clients(t).tolist() for t in range(3)] == CHOSEN
    np.testing.assert_array_equal(other.energy, one.energy)
    np.testing.assert_array_equal(other.spent, one.spent)
    assert other.totals == one.totals
    assert all(seen.lost == {} for seen in deployed.devices())
    torch.testing.assert_close(weights(deployed.run.path), weights(alone.path), rtol=1e-6, atol=1e-7)

    compared = read_results([tmp_path / "runs" / name for name in (here.name, on_flower.name)])
    assert [arm.name for arm in compared.comparison.arms] == ["demo: myopic", "demo-flower: myopic on Flower"]
