"""The file that a participation is kept in: what comes back, what is refused, and what a refusal may cost."""

import io
import json
import math
import pickle
import tracemalloc
import zipfile
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from ehfl.energy import Bernoulli, EnergyTotals, Fleet
from ehfl.scheduling import AlwaysOn, Greedy, Myopic, Participation, simulate
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


def heading(shape: tuple[int, ...], kind: str = "<i4") -> bytes:
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": kind, "fortran_order": False, "shape": shape})
    return stream.getvalue()


def with_part(path: Path, name: str, content: bytes, compression: int = zipfile.ZIP_DEFLATED) -> None:
    """Save a participation with one part of the archive replaced, or added."""
    rewrite(path)
    with zipfile.ZipFile(path) as archive:
        parts = {part.filename: archive.read(part) for part in archive.infolist()}
    with zipfile.ZipFile(path, "w", compression) as archive:
        for part, old in (parts | {name: content}).items():
            archive.writestr(part, content if part == name else old)


def write_bomb(path: Path) -> None:
    """An archive whose catalogue says that a part of some hundred bytes holds 3 GB."""
    with_part(path, "indices.npy", heading((750_000_000,)) + bytes(400))
    content = path.read_bytes()
    start = content.rindex(b"PK\x01\x02", 0, content.rindex(b"indices.npy"))
    path.write_bytes(content[: start + 24] + (3_000_000_128).to_bytes(4, "little") + content[start + 28 :])


