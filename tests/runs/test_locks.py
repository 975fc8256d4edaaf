"""A folder has one process at a time in it, however that ends."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from ehfl.runs import InUse, sole_use
from ehfl.validation import UserError

# Says "in" once it has the folder, or "in use"; then waits for its input to end.
HOLDER = """
import sys
from pathlib import Path
from ehfl.runs import InUse, sole_use
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


def test_this_process_keeps_others_and_itself_out(tmp_path: Path) -> None:
    """Two threads of a process must not write into one folder either."""
    with sole_use(tmp_path):
        with pytest.raises(InUse), sole_use(tmp_path):
            pytest.fail("two uses of one folder")
        with holder(tmp_path) as late:  # a use that was refused does not end the one that stands
            assert first_word(late) == "in use"
    with holder(tmp_path) as free:
        assert first_word(free) == "in"


def test_the_same_folder_by_another_way_is_the_same_folder(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "folder")

    with sole_use(tmp_path / "folder"), holder(tmp_path / "link") as late:
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


def test_nothing_that_can_be_deleted_keeps_others_out(tmp_path: Path) -> None:
    with sole_use(tmp_path):
        for path in tmp_path.iterdir():
            path.unlink()
        with pytest.raises(InUse), sole_use(tmp_path):
            pytest.fail("two uses of one folder")


def test_where_folders_have_no_locks_a_file_in_it_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(handle: int, how: int) -> None:
        if stat.S_ISDIR(os.fstat(handle).st_mode):
            raise OSError(9, "Bad file descriptor")  # NFS
        flock(handle, how)

    flock = fcntl.flock
    monkeypatch.setattr(fcntl, "flock", refuse)
    with sole_use(tmp_path):
        assert [path.name for path in tmp_path.iterdir()] == [".lock"]
        with pytest.raises(InUse), sole_use(tmp_path):
            pytest.fail("two uses of one folder")
    with sole_use(tmp_path):
        pass


def test_what_is_no_folder_cannot_be_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(NotADirectoryError, match="file"), sole_use(tmp_path / "file"):
        pytest.fail("a file in the place of a folder")
