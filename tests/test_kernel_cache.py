"""Kernels on disk: loaded by the next process, compiled again whenever there is doubt, never in the way."""

from __future__ import annotations

import ast
import errno
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("numba")

from numba.core.caching import IndexDataCacheFile

from ehfl import compiled
from ehfl.cli.output import say_if_compiling
from ehfl.compiled import kernel, kernel_folder, kernels_are_cached

SOURCE = Path(compiled.__file__).parent


def twice(x):  # type: ignore[no-untyped-def]
    return 2 * x


def called_anew(number: int = 21) -> tuple[int, bool]:
    """Call the kernel as a fresh process does, and return its result and whether it came from the disk."""
    fresh: Any = kernel(twice)
    return fresh(number), sum(fresh.stats.cache_hits.values()) == 1


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of kernels, a new one."""
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "cache"))
    kernel_folder.cache_clear()
    found = kernel_folder()
    assert found is not None and found.parent == tmp_path / "cache"
    yield found
    kernel_folder.cache_clear()


def test_a_kernel_is_compiled_once_and_then_loaded(folder: Path) -> None:
    assert [called_anew(), called_anew()] == [(42, False), (42, True)]
    assert not kernels_are_cached()  # those of large fleets are not


@pytest.mark.parametrize("kind", ["*.nbi", "*.nbc"])
def test_a_damaged_file_is_compiled_again_and_replaced(folder: Path, kind: str) -> None:
    called_anew()
    (file,) = folder.rglob(kind)
    whole = file.read_bytes()
    for damaged in (b"", whole[:-9], b"other" + whole):
        file.write_bytes(damaged)

        assert [called_anew(), called_anew()] == [(42, False), (42, True)]


def test_a_file_for_other_types_is_not_taken(folder: Path) -> None:
    called_anew()
    (file,) = folder.rglob("*.nbc")
    content = file.read_bytes()
    assert kernel(twice)(0.5) == 1.0
    (other,) = set(folder.rglob("*.nbc")) - {file}
    other.write_bytes(content)

    assert kernel(twice)(0.5) == 1.0


def test_a_disk_without_room_costs_time_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(IndexDataCacheFile, "_save_data", full)

    assert [called_anew(), called_anew()] == [(42, False), (42, False)]


@pytest.mark.parametrize("place", ["/proc/cache", "~/.cache"])  # the latter is what an unknown home comes to
def test_without_a_place_to_write_to_kernels_work_and_nothing_is_left(
    place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", place)
    monkeypatch.chdir(tmp_path)
    kernel_folder.cache_clear()

    assert kernel_folder() is None
    assert called_anew() == (42, False)
    assert not kernels_are_cached()
    say_if_compiling(5000)
    assert "about 20 s, every time, unless NUMBA_CACHE_DIR names a folder" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    kernel_folder.cache_clear()


def test_kernels_are_in_the_users_cache_folder_by_default(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    kernel_folder.cache_clear()
    found = kernel_folder()
    kernel_folder.cache_clear()

    assert found is not None and found.parent == tmp_path / "ehfl"


@pytest.mark.parametrize("changed", ["randomness.py", "compiled.py", "energy/kernels.py", "planning/kernels.py"])
def test_a_change_in_what_kernels_are_made_of_asks_for_new_ones(
    changed: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "ehfl"
    shutil.copytree(SOURCE, package, ignore=lambda _, names: [n for n in names if n.endswith((".nbi", ".npz"))])
    monkeypatch.setattr(compiled, "__file__", str(package / "compiled.py"))
    kernel_folder.cache_clear()
    assert kernel_folder() == folder

    (package / changed).write_text((package / changed).read_text() + "# new\n")
    kernel_folder.cache_clear()
    assert kernel_folder() != folder


def test_so_do_other_libraries(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled, "version", lambda library: f"99 of {library}")
    kernel_folder.cache_clear()
    assert kernel_folder() != folder


def test_kernels_are_made_of_nothing_else() -> None:
    hashed = {"ehfl.compiled", "ehfl.randomness"} | {
        f"ehfl.{'.'.join(path.relative_to(SOURCE).with_suffix('').parts)}" for path in SOURCE.rglob("kernels.py")
    }
    for path in SOURCE.rglob("kernels.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        imported = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module}

        assert {module for module in imported if module.startswith("ehfl")} <= hashed


@pytest.mark.slow
def test_a_large_fleet_runs_without_home_or_place_twice_the_same(tmp_path: Path) -> None:
    lost = {"NUMBA_CACHE_DIR": "/proc/numba", "XDG_CACHE_HOME": "/proc/cache", "HOME": "/proc/home"}
    command = [sys.executable, "-m", "ehfl", "simulate", "--clients", "5000", "--rounds", "3", "-s", "myopic", "--json"]
    for places in (lost, {"HOME": str(tmp_path)}):
        kept = {name: value for name, value in os.environ.items() if name not in lost} | places
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=kept)
        assert '"counts": [0, 2500, 2500]' in done.stdout
    assert [path.name for path in tmp_path.iterdir()] == [".cache"]
