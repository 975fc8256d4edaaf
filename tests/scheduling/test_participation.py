"""A participation: its compact form, its figures worked by hand, and the file that it is kept in."""

import io
import json
import math
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ehfl.arrays import IntArray
from ehfl.energy import Bernoulli, EnergyTotals, Fleet, Replay
from ehfl.scheduling import AlwaysOn, Greedy, Myopic, Participation, View, simulate
from ehfl.scheduling.summary import jain


class AllButOne:
    """Greedy, but client 1 never takes part."""

    def select(self, view: View) -> IntArray:
        able = np.flatnonzero(view.energy >= view.cost)
        others: IntArray = able[able != 1]
        return others

    def __repr__(self) -> str:
        return "AllButOne()"


@pytest.fixture
def worked() -> Participation:
    """Three clients, capacity 2; N_t = {}, {0, 2}, {0}, {2}, and 0, 2, 0 units are left."""
    arrivals = [[1, 0, 1], [1, 0, 0], [0, 2, 1], [0, 3, 0]]
    fleet = Fleet(clients=3, harvest=Replay(arrivals), capacity=2)
    return simulate(fleet, AllButOne(), rounds=4, seed=9)


def assert_same(one: Participation, other: Participation) -> None:
    for name in ("n_clients", "totals", "target", "scheduler", "seed", "rounds", "mains_powered", "unit"):
        assert getattr(one, name) == getattr(other, name)
    for name in ("offsets", "indices", "spent", "final_energy"):
        assert np.array_equal(getattr(one, name), getattr(other, name))
        assert getattr(one, name).dtype == getattr(other, name).dtype
    assert (one.energy is None) == (other.energy is None)
    if one.energy is not None and other.energy is not None:
        assert np.array_equal(one.energy, other.energy)


def played(*, record_energy: bool = False) -> Participation:
    fleet = Fleet(clients=7, harvest=Bernoulli(0.4), capacity=3, initial=1)
    return simulate(fleet, Myopic(target=2), rounds=30, seed=2**64 - 1, record_energy=record_energy)


# form


def test_rounds_are_kept_as_offsets_and_indices(worked: Participation) -> None:
    assert worked.offsets.tolist() == [0, 0, 2, 3, 4]
    assert worked.indices.tolist() == [0, 2, 0, 2]
    assert worked.counts.tolist() == [0, 2, 1, 1]
    assert [worked.clients(t).tolist() for t in range(4)] == [[], [0, 2], [0], [2]]
    assert worked.turns().tolist() == [2, 0, 2]
    assert (worked.rounds, worked.n_clients) == (4, 3)
    assert worked.spent.tolist() == [0, 2, 1, 1]


def test_numbers_are_held_in_four_bytes(worked: Participation) -> None:
    arrays = (worked.offsets, worked.indices, worked.counts, worked.clients(1), worked.final_energy)

    assert [array.dtype for array in arrays] == [np.dtype(np.int32)] * 5


@pytest.mark.parametrize("t", [-1, 4])
def test_a_round_that_was_not_played_is_refused(worked: Participation, t: int) -> None:
    with pytest.raises(IndexError, match=rf"round must be in \[0, 3\], got {t}"):
        worked.clients(t)


def test_energy_is_accounted_for(worked: Participation) -> None:
    totals = worked.totals

    assert (totals.initial, totals.harvested, totals.spent, totals.stored, totals.wasted) == (0, 9, 4, 2, 3)
    assert worked.final_energy.tolist() == [0, 2, 0]


# figures


def test_the_summary_is_what_comes_out_by_hand(worked: Participation) -> None:
    figures = worked.summary(target=2)

    assert figures.as_dict() == {
        "scheduler": "AllButOne()",
        "clients": 3,
        "rounds": 4,
        "target": 2,
        "mean": 1.0,
        "std": pytest.approx(math.sqrt(0.5)),
        "min": 0,
        "max": 2,
        "empty_rounds": 1,
        "on_target": 0.25,
        "shortfall": 1.0,  # (2 + 0 + 1 + 1) / 4
        "waste": pytest.approx(3 / 9),
        "used": pytest.approx(4 / 9),
        "fairness": pytest.approx(16 / (3 * 8)),  # turns 2, 0, 2
    }


