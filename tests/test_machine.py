"""Sizes that the machine has no memory or time for: refused before anything is made, with what they would take."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from ehfl import Bernoulli, Fleet, Myopic, machine, simulate, train
from ehfl.experiment import read_spec, run_all
from ehfl.validation import InvalidValue, UserError

HUGE = 2**31 - 1


@pytest.fixture
def little(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with 2 GB left."""
    monkeypatch.setattr(machine, "free_memory", lambda: 2e9)


def fleet(clients: int = 10) -> Fleet:
    return Fleet(clients, Bernoulli(0.5))


def test_a_fleet_of_any_size_is_described_at_once() -> None:
    assert fleet(HUGE).sustainable == HUGE // 2


@pytest.mark.usefixtures("little")
def test_what_would_not_fit_into_memory_is_refused_with_what_it_would_take() -> None:
    free = r"must be small enough for the memory that is free \(2 GB\)"

    with pytest.raises(InvalidValue, match=rf"^clients {free}, got 2147483647 \(12.9 GB\)$"):
        simulate(fleet(HUGE), Myopic(), rounds=1)
    with pytest.raises(InvalidValue, match=rf"^rounds {free}, got 2147483647 \(429 GB\)$"):
        simulate(fleet(), "greedy", rounds=HUGE)
    with pytest.raises(InvalidValue, match=rf"^rounds {free}, got 1000000 \(800 GB\)$"):
        simulate(fleet(100_000), "greedy", rounds=1_000_000, record_energy=True)
    with pytest.raises(UserError, match=rf"^fleet.clients {free}, got 2000000000 \(40 GB\)$"):
        read_spec(overrides=["fleet.clients=2000000000"])
    with pytest.raises(UserError, match=rf"^fleet.clients {free}, got 2000000000 \(40 GB\)$"):
        read_spec(overrides=["fleet={clients=2000000000, capacity={low=1, high=9}}"])


@pytest.mark.usefixtures("little")
def test_so_are_more_jobs_than_workers_have_room_for(tmp_path: Path) -> None:
    spec = read_spec(overrides=["learning.task=quadratic", "rounds=2", "seeds=100"])

    with pytest.raises(InvalidValue, match=r"^jobs must be small enough .* \(2 GB\), got 300 \(30 GB\)$"):
        run_all(spec, tmp_path / "runs", jobs=300)

    assert not (tmp_path / "runs").exists()


def test_so_are_threads_that_torch_could_not_be_asked_for() -> None:
    with pytest.raises(InvalidValue, match=r"^workers must be a whole number in \[1, 1024\], got 9{20}$"):
        train("quadratic", simulate(fleet(), "greedy", rounds=2), workers=10**20 - 1)


def test_the_smallest_of_what_system_container_and_process_have_left_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, text in {
        "memory.max": "1000",
        "memory.current": "700",
        "memory.stat": "anon 5\ninactive_file 50",
    }.items():
        (tmp_path / name).write_text(f"{text}\n")

    assert machine._of_control_group(tmp_path) == 350
    assert machine._of_control_group(tmp_path / "nowhere") == math.inf
    (tmp_path / "memory.max").write_text("max\n")
    assert machine._of_control_group(tmp_path) == math.inf
    assert min(machine._of_system(), machine._of_process()) > 0
    for smallest in ("_of_system", "_of_control_group", "_of_process"):
        with monkeypatch.context() as here:
            here.setattr(machine, smallest, lambda: 7.0)
            assert machine.free_memory() == 7
