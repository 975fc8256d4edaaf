"""The player of arms and seeds: what it builds, how often, and that workers play what this process plays."""

from __future__ import annotations

import json
from collections import Counter
from functools import partial
from typing import Any

import pytest

from ehfl import Fleet
from ehfl.cli import main
from ehfl.experiment import read_spec
from ehfl.experiment.play import Game, Player, World
from ehfl.planning import Outlook
from ehfl.registry import Registry
from ehfl.scheduling import Decider

SPEC = {"rounds": 30, "seeds": 3, "schedulers": ["myopic", "greedy", "power-of-choice"], "fleet": {"clients": 6}}


def games(spec: dict[str, object]) -> list[Game[Outlook]]:
    read = read_spec(spec)
    return [
        Game(World.of(run.setting), run.seed, partial(Outlook.of, run.arm.label), run.arm.label) for run in read.runs()
    ]


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Count what is constructed."""
    found: Counter[str] = Counter()

    def count(kind: type, method: str) -> None:
        plain = getattr(kind, method)

        def counted(*given: Any, **more: Any) -> Any:
            found[kind.__name__] += 1
            return plain(*given, **more)

        monkeypatch.setattr(kind, method, counted)

    count(Fleet, "__post_init__")
    count(Decider, "__init__")
    count(Registry, "make")
    return found


def test_simulate_builds_a_fleet_once(made: Counter[str], capsys: pytest.CaptureFixture[str]) -> None:
    """It was built 8 times, with 41 calls of Registry.make and 7 Deciders."""
    with pytest.raises(SystemExit):
        main(["simulate", "--rounds", "3", "--json"])

    assert len(json.loads(capsys.readouterr().out)["schedulers"]) == 3
    assert made["Fleet"] == 1
    assert made["Decider"] <= 7
    assert made["Registry"] <= 25


def test_arms_with_fleets_of_their_own_build_one_each(made: Counter[str]) -> None:
    arms = [{"scheduler": "greedy", "label": f"{size}", "fleet.capacity": size} for size in (2, 3, 4)]

    Player().play(games({"rounds": 5, "seeds": 4, "arms": arms}))

    assert made["Fleet"] == 4  # and the one that arms change


def test_workers_play_what_this_process_plays() -> None:
    alone, together = (Player(jobs=jobs).play(games(SPEC)) for jobs in (1, 2))

    assert len(alone) == 9
    assert [one.counts.tolist() for one in together] == [one.counts.tolist() for one in alone]


def test_every_round_of_every_game_is_reported_wherever_it_is_played() -> None:
    for jobs in (1, 2):
        rounds: list[int] = []
        Player(jobs=jobs).play(games(SPEC), rounds.append)
        assert Counter(rounds) == dict.fromkeys(range(30), 9)


def test_few_rounds_start_no_workers_and_large_fleets_have_all_threads_to_themselves() -> None:
    large = {"rounds": 10**6, "seeds": 4, "schedulers": ["greedy"], "fleet": {"clients": 10**4}}
    long = large | {"fleet": {"clients": 100}}
    workers = [Player()._workers(games(spec)) for spec in (SPEC, large)]

    assert workers == [1, 1]
    assert Player(jobs=3)._workers(games(long)) == 3
    assert Player(threads=2)._workers(games(long)) == 1