def test_shortfall_is_against_the_target_given(worked: Participation) -> None:
    assert [worked.summary(target=n).shortfall for n in (1, 2, 3)] == [0.25, 1.0, 2.0]
    assert [worked.summary(target=n).on_target for n in (1, 2, 3)] == [0.75, 0.25, 0.0]


def test_the_target_is_the_one_that_was_played_for_unless_another_is_given(worked: Participation) -> None:
    assert worked.summary().target == 2  # floor of 2/4 + min(5/4, 1) + 2/4
    fleet = Fleet(clients=3, harvest=Bernoulli(0.5))
    assert simulate(fleet, Greedy(), rounds=2, target=3).summary().target == 3


@pytest.mark.parametrize("target", [0, 4])
def test_a_target_that_the_fleet_cannot_have_is_refused(worked: Participation, target: int) -> None:
    with pytest.raises(ValueError, match=rf"target must be a whole number in \[1, 3\], got {target}"):
        worked.summary(target=target)


def test_jains_index_goes_from_one_for_all_to_one_for_one() -> None:
    assert jain(np.array([3, 3, 3])) == 1.0
    assert jain(np.array([0, 5, 0, 0, 0])) == pytest.approx(0.2)
    assert jain(np.array([1, 2, 3])) == pytest.approx(36 / 42)
    assert jain(np.array([0, 0])) == 1.0


def test_a_fleet_without_energy_has_figures_too() -> None:
    figures = simulate(Fleet(clients=2, harvest=Bernoulli(0.0)), Greedy(), rounds=3).summary()

    assert (figures.mean, figures.waste, figures.used, figures.fairness, figures.empty_rounds) == (0, 0, 0, 1, 3)


def test_the_share_of_energy_used_is_of_energy_where_costs_differ() -> None:
    """Client 0 pays 1 twice, client 1 pays 4 once, of 4 + 6 units there were."""
    fleet = Fleet(clients=2, harvest=Replay([[0, 2], [0, 0]]), initial=[4, 4], cost=[1, 4])
    played = simulate(fleet, Greedy(), rounds=2)

    assert played.spent.tolist() == [5, 1]
    assert played.summary().used == pytest.approx(6 / 10)


def test_the_summary_prints_a_line_for_each_figure(worked: Participation) -> None:
    lines = str(worked.summary(target=2)).splitlines()

    assert len(lines) == 14
    assert "empty rounds  1" in lines
    assert "fairness      0.6667" in lines


def test_the_summary_goes_into_json(worked: Participation) -> None:
    assert json.loads(json.dumps(worked.summary().as_dict()))["mean"] == 1.0


# file


@pytest.mark.parametrize("record_energy", [False, True])
def test_what_is_saved_is_what_is_loaded(tmp_path: Path, record_energy: bool) -> None:
    original = played(record_energy=record_energy)
    original.save(tmp_path / "participation.npz")

    assert_same(Participation.load(tmp_path / "participation.npz"), original)
    assert [path.name for path in tmp_path.iterdir()] == ["participation.npz"]


def test_mains_power_the_unit_and_costs_of_each_client_are_saved_and_loaded(tmp_path: Path) -> None:
    fleet = Fleet(clients=3, harvest=Bernoulli(0.4), capacity=[2, math.inf, 4], cost=[1, 2, 3], unit="mJ")
    original = simulate(fleet, AlwaysOn(target=2), rounds=5, seed=1, target=3)
    original.save(tmp_path / "participation.npz")
    loaded = Participation.load(tmp_path / "participation.npz")

    assert_same(loaded, original)
    assert (loaded.mains_powered, loaded.unit, loaded.target) == (True, "mJ", 3)
    assert loaded.spent.sum() == loaded.totals.mains > 0
    assert loaded.summary() == original.summary()


