"""Comparisons that on_round stops, and that are extended to more rounds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ehfl
from ehfl.learning import memory
from ehfl.runs import OtherRun, RunFolder, read_history

SPEC: dict[str, Any] = {
    "name": "small", "seeds": 2, "schedulers": ["myopic", "greedy"], "fleet": {"clients": 4},
    "learning": {"task": "quadratic", "step_size": 0.1, "local_steps": 2}, "evaluation": {"every": 2},
    "checkpoint_every": 3,
}  # fmt: skip


def weights(folder: Path) -> list[Any]:
    return [ehfl.load_model(folder / "small" / run).state_dict()["x"].numpy() for run in ("myopic-s0", "greedy-s1")]


def test_a_comparison_goes_on_for_more_rounds(tmp_path: Path) -> None:
    ehfl.compare(SPEC, rounds=10, runs=tmp_path / "whole", jobs=1)

    short = ehfl.compare(SPEC, rounds=4, runs=tmp_path / "longer", jobs=1)
    found = ehfl.compare(SPEC, rounds=10, runs=tmp_path / "longer", jobs=1)

    assert not short.missing and not found.missing
    for one, other in zip(weights(tmp_path / "whole"), weights(tmp_path / "longer"), strict=True):
        assert np.array_equal(one, other)
    assert found.rows[0].final == ehfl.read(tmp_path / "whole" / "small").rows[0].final


def test_an_extension_that_would_change_its_rounds_is_refused_and_changes_nothing(tmp_path: Path) -> None:
    ehfl.compare(SPEC, rounds=4, runs=tmp_path, jobs=1, step_size="theorem")

    with pytest.raises(OtherRun, match=r"its step sizes \(theorem\) depend on the number of rounds"):
        ehfl.compare(SPEC, rounds=10, runs=tmp_path, jobs=1, step_size="theorem")
    assert not ehfl.read(tmp_path / "small").missing


def test_an_extension_whose_memory_of_clients_was_deleted_is_refused_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "MOST_IN_MEMORY", 0)
    ehfl.compare(SPEC, rounds=4, runs=tmp_path, jobs=1, aggregation="mifa")

    with pytest.raises(OtherRun, match=r"its files of the clients' memory were deleted when it finished"):
        ehfl.compare(SPEC, rounds=10, runs=tmp_path, jobs=1, aggregation="mifa")
    assert not ehfl.read(tmp_path / "small").missing


def test_on_round_stops_a_run_which_is_kept_and_can_go_on(tmp_path: Path) -> None:
    def stop(record: Any, model: Any, run: Any) -> Any:
        return ehfl.STOP if run.arm.label == "greedy" and record.round == 2 else None

    found = ehfl.compare(SPEC, rounds=6, runs=tmp_path, jobs=1, on_round=stop)

    assert [one.error for one in found.missing] == ["on_round stopped it after 3 of 6 rounds"] * 2
    folder = RunFolder(tmp_path / "small" / "greedy-s0")
    assert len(read_history(folder.rounds)) == 3
    assert not ehfl.compare(SPEC, rounds=6, runs=tmp_path, jobs=1).missing
