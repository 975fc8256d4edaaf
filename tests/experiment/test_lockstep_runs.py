"""Runs whose scheduler chooses by losses: decided while they are trained, through interruptions, beside other arms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ehfl import Bernoulli, Fleet, Lockstep, PowerOfChoice, simulate, train
from ehfl.analysis import read
from ehfl.experiment import Run, check_comparison, execute, inputs_of, make_spec, run_all
from ehfl.experiment.run.execute import Cores
from ehfl.runs import Record, RunFolder, read_history
from ehfl.scheduling import Participation

ROUNDS = 25  # checkpoints are written after 10 and 20 rounds
FACTS: dict[str, Any] = {
    "rounds": ROUNDS,
    "seeds": [2],
    "arms": [
        {"scheduler": {"name": "power-of-choice", "target": 2, "candidates": 4}, "step_size": "nominal-causal"},
        {"scheduler": "greedy"},
    ],
    "fleet": {"clients": 8, "rate": 0.75, "capacity": 3},
    "learning": {"task": "quadratic", "partition": "shards:2"},
}
NAME = "power-of-choice-target-2-candidates-4-s2"


def interrupted_in(round_: int, run: Run, folder: RunFolder) -> None:
    def stop(record: Record) -> None:
        if record.round == round_:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        execute(run, folder, Cores(1), inputs_of(run, check_comparison(run.spec)[run.arm.label]), stop)


def numbers(folder: Path) -> dict[str, object]:
    """Return all that must be the same to the last bit."""
    played = Participation.load(folder / "participation.npz")
    assert played.energy is not None
    return {
        "rounds": read_history(folder / "rounds.jsonl"),
        "model": (folder / "checkpoint.safetensors").read_bytes(),
        "clients": [played.clients(t).tolist() for t in range(ROUNDS)],
        "spent": played.spent.tolist(),
        "energy": played.energy.tolist(),
        "totals": played.totals,
    }


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("undisturbed")
    assert [outcome.error for outcome in run_all(make_spec(FACTS), folder, jobs=1)] == [None, None]
    return folder


def test_it_is_what_training_in_lockstep_gives(undisturbed: Path) -> None:
    fleet = Fleet(8, Bernoulli(0.75), capacity=3)
    decided = Lockstep(fleet, PowerOfChoice(target=2, candidates=4), ROUNDS, seed=2)

    history = train("quadratic", decided, seed=2, partition="shards:2", step_size="nominal-causal", eval_every=5)

    assert read_history(undisturbed / NAME / "rounds.jsonl") == list(history.records)
    assert history.records[-1].losses is not None and len(history.records[-1].losses) == 2


def test_the_losses_decide_who_takes_part(undisturbed: Path) -> None:
    blind = simulate(Fleet(8, Bernoulli(0.75), capacity=3), PowerOfChoice(target=2, candidates=4), ROUNDS, seed=2)

    clients = numbers(undisturbed / NAME)["clients"]

    assert clients != [blind.clients(t).tolist() for t in range(ROUNDS)]


def test_interrupted_again_and_again_it_ends_with_the_same_bits(undisturbed: Path, tmp_path: Path) -> None:
    """Before the first checkpoint, in the round after it, and before the last."""
    run = make_spec(FACTS).runs()[0]
    for round_ in (4, 10, 13, 22):
        interrupted_in(round_, run, RunFolder(tmp_path / NAME))

    assert [outcome.error for outcome in run_all(make_spec(FACTS), tmp_path, jobs=1)] == [None, None]

    assert numbers(tmp_path / NAME) == numbers(undisturbed / NAME)


def test_it_is_compared_pair_by_pair_with_arms_that_were_played_before_training(undisturbed: Path) -> None:
    found = read(undisturbed)

    assert found.shared == ("weather", "data", "first model")
    assert [row.seeds for row in found.rows] == [1, 1]
    assert found.rows[1].difference is not None
    assert {arm.trials[0].participation.totals.harvested for arm in found.arms} == {
        simulate(Fleet(8, Bernoulli(0.75), capacity=3), PowerOfChoice(), ROUNDS, seed=2).totals.harvested
    }