def test_a_participation_made_by_hand_is_in_units_and_on_batteries() -> None:
    made = Participation(
        n_clients=1,
        offsets=np.array([0, 1]),
        indices=np.array([0], np.int32),
        spent=np.array([1]),
        final_energy=np.array([0], np.int32),
        totals=EnergyTotals(1, 0, 1, 0, 0, 0),
        target=1,
        scheduler="ByHand()",
        seed=0,
    )

    assert (made.unit, made.mains_powered, made.energy) == ("units", False, None)


def test_numbers_of_numpys_own_types_can_be_saved(tmp_path: Path) -> None:
    fleet = Fleet(clients=np.int64(3), harvest=Bernoulli(0.5), cost=np.int64(1))  # type: ignore[arg-type]
    original = simulate(fleet, Greedy(), rounds=np.int64(5), seed=np.int64(2))  # type: ignore[arg-type]
    original.save(tmp_path / "participation.npz")

    assert_same(Participation.load(tmp_path / "participation.npz"), original)


def test_the_file_has_the_name_it_was_given(tmp_path: Path) -> None:
    played().save(str(tmp_path / "no-suffix"))

    assert [path.name for path in tmp_path.iterdir()] == ["no-suffix"]


def test_the_file_holds_no_pickle(tmp_path: Path) -> None:
    played(record_energy=True).save(tmp_path / "participation.npz")

    with np.load(tmp_path / "participation.npz", allow_pickle=False) as stored:
        assert sorted(stored.files) == ["energy", "facts", "final_energy", "indices", "offsets", "spent"]
        assert all(stored[name].dtype != object for name in stored.files)


def test_saving_again_replaces_the_file(tmp_path: Path, worked: Participation) -> None:
    played().save(tmp_path / "participation.npz")
    worked.save(tmp_path / "participation.npz")

    assert_same(Participation.load(tmp_path / "participation.npz"), worked)


def test_a_save_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        played().save(tmp_path / "folder")
    with pytest.raises(OSError, match="missing"):
        played().save(tmp_path / "missing" / "participation.npz")

    assert [path.name for path in tmp_path.rglob("*")] == ["folder"]


