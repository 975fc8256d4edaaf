"""A bit that flips in a finished run's folder changes nothing, or is refused in one line that names a file."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

import ehfl
from ehfl.experiment import make_spec, run_all
from ehfl.files import json_text
from ehfl.report.folder import as_facts, rounds_csv
from ehfl.validation import UserError

SPEC = {
    "name": "tiny", "rounds": 4, "seeds": 1, "schedulers": ["greedy"], "fleet": {"clients": 3, "rate": 0.6},
    "learning": {"task": "digits", "local_steps": 1, "step_size": 0.1, "device": "cpu"}, "evaluation": {"every": 2},
}  # fmt: skip
RUN = "greedy-s0"
READ = ("spec.toml", f"{RUN}/spec.toml", f"{RUN}/meta.json", f"{RUN}/rounds.jsonl", f"{RUN}/participation.npz")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "tiny"
    run_all(make_spec(SPEC), folder, jobs=1)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return shutil.copytree(made, tmp_path / "tiny")


def numbers(folder: Path) -> str:
    found = ehfl.read(folder)
    return json_text(as_facts(found)) + rounds_csv(found)


def outcomes(folder: Path, path: Path, flips: list[tuple[int, int]]) -> Iterator[str | None]:
    """Yield, for each bit of a file that is flipped, what is said of it: None where the numbers are what they were."""
    expected, whole = numbers(folder), path.read_bytes()
    for at, bit in flips:
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 1 << bit]) + whole[at + 1 :])
        try:
            assert numbers(folder) == expected, f"bit {bit} of byte {at} of {path.name} changes the numbers"
            yield None
        except UserError as error:
            yield str(error)
    path.write_bytes(whole)


def check(folder: Path, name: str, flips: list[tuple[int, int]]) -> None:
    path = folder / name
    for said in outcomes(folder, path, flips):
        assert said is not None, f"a bit of {name} may be flipped unnoticed"
        assert len(said.splitlines()) == 1 and said.isprintable()
        assert said.startswith(str(path))
        assert said.endswith((f"delete {folder / RUN} to run it again", "writes it again"))


@pytest.mark.parametrize("name", [*READ, f"{RUN}/checkpoint.safetensors"])
def test_a_flipped_bit_is_noticed(folder: Path, name: str) -> None:
    chance, size = random.Random(name), (folder / name).stat().st_size

    check(folder, name, [(chance.randrange(size), chance.randrange(8)) for _ in range(60)])


@pytest.mark.parametrize("name", READ)
@pytest.mark.slow
def test_a_flipped_bit_of_every_byte_is_noticed(folder: Path, name: str) -> None:
    check(folder, name, [(at, at % 8) for at in range((folder / name).stat().st_size)])
