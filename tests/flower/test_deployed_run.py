"""The same spec and seed on three real nodes and in one process: the same rounds, and folders that fit together."""

from __future__ import annotations

from pathlib import Path

import pytest

from deployed import assert_same_run, played_in_process, running
from ehfl.analysis import read
from ehfl.experiment import read_spec
from ehfl.flower import for_flower

SPEC = [
    "scheduler=myopic", "seeds=[3]", "rounds=3", "target=2", "fleet.clients=3", "fleet.initial=1", "fleet.capacity=2",
    "learning.step_size=nominal-causal", "learning.aggregation=scaffold", "evaluation.every=2", "flower.deadline=60",
]  # fmt: skip
CHOSEN = [(1, 2), (0, 1), ()]  # under this seed


@pytest.mark.slow
def test_three_nodes_play_the_rounds_of_one_process_and_their_folders_are_read_together(tmp_path: Path) -> None:
    here = read_spec(None, SPEC)
    on_flower = for_flower(here)
    alone = played_in_process(here, tmp_path)

    with running(tmp_path, on_flower) as deployed:
        deployed.wait_for_end(300)

    assert_same_run(deployed.run, alone)
    assert [seen.took_part for seen in deployed.devices()] == CHOSEN
    assert all(seen.lost == {} for seen in deployed.devices())
    compared = read(*(tmp_path / "runs" / name for name in (here.name, on_flower.name)))
    assert [arm.name for arm in compared.arms] == ["demo: myopic", "demo-flower: myopic on Flower"]
