"""Kernels on disk: loaded by the next process, compiled again whenever there is doubt, never in the way."""

from __future__ import annotations

import ast
import errno
import io
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import pytest

pytest.importorskip("numba")

from ehfl import kernel_cache, randomness
from ehfl.cli.output import say_if_compiling
from ehfl.compiled import kernel, kernels_are_cached
from ehfl.kernel_cache import kernel_folder

SOURCE = Path(kernel_cache.__file__).parent


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


def flipped(content: bytes) -> bytes:
    at = len(content) // 2
    return content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :]


def test_a_damaged_file_is_compiled_again_and_replaced(folder: Path) -> None:
    called_anew()
    (file,) = folder.glob("*.kernel")
    damages: list[Callable[[bytes], bytes]] = [lambda _: b"", lambda content: content[:-9], flipped]
    for damage in damages:
        file.write_bytes(damage(file.read_bytes()))

        assert [called_anew(), called_anew()] == [(42, False), (42, True)]


def test_a_file_of_another_user_is_not_loaded(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    called_anew()
    monkeypatch.setattr(kernel_cache, "_user", lambda: os.geteuid() + 1)

    assert called_anew() == (42, False)


def test_a_disk_without_room_costs_time_alone(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def full(path: Path) -> Iterator[IO[bytes]]:
        yield io.BytesIO()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(kernel_cache, "written_whole", full)

    assert [called_anew(), called_anew()] == [(42, False), (42, False)]


def test_without_a_place_to_write_to_kernels_work_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, f"/proc/{name}")
    monkeypatch.setattr(tempfile, "tempdir", "/proc/tmp")
    monkeypatch.chdir(tmp_path)
    kernel_folder.cache_clear()

    assert kernel_folder() is None
    assert called_anew() == (42, False)
    assert not kernels_are_cached()
    say_if_compiling(5000)
    assert "about 20 s, every time, unless NUMBA_CACHE_DIR names a folder" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    kernel_folder.cache_clear()


def test_a_folder_that_others_could_write_to_is_passed_over(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = folder.parent.parent / "home"
    monkeypatch.setenv("XDG_CACHE_HOME", str(home))
    folder.chmod(0o777)
    kernel_folder.cache_clear()
    assert kernel_folder() == home / "ehfl" / folder.name

    folder.rmdir()
    folder.symlink_to(home)
    kernel_folder.cache_clear()
    assert kernel_folder() == home / "ehfl" / folder.name


def test_without_a_home_no_folder_bears_its_sign(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> Path:
        raise RuntimeError("Could not determine home directory.")

    for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(Path, "home", unknown)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    kernel_folder.cache_clear()
    found = kernel_folder()
    kernel_folder.cache_clear()

    assert found is not None and found.parent == tmp_path / f"ehfl-{os.geteuid()}"


@pytest.mark.parametrize("changed", ["randomness.py", "compiled.py", "energy/kernels.py", "planning/kernels.py"])
def test_a_change_in_what_kernels_are_made_of_asks_for_new_ones(
    changed: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "ehfl"
    shutil.copytree(SOURCE, package, ignore=lambda _, names: [n for n in names if n.endswith((".nbi", ".npz"))])
    monkeypatch.setattr(kernel_cache, "__file__", str(package / "kernel_cache.py"))
    kernel_folder.cache_clear()
    assert kernel_folder() == folder

    (package / changed).write_text((package / changed).read_text() + "# new\n")
    kernel_folder.cache_clear()
    assert kernel_folder() != folder


def test_so_do_other_libraries_and_a_module_that_is_not_what_its_file_says(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as other:
        other.setattr(kernel_cache, "version", lambda library: f"99 of {library}")
        kernel_folder.cache_clear()
        assert kernel_folder() != folder
    monkeypatch.setattr(randomness, "_WEYL", (1, 2))
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
