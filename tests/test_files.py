"""Files are whole or as they were; a folder has one process at a time in it, however that process ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from ehfl.files import InUse, sole_use, write_text, written_whole
from ehfl.validation import UserError, one_line

# Says "in" once it has the folder, or "in use"; then waits for its input to end.
HOLDER = """
import sys
from pathlib import Path
from ehfl.files import InUse, sole_use
try:
    with sole_use(Path(sys.argv[1])):
        print("in", flush=True)
        sys.stdin.read()
except InUse as error:
    print("in use", flush=True)
"""


def holder(folder: Path) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", HOLDER, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


def first_word(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline().strip()


def content(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()}


# whole files


def test_what_is_written_takes_the_place_of_what_was_there(tmp_path: Path) -> None:
    write_text(tmp_path / "file.txt", "old")
    with written_whole(tmp_path / "file.txt") as aside:
        aside.write_text("new", encoding="utf-8")
        assert content(tmp_path) == {"file.txt": "old", aside.name: "new"}  # not before all of it is there
        assert aside.suffix == ".txt"

    assert content(tmp_path) == {"file.txt": "new"}


@pytest.mark.parametrize("error", [ValueError, OSError, KeyboardInterrupt])
@pytest.mark.parametrize("before", [{}, {"file.txt": "old"}], ids=["new", "there"])
def test_a_failure_while_writing_leaves_what_was_there(
    tmp_path: Path, error: type[BaseException], before: dict[str, str]
) -> None:
    for name, text in before.items():
        write_text(tmp_path / name, text)
    with pytest.raises(error), written_whole(tmp_path / "file.txt") as aside:
        aside.write_text("ha", encoding="utf-8")
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
        seen.append(f"fsync of {os.pread(handle, 9, 0).decode()}")
        fsync(handle)

    def watched_replace(path: Path, target: Path) -> Path:
        seen.append(f"replace {target.name}")
        return replace(path, target)

    monkeypatch.setattr(os, "fsync", watched_fsync)
    monkeypatch.setattr(Path, "replace", watched_replace)
    write_text(tmp_path / "file.txt", "new")

    assert seen == ["fsync of new", "replace file.txt"]


def test_writing_nothing_is_an_error_and_keeps_the_file(tmp_path: Path) -> None:
    write_text(tmp_path / "file.txt", "old")
    with pytest.raises(FileNotFoundError), written_whole(tmp_path / "file.txt"):
        pass

    assert content(tmp_path) == {"file.txt": "old"}


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


# one process at a time


def test_a_second_process_is_refused_until_the_first_is_done(tmp_path: Path) -> None:
    with holder(tmp_path) as first:
        assert first_word(first) == "in"
        with pytest.raises(InUse) as caught, sole_use(tmp_path):
            pytest.fail("two processes in one folder")
        assert str(caught.value) == f"{tmp_path} is in use by another process; wait for it, or stop it"
        assert isinstance(caught.value, UserError)
        with holder(tmp_path) as second:
            assert first_word(second) == "in use"

    with sole_use(tmp_path):
        pass


def test_this_process_keeps_others_out_and_may_enter_twice(tmp_path: Path) -> None:
    with sole_use(tmp_path):
        with sole_use(tmp_path):
            pass
        with holder(tmp_path) as late:  # leaving the inner use is not leaving
            assert first_word(late) == "in use"
    with holder(tmp_path) as free:
        assert first_word(free) == "in"


def test_the_same_folder_by_another_way_is_the_same_folder(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")

    with sole_use(tmp_path / "folder"), sole_use(tmp_path / "link"), holder(tmp_path / "link") as late:
        assert first_word(late) == "in use"


def test_a_failure_inside_lets_go(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="inside"), sole_use(tmp_path):
        raise ValueError("inside")

    with holder(tmp_path) as free:
        assert first_word(free) == "in"


def test_a_killed_process_lets_go(tmp_path: Path) -> None:
    with holder(tmp_path) as first:
        assert first_word(first) == "in"
        first.send_signal(signal.SIGKILL)
        assert first.wait() == -signal.SIGKILL

    with sole_use(tmp_path):
        pass


def test_patience_outlasts_a_holder_that_leaves(tmp_path: Path) -> None:
    with holder(tmp_path) as first:
        assert first_word(first) == "in"
        assert first.stdin is not None
        first.stdin.close()  # it leaves now, some time
        with sole_use(tmp_path, patience=60.0):
            pass
        first.stdin = None


def test_other_folders_are_free(tmp_path: Path) -> None:
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    with sole_use(tmp_path / "one"), holder(tmp_path / "two") as other:
        assert first_word(other) == "in"
