"""Files are whole or as they were, and what killed processes left of them is swept away."""

from __future__ import annotations

import os
import platform
import secrets
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ehfl.files import sweep, write_text, written_whole
from ehfl.runs import sole_use
from ehfl.validation import one_line


def content(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


def test_what_is_written_takes_the_place_of_what_was_there(tmp_path: Path) -> None:
    write_text(tmp_path / "file.txt", "old")
    with written_whole(tmp_path / "file.txt") as file:
        file.write(b"new")
        assert content(tmp_path)["file.txt"] == "old"  # until the new content is complete

    assert content(tmp_path) == {"file.txt": "new"}


def test_a_link_at_the_temporary_name_is_not_followed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder that others can write to, a link there would let them choose which file is overwritten."""
    victim = tmp_path / "victim"
    victim.write_text("precious")
    monkeypatch.setattr(secrets, "token_hex", lambda *_: "guessed")
    for token in ("", "guessed-"):
        (tmp_path / f".part-{platform.node()}-{os.getpid()}-{token}file.txt").symlink_to(victim)

    with pytest.raises(FileExistsError):
        write_text(tmp_path / "file.txt", "new")

    assert victim.read_text() == "precious"
    assert not (tmp_path / "file.txt").exists()


def test_temporary_names_cannot_be_guessed(tmp_path: Path) -> None:
    names = []
    for _ in range(2):
        with written_whole(tmp_path / "file.txt") as file:
            names.append(file.name)

    assert names[0] != names[1]


@pytest.mark.parametrize("error", [ValueError, OSError, KeyboardInterrupt])
@pytest.mark.parametrize("before", [{}, {"file.txt": "old"}], ids=["new", "there"])
def test_a_failure_while_writing_leaves_what_was_there(
    tmp_path: Path, error: type[BaseException], before: dict[str, str]
) -> None:
    for name, text in before.items():
        write_text(tmp_path / name, text)
    with pytest.raises(error), written_whole(tmp_path / "file.txt") as file:
        file.write(b"ha")
        raise error

    assert content(tmp_path) == before


def test_a_disk_that_does_not_take_it_leaves_what_was_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    write_text(tmp_path / "file.txt", "old")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space left") as caught:
        write_text(tmp_path / "file.txt", "new")

    assert one_line(caught.value) == f"{tmp_path}/file.txt: No space left on device"
    assert content(tmp_path) == {"file.txt": "old"}


def test_the_new_content_is_on_the_disk_before_the_old_goes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def watched_fsync(handle: int) -> None:
        found = os.fstat(handle)
        seen.append("fsync of the folder" if stat.S_ISDIR(found.st_mode) else f"fsync of {found.st_size} bytes")
        fsync(handle)

    def watched_replace(path: Path, target: Path) -> Path:
        seen.append(f"replace {target.name}")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(Path, "replace", watched_replace)
    write_text(tmp_path / "file.txt", "new")

    assert seen == ["fsync of 3 bytes", "replace file.txt", "fsync of the folder"]


def test_a_folder_of_that_name_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "file.txt").mkdir()
    with pytest.raises(OSError, match="directory") as caught:
        write_text(tmp_path / "file.txt", "new")

    assert one_line(caught.value).startswith(f"{tmp_path}/file.txt: ")
    assert [path.name for path in tmp_path.rglob("*")] == ["file.txt"]


def test_a_file_in_place_of_a_folder_is_named_by_what_was_to_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError) as caught:
        write_text(tmp_path / "file" / "x.txt", "new")

    assert one_line(caught.value) == f"{tmp_path}/file/x.txt: Not a directory"


def test_text_is_utf_8(tmp_path: Path) -> None:
    write_text(tmp_path / "file.txt", "λ = 0.5\n")

    assert (tmp_path / "file.txt").read_bytes() == "λ = 0.5\n".encode()


def test_what_was_there_is_kept_under_another_name_if_wanted(tmp_path: Path) -> None:
    for text in ("one", "two", "three"):
        with written_whole(tmp_path / "file.txt", previous=tmp_path / "before.txt") as file:
            file.write(text.encode())

    assert content(tmp_path) == {"file.txt": "three", "before.txt": "two"}


def ended() -> int:
    """Return the number of a process that is no more."""
    with subprocess.Popen([sys.executable, "-S", "-c", ""]) as process:
        pass
    return process.pid


def test_what_a_killed_process_left_is_swept_by_the_next_owner(tmp_path: Path) -> None:
    gone, here = ended(), platform.node()
    others = [f".part-{here}-{os.getpid()}-a.txt", f".part-elsewhere-{gone}-a.txt", f".part-{here}-x-a.txt", "a.txt"]
    for name in (f".part-{here}-{gone}-a.txt", f".part-{here}-{gone}-b.txt", *others):
        (tmp_path / name).write_text("half")

    with sole_use(tmp_path):
        assert sorted(content(tmp_path)) == sorted(others)


def test_sweeping_knows_the_names_that_writing_gives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    gone = ended()
    monkeypatch.setattr(os, "getpid", lambda: gone)
    monkeypatch.setattr(Path, "unlink", lambda _: None)  # it was killed before it could tidy up
    with pytest.raises(KeyboardInterrupt), written_whole(tmp_path / "file.txt") as file:
        file.write(b"ha")
        raise KeyboardInterrupt
    monkeypatch.undo()
    assert len(content(tmp_path)) == 1

    sweep(tmp_path)

    assert content(tmp_path) == {}
