"""The examples of "What you can bring" in docs/learning.md, trained until they are good."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from brought_page import brought

from ehfl import Bernoulli, Fleet, Myopic, simulate
from ehfl.learning import check_task, train

GOOD = 0.8


@pytest.fixture(scope="module")
def examples(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return brought(tmp_path_factory.mktemp("page"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["batch norm, epochs", "local means", "transformer, AdamW", "frozen layers", "augmented, by writer"]
)
def test_it_trains_well_and_the_same_for_any_number_of_workers_and_after_a_kill(
    examples: dict[str, Any], name: str, tmp_path: Path
) -> None:
    def stop(record: Any) -> None:
        if record.round == 25:
            raise KeyboardInterrupt

    kind, how = examples[name]
    task, played = kind(), simulate(Fleet(clients=10, harvest=Bernoulli(0.5)), Myopic(5), rounds=40, seed=0)
    check_task(task)

    runs = [train(task, played, **how, workers=workers) for workers in (1, 2, 3)]
    with pytest.raises(KeyboardInterrupt):
        train(task, played, **how, run_dir=tmp_path, on_round=stop)
    runs.append(train(task, played, **how, run_dir=tmp_path))

    assert (runs[0].final_metric or 0) > GOOD
    assert all(np.array_equal(run.weights, runs[0].weights) for run in runs)
    assert all(run.records == runs[0].records for run in runs)