def write_two_of_a_name(path: Path) -> None:
    rewrite(path)
    with pytest.warns(UserWarning, match="Duplicate name"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("spent.npy", archive.read("spent.npy"))


def swapped() -> NDArray[np.int32]:
    """The indices with the two clients of a round in the wrong order."""
    original = played()
    first = int(np.flatnonzero(original.counts == 2)[0])
    indices = original.indices.copy()
    at = original.offsets[first]
    indices[[at, at + 1]] = indices[[at + 1, at]]
    return indices


def repeated() -> NDArray[np.int32]:
    """The indices with one client twice in a round."""
    original = played()
    at = original.offsets[int(np.flatnonzero(original.counts == 2)[0])]
    indices = original.indices.copy()
    indices[at + 1] = indices[at]
    return indices


def moved() -> NDArray[np.int64]:
    """What the rounds cost, the first one's put on the second's account."""
    spent = played().spent.copy()
    spent[:2] = 0, spent[0] + spent[1]
    return spent


def totals(**changes: object) -> dict[str, object]:
    return {"totals": asdict(played().totals) | changes}


ONE = played()
SIZE = ONE.indices.size
FOREIGN: dict[str, tuple[Callable[[Path], object], str]] = {
    "other arrays": (lambda path: np.savez(path, weights=np.ones(3)), "it lacks facts"),
    "a pickle": (lambda path: path.write_bytes(pickle.dumps({"offsets": [0]})), "not a zip file"),
    "pickled": (write_pickled_array, "it lacks offsets"),
    "one array": (write_single_array, "not a zip file"),
    "empty": (Path.touch, "not a zip file"),
    "cut": (write_truncated, ""),
    "overwritten": (write_damaged, ""),
    "other format": (lambda path: rewrite(path, facts={"format": 99}), "format 99"),
    "no target": (lambda path: rewrite(path, without="target"), "it does not say target"),
    "no totals": (lambda path: rewrite(path, without="totals"), "it does not say totals"),
    "lost energy": (lambda path: rewrite(path, facts={"has_energy": True}), "the recorded energy is missing"),
    "unknown array": (lambda path: rewrite(path, surprise=np.zeros(3)), "it holds 'surprise'"),
    "two of a name": (write_two_of_a_name, "it holds 'spent'"),
    "facts, no JSON": (lambda path: with_part(path, "facts.npy", b""), "heading"),
    "objects": (lambda path: with_part(path, "spent.npy", heading((3,), "|O") + b"x"), "objects of Python"),
    "no heading": (lambda path: with_part(path, "spent.npy", b"\x93NUMPY\x01\x00\x04\x00[[[["), "its heading is not"),
    "huge": (lambda path: with_part(path, "spent.npy", heading((2**40,), "<i8")), "says 8796093022208 bytes"),
    "huge square": (lambda path: with_part(path, "energy.npy", heading((2**31, 2**31))), "its heading says"),
    "bomb": (write_bomb, "says of itself what cannot be"),
    "packed otherwise": (
        lambda path: with_part(path, "spent.npy", b"", zipfile.ZIP_LZMA),
        "says of itself what cannot be",
    ),
    "spent of other rounds": (lambda path: rewrite(path, spent=ONE.spent[:-1]), "spent does not fit the rounds"),
    "spent of floats": (lambda path: rewrite(path, spent=ONE.spent * 1.0), "spent has 1 axes of float64"),
    "spent moved": (lambda path: rewrite(path, spent=moved()), "spent does not fit the participants"),
    "levels of other rounds": (
        lambda path: rewrite(path, facts={"has_energy": True}, energy=np.zeros((3, 7), np.int32)),
        "energy does not fit the rounds and clients",
    ),
    "other levels": (
        lambda path: rewrite(path, facts={"has_energy": True}, energy=np.zeros((31, 7), np.int32)),
        "energy does not begin with what there was",
    ),
    "no rounds": (lambda path: rewrite(path, offsets=np.zeros(0, np.int32)), "offsets do not fit"),
    "offsets of floats": (lambda path: rewrite(path, offsets=ONE.offsets * 1.0), "offsets has 1 axes of float64"),
    "offsets in a square": (lambda path: rewrite(path, offsets=ONE.offsets[None]), "offsets has 2 axes of int32"),
    "offsets falling": (lambda path: rewrite(path, offsets=ONE.offsets[::-1].copy()), "offsets do not fit"),
    "stranger": (lambda path: rewrite(path, indices=np.full(SIZE, 7, np.int32)), "clients that do not exist"),
    "clients lost": (lambda path: rewrite(path, indices=ONE.indices[:-1]), "offsets do not fit"),
    "a client twice": (lambda path: rewrite(path, indices=repeated()), "a client twice in a round"),
    "clients in disorder": (lambda path: rewrite(path, indices=swapped()), "or are not in order"),
    "other clients": (lambda path: rewrite(path, final_energy=np.zeros(3, np.int32)), "final_energy does not fit"),
    "negative levels": (
        lambda path: rewrite(path, final_energy=np.full(7, -1, np.int32)),
        "final_energy does not fit the clients",
    ),
    "energy lost": (lambda path: rewrite(path, facts=totals(harvested=1)), "energy is missing"),
    "energy from nowhere": (
        lambda path: rewrite(path, facts=totals(stored=ONE.totals.stored + 1, harvested=ONE.totals.harvested + 1)),
        "final_energy does not add up",
    ),
    "spent by nobody": (
        lambda path: rewrite(path, facts=totals(spent=ONE.totals.spent + 1, harvested=ONE.totals.harvested + 1)),
        "what the rounds cost does not add up",
    ),
    "a total in words": (lambda path: rewrite(path, facts=totals(spent="much")), "spent is no whole number"),
    "an unknown total": (lambda path: rewrite(path, facts=totals(more=1)), "more"),
    "half a client": (lambda path: rewrite(path, facts={"n_clients": 7.0}), "n_clients is no whole number"),
    "a target of none": (lambda path: rewrite(path, facts={"target": 0}), "target and seed"),
    "a unit of none": (lambda path: rewrite(path, facts={"unit": None}), "unit is not 1 to 20 printable"),
    "a unit with escape codes": (
        lambda path: rewrite(path, facts={"unit": "\x1b[31mJ"}),
        "unit is not 1 to 20 printable",
    ),
    "no scheduler": (lambda path: rewrite(path, facts={"scheduler": 3}), "scheduler is no text"),
    "mains power": (lambda path: rewrite(path, facts={"mains_powered": True}), "what the rounds cost"),
}


@pytest.mark.parametrize(("write", "why"), FOREIGN.values(), ids=FOREIGN)
def test_a_file_of_another_kind_is_refused_by_name_without_its_memory(
    tmp_path: Path, write: Callable[[Path], object], why: str
) -> None:
    path = tmp_path / "other.npz"
    write(path)

    tracemalloc.start()
    with pytest.raises(UserError, match=r"other\.npz is not a participation file: .") as refused:
        Participation.load(path)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert why in str(refused.value)
    assert len(str(refused.value).splitlines()) == 1
    assert most < 5_000_000  # [bytes]


def test_what_would_not_be_read_again_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="a client twice in a round"):
        replace(played(), indices=repeated()).save(tmp_path / "participation.npz")

    assert list(tmp_path.iterdir()) == []


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
