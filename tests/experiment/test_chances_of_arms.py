"""Arms whose aggregation wants to know how likely clients are to take part: found once, told, kept with the run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ehfl.cli import main
from ehfl.experiment import make_spec, run_all
from ehfl.experiment.check import notes_on
from ehfl.experiment.spec import build
from ehfl.learning import FedAu, InverseProbability
from ehfl.runs import RunFolder
from ehfl.validation import InvalidValue

FACTS: dict[str, Any] = {
    "rounds": 6,
    "seeds": 2,
    "arms": [{"scheduler": "greedy"}, {"scheduler": "round-robin:2"}],
    "fleet": {"clients": 4, "rate": [0.2, 0.4, 0.6, 0.8], "capacity": 1},
    "learning": {"task": "quadratic", "aggregation": "inverse-probability"},
}


@pytest.fixture(autouse=True)
def _few_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_ESTIMATED_ROUNDS", 240)
    build.forget()


def settings(**changes: Any) -> list[Any]:
    return [arm.setting for arm in make_spec(FACTS | changes).arms]


def test_auto_is_what_fleet_and_scheduler_make_it() -> None:
    greedy, by_turns = (build.aggregation_of(setting) for setting in settings())

    assert greedy == InverseProbability((0.2, 0.4, 0.6, 0.8))
    # By turns: clients 0 and 1 in even rounds, 2 and 3 in odd ones, whoever can pay of those who have gathered since.
    # In rounds 1, 3, 5 clients 2 and 3 can pay with 0.6 (once) or 1 - 0.4^2; 0 and 1 in rounds 2 and 4, so that of
    # five rounds they take part in 2 (1 - 0.8^2) / 5 and 2 (1 - 0.6^2) / 5.
    exact = [2 * 0.36 / 5, 2 * 0.64 / 5, (0.6 + 2 * 0.84) / 5, (0.8 + 2 * 0.96) / 5]
    assert isinstance(by_turns, InverseProbability) and not isinstance(by_turns.probabilities, str)
    # At most three draws in five rounds, a deviation of at most 0.17 a seed: five times that over 40 seeds is 0.14.
    np.testing.assert_allclose(by_turns.probabilities, exact, atol=0.14)


def test_charging_losses_are_in_the_probabilities() -> None:
    joules = {"capacity": "10 J", "cost": "1 J", "quantum": "1 J", "arrival": "1 J", "round_length": "1 min"}
    fleet = {"clients": 4, "rate": 0.6, "efficiency": [1.0, 0.5, 0.5, 0.2], **joules}
    found = build.aggregation_of(settings(rounds=101, fleet=fleet)[0])

    assert isinstance(found, InverseProbability) and not isinstance(found.probabilities, str)
    # 20 seeds of 100 rounds: five standard errors are 5 sqrt(0.24 / 2,000) = 0.055 at most
    np.testing.assert_allclose(found.probabilities, [0.6, 0.3, 0.3, 0.12], atol=0.055)


def test_what_was_given_stays_and_others_want_none() -> None:
    given = {"name": "inverse-probability", "probabilities": [0.5, 0.5, 0.5, 1]}

    assert build.aggregation_of(settings(learning={"aggregation": given})[0]) == InverseProbability(
        (0.5, 0.5, 0.5, 1.0)
    )
    assert build.aggregation_of(settings(learning={"aggregation": "fedau"})[0]) == FedAu()


def test_they_are_found_once_for_all_seeds_of_an_arm() -> None:
    first, again = (build.chances_of(settings()[1]) for _ in range(2))
    other = build.chances_of(settings(rounds=7)[1])

    assert first is again
    assert other is not first


def test_a_run_keeps_the_probabilities_that_it_was_trained_with(tmp_path: Path) -> None:
    outcomes = run_all(make_spec(FACTS), tmp_path, jobs=1)

    assert [one.error for one in outcomes] == [None] * 4
    exact = RunFolder(tmp_path / "greedy-s1").meta()["probabilities"]
    assert exact == {"exact": True, "seeds": 0, "relative_error": 0.0, "values": [0.2, 0.4, 0.6, 0.8]}
    estimated = [RunFolder(tmp_path / f"round-robin-2-s{seed}").meta()["probabilities"] for seed in (0, 1)]
    assert estimated[0] == estimated[1]
    assert not estimated[0]["exact"] and 0 < estimated[0]["relative_error"] < 0.3
    assert "probabilities" not in RunFolder(tmp_path / "greedy-s1").facts()  # type: ignore[operator]


def test_the_user_is_told_how_well_they_are_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lines = list(notes_on(make_spec(FACTS)))
    words = (
        "train --clients 2 --rate 0.5 --rounds 3 --task quadratic --scheduler greedy --aggregation inverse-probability"
    )
    with pytest.raises(SystemExit) as end:
        main(words.split())

    assert not end.value.code
    assert lines[0] == "greedy: chances of taking part are exact"
    assert lines[1].startswith("round-robin:2: chances of taking part are estimated from 40 seeds (error up to ")
    assert "greedy: chances of taking part are exact" in capsys.readouterr().err.splitlines()
    assert list(notes_on(make_spec(FACTS | {"learning": {"task": "quadratic"}}))) == []


def test_a_client_that_never_takes_part_is_refused_before_anything_is_written(tmp_path: Path) -> None:
    spec = make_spec(FACTS | {"fleet": {"clients": 4, "rate": [0.2, 0.4, 0.6, 0.0]}})

    with pytest.raises(InvalidValue) as refused:
        run_all(spec, tmp_path / "runs", jobs=1)

    assert str(refused.value) == (
        "learning.aggregation.probabilities must be above 0 for every client, got 0 for client 3, who never takes "
        "part: its weight would be infinite"
    )
    assert not (tmp_path / "runs").exists()
