"""The file that a participation is kept in: what comes back, what is refused, and what a refusal may cost."""

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
from ehfl.energy import Bernoulli, EnergyTotals, Fleet
from ehfl.randomness import TILE
from ehfl.scheduling import AlwaysOn, Greedy, Myopic, Participation, Play, View, simulate
from ehfl.scheduling.participation import PackedClients, pack
from ehfl.validation import UserError


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
        participants=np.array([0], np.int32),
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


def test_saving_again_replaces_the_file(tmp_path: Path) -> None:
    played().save(tmp_path / "participation.npz")
    other = played(record_energy=True)
    other.save(tmp_path / "participation.npz")

    assert_same(Participation.load(tmp_path / "participation.npz"), other)


def test_a_save_that_fails_leaves_nothing_behind(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    with pytest.raises(OSError, match="folder"):
        played().save(tmp_path / "folder")
    with pytest.raises(OSError, match="missing"):
        played().save(tmp_path / "missing" / "participation.npz")

    assert [path.name for path in tmp_path.rglob("*")] == ["folder"]


def test_a_save_that_fails_midway_keeps_the_file_that_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def write_half(file: io.BufferedWriter, **_: object) -> None:
        file.write(b"half")
        raise OSError("disk full")

    path = tmp_path / "participation.npz"
    original = played(record_energy=True)
    original.save(path)
    monkeypatch.setattr(np, "savez_compressed", write_half)
    with pytest.raises(OSError, match="disk full"):
        played().save(path)

    assert_same(Participation.load(path), original)
    assert list(tmp_path.iterdir()) == [path]


def rewrite(
    path: Path, facts: dict[str, object] | None = None, without: str = "", **arrays: NDArray[np.generic]
) -> None:
    """Save a participation with some of its contents replaced, and without one of its facts."""
    played().save(path)
    with np.load(path) as stored:
        content = {name: stored[name] for name in stored.files}
    old = json.loads(str(content.pop("facts")))
    old.pop(without, None)
    with path.open("wb") as file:
        np.savez(file, facts=np.array(json.dumps(old | (facts or {}))), **(content | arrays))


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


FOREIGN: dict[str, tuple[Callable[[Path], object], str]] = {
    "other arrays": (lambda path: np.savez(path, weights=np.ones(3)), "facts"),
    "a pickle": (lambda path: path.write_bytes(pickle.dumps({"offsets": [0]})), "pickle"),
    "pickled": (write_pickled_array, "Object arrays cannot be loaded"),
    "one array": (write_single_array, ""),
    "empty": (Path.touch, "No data left in file"),
    "cut": (write_truncated, ""),
    "overwritten": (write_damaged, ""),
    "other format": (lambda path: rewrite(path, facts={"format": 99}), "format 99"),
    "no target": (lambda path: rewrite(path, without="target"), "target"),
    "no totals": (lambda path: rewrite(path, without="totals"), "totals"),
    "unknown array": (lambda path: rewrite(path, surprise=np.zeros(3)), "surprise"),
}


@pytest.mark.parametrize(("write", "why"), FOREIGN.values(), ids=FOREIGN)
def test_a_file_of_another_kind_is_refused_by_name(tmp_path: Path, write: Callable[[Path], object], why: str) -> None:
    path = tmp_path / "other.npz"
    write(path)

    with pytest.raises(UserError, match=r"other\.npz is not a participation file: .") as refused:
        Participation.load(path)

    assert why in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1


def test_a_large_fleets_packed_rounds_are_saved_and_come_back(tmp_path: Path) -> None:
    """Round 0 is empty, many take part in most rounds, and few in every fourth: a bit a client, or their numbers."""

    class Changing:
        def select(self, view: View) -> IntArray:
            return view.able()[:: 300 if view.round % 4 == 3 else 1]

    fleet = Fleet(TILE + 301, Bernoulli(0.5))
    rounds = [one.clients.copy() for one in Play(fleet, Changing(), rounds=9, seed=5)]
    original = simulate(fleet, Changing(), rounds=9, seed=5)
    original.save(tmp_path / "participation.npz")
    loaded = Participation.load(tmp_path / "participation.npz")

    assert isinstance(original.participants, PackedClients)
    assert {kept.dtype for kept in original.participants.rounds} == {np.dtype(np.uint8), np.dtype(np.int32)}
    for t, clients in enumerate(rounds):
        assert np.array_equal(original.clients(t), clients) and original.clients(t).dtype == np.int32
    assert_same(loaded, original)
    assert np.array_equal(loaded.turns(), original.turns())
    assert np.array_equal(loaded.weight_sums(), original.weight_sums())
    assert np.array_equal(loaded.took_part(), original.took_part())


@pytest.mark.parametrize("n_clients", [1, 8, 23, TILE, TILE + 1, 3 * TILE + 77])
@pytest.mark.parametrize("share", [0.0, 0.01, 0.5, 1.0])
def test_packing_loses_nothing_and_takes_less_memory(n_clients: int, share: float) -> None:
    clients = np.flatnonzero(np.random.default_rng(1).random(n_clients) < share).astype(np.int32)
    packed = pack(clients, n_clients)

    assert np.array_equal(PackedClients(n_clients, (packed,)).clients(0), clients)
    assert packed is not clients and packed.nbytes == min(clients.nbytes, -(-n_clients // 8))


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
