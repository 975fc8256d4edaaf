"""What a user is told before runs start."""

from __future__ import annotations

from pathlib import Path

import pytest

from ehfl.experiment import read_spec, run_all
from ehfl.experiment.check import notes_on
from ehfl.learning import memory
from ehfl.learning.memory import Rows
from ehfl.validation import InvalidValue

SMALL = ["learning.task=quadratic", "learning.step_size=0.1", "rounds=2", "evaluation.every=2", "seeds=1"]
ARMS = "arms=[{label='a', aggregation='mifa'}, {label='b', aggregation='scaffold'}, {label='c'}, {label='d', aggregation='mifa'}]"  # noqa: E501


def test_the_memory_of_an_aggregation_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec, notes = read_spec(overrides=[*SMALL, "fleet.clients=10", ARMS]), []  # type: ignore[var-annotated]
    run_all(spec, tmp_path / "runs", jobs=1, on_note=notes.append)

    # 10 clients, 20 weights of 4 bytes each; two arms with mifa
    told = "remembers a model of each of 10 clients: up to 800 B a run, in memory, and twice in its checkpoints"
    assert notes == [f"mifa {told}", f"scaffold {told}"]
    monkeypatch.setattr(memory, "MOST_IN_MEMORY", 799)
    # 2 rounds of 5 clients between checkpoints: 10 + 2 * 10 vectors
    told = "up to 800 B a run, in files of its folder, about 2.4 kB while it runs"
    assert next(notes_on(spec)).endswith(told)


def test_nothing_is_told_of_aggregations_that_remember_nothing() -> None:
    assert not list(notes_on(read_spec(overrides=[*SMALL, "learning.aggregation=fedprox"])))


def test_memory_that_does_not_fit_is_refused_under_the_key_of_its_arm(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Rows, "full_size", 10**18)

    with pytest.raises(InvalidValue, match=r"^arms\[1\].learning.aggregation must be one whose memory .* got Mifa \("):
        run_all(read_spec(overrides=[*SMALL, ARMS]), tmp_path / "runs")
    assert not (tmp_path / "runs").exists()