def test_a_save_that_fails_midway_keeps_the_file_that_was_there(
    tmp_path: Path, worked: Participation, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_half(file: io.BufferedWriter, **_: object) -> None:
        file.write(b"half")
        raise OSError("disk full")

    path = tmp_path / "participation.npz"
    worked.save(path)
    monkeypatch.setattr(np, "savez_compressed", write_half)
    with pytest.raises(OSError, match="disk full"):
        played().save(path)

    assert_same(Participation.load(path), worked)
    assert list(tmp_path.iterdir()) == [path]


def write_foreign(path: Path) -> None:
    np.savez(path, weights=np.ones(3))


def write_pickle(path: Path) -> None:
    path.write_bytes(pickle.dumps({"offsets": [0]}))


def write_pickled_array(path: Path) -> None:
    np.savez(path, facts=np.array([{"format": 2}], dtype=object))


def write_single_array(path: Path) -> None:
    with path.open("wb") as file:
        np.save(file, np.ones(3))


def write_truncated(path: Path) -> None:
    played().save(path)
    path.write_bytes(path.read_bytes()[:-100])


def write_damaged(path: Path) -> None:
    """Overwrite the compressed numbers and leave the archive around them whole."""
    played(record_energy=True).save(path)
    content = bytearray(path.read_bytes())
    at = content.index(b"indices.npy") + 60
    content[at : at + 40] = b"\xff" * 40
    path.write_bytes(content)


def write_other_format(path: Path) -> None:
    rewrite(path, facts={"format": 99})


def write_without_target(path: Path) -> None:
    rewrite(path, without="target")


def write_other_rounds(path: Path) -> None:
    rewrite(path, spent=played().spent[:-1])


def write_other_levels(path: Path) -> None:
    rewrite(path, facts={"has_energy": True}, energy=np.zeros((3, 7), np.int32))


def write_unknown_array(path: Path) -> None:
    rewrite(path, surprise=np.zeros(3, np.int32))


def write_without_rounds(path: Path) -> None:
    rewrite(path, offsets=np.zeros(0, np.int32))


def write_stranger(path: Path) -> None:
    rewrite(path, indices=np.full(played().indices.size, 7, np.int32))


def write_missing_indices(path: Path) -> None:
    rewrite(path, indices=played().indices[:-1])


def write_other_clients(path: Path) -> None:
    rewrite(path, final_energy=np.zeros(3, np.int32))


def rewrite(
    path: Path, facts: dict[str, object] | None = None, without: str = "", **arrays: NDArray[np.integer]
) -> None:
    """Save a participation with some of its contents replaced, and without one of its facts."""
    played().save(path)
    with np.load(path) as stored:
        content = {name: stored[name] for name in stored.files}
    old = json.loads(str(content.pop("facts")))
    old.pop(without, None)
    with path.open("wb") as file:
        np.savez(file, facts=np.array(json.dumps(old | (facts or {}))), **(content | arrays))


@pytest.mark.parametrize(
    "write",
    [
        write_foreign,
        write_pickle,
        write_pickled_array,
        write_single_array,
        write_truncated,
        write_damaged,
        write_other_format,
        write_without_target,
        write_other_rounds,
        write_other_levels,
        write_unknown_array,
        write_without_rounds,
        write_stranger,
        write_missing_indices,
        write_other_clients,
        Path.touch,
    ],
)
def test_a_file_of_another_kind_is_refused_by_name(tmp_path: Path, write: Callable[[Path], None]) -> None:
    path = tmp_path / "other.npz"
    write(path)

    with pytest.raises(ValueError, match=r"other\.npz is not a participation file: "):
        Participation.load(path)


@pytest.mark.parametrize("number", [1, 3])
def test_a_file_of_another_format_is_refused_by_its_number(tmp_path: Path, number: int) -> None:
    """Format 1 knew neither what each round cost nor the target that was played for."""
    rewrite(tmp_path / "old.npz", facts={"format": number})

    with pytest.raises(
        ValueError, match=rf"old\.npz is not a participation file: format {number}, this version reads 2"
    ):
        Participation.load(tmp_path / "old.npz")


def test_a_byte_changed_anywhere_is_either_harmless_or_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "flipped.npz"
    original = played()
    original.save(path)
    content = path.read_bytes()
    refused = 0
    for at in range(0, len(content), 3):
        path.write_bytes(content[:at] + bytes([content[at] ^ 0x55]) + content[at + 1 :])
        try:
            loaded = Participation.load(path)
        except ValueError as error:
            assert "flipped.npz is not a participation file: " in str(error)
            refused += 1
        else:
            assert_same(loaded, original)

    assert refused > 100  # checksums cover most of the file


def test_a_file_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"absent\.npz"):
        Participation.load(tmp_path / "absent.npz")


def test_a_pickle_is_not_executed(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, tuple[Path]]:
            return Path.touch, (tmp_path / "sprung",)

    (tmp_path / "trap.npz").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ValueError, match=r"trap\.npz is not a participation file"):
        Participation.load(tmp_path / "trap.npz")

    assert not (tmp_path / "sprung").exists()


def test_a_file_that_lost_its_recorded_energy_is_refused(tmp_path: Path) -> None:
    fleet = Fleet(clients=3, harvest=Replay([[1, 0, 1]] * 4))
    simulate(fleet, Greedy(), rounds=4, record_energy=True).save(tmp_path / "p.npz")
    with np.load(tmp_path / "p.npz") as stored:
        np.savez(tmp_path / "lost.npz", **{name: stored[name] for name in stored.files if name != "energy"})

    with pytest.raises(ValueError, match=r"lost\.npz is not a participation file: the recorded energy is missing"):
        Participation.load(tmp_path / "lost.npz")
