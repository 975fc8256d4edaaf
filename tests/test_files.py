"""Files are whole or as they were, some hold numbers; a folder has one process at a time in it, however that ends."""

from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ehfl.files import InUse, json_text, read_numbers, sole_use, write_text, written_whole
from ehfl.validation import InvalidValue, UserError, one_line

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


def test_json_has_no_numbers_that_are_none() -> None:
    facts = {"a": math.inf, "b": [1, math.nan, (2.5, -math.inf)], "c": "inf", "d": None, "e": True}

    assert json.loads(json_text(facts)) == {"a": None, "b": [1, None, [2.5, None]], "c": "inf", "d": None, "e": True}


# files of numbers


def written(folder: Path, text: str | bytes, name: str = "numbers.csv") -> Path:
    (folder / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder / name


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("1,2\n3,4\n", [[1, 2], [3, 4]]),
        ("1 2\n3\t4", [[1, 2], [3, 4]]),
        ("1, 2\r\n3, 4\r\n", [[1, 2], [3, 4]]),
        ("roof,attic\n1,2\n", [[1, 2]]),
        ("# in watts\nroof,attic\n\n1,2 # at noon\n", [[1, 2]]),
        ("\ufeff1,2\n", [[1, 2]]),
        ("0.25\n-1e3\n", [[0.25], [-1000.0]]),
        ("1,2,3", [[1, 2, 3]]),
        ("nan,inf\n", [[math.nan, math.inf]]),
    ],
)
def test_rows_of_numbers_are_read_from_a_text(tmp_path: Path, text: str, rows: list[list[float]]) -> None:
    assert repr(read_numbers("rates", written(tmp_path, text)).tolist()) == repr(np.array(rows, dtype=float).tolist())


def test_flat_numbers_may_stand_in_rows_of_any_length(tmp_path: Path) -> None:
    path = written(tmp_path, "rate\n0.1, 0.2, 0.3\n0.4\n\n0.5 0.6\n", "rates.txt")

    assert read_numbers("rates", path, flat=True).tolist() == [0.1, 0.2, 0.3, 0.4, 0.5, 0.6]


def test_numbers_of_numpys_keep_their_kind_and_shape_unless_flat(tmp_path: Path) -> None:
    np.save(tmp_path / "numbers.npy", np.array([[1, 2], [3, 4]], dtype=np.int16))
    found = read_numbers("rates", tmp_path / "numbers.npy")

    assert found.tolist() == [[1, 2], [3, 4]]
    assert found.dtype == np.int16
    assert read_numbers("rates", tmp_path / "numbers.npy", flat=True).tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("numbers.csv", "", "no numbers"),
        ("numbers.csv", "# nothing\n\n", "no numbers"),
        ("numbers.csv", "roof,attic\n", "could not convert string to float: 'roof'"),
        ("numbers.csv", "1,2\n3,x\n", "could not convert string to float: 'x'"),
        ("numbers.csv", "a,b\nc,d\n", "could not convert string to float: 'c'"),
        ("numbers.csv", "1;2\n", "could not convert string to float: '1;2'"),
        ("numbers.csv", "1,2\n3\n", ""),
        ("numbers.csv", b"\xff\xfe1\x00", "'utf-8' codec can't decode"),
        ("numbers.npy", b"", ""),
        ("numbers.npy", b"1,2\n", ""),
        ("numbers.npy", b"\x93NUMPY\x01\x00v\x00{'descr'", ""),
    ],
)
def test_a_file_without_numbers_is_refused_by_argument_path_and_reason(
    tmp_path: Path, name: str, content: str | bytes, why: str
) -> None:
    """Where NumPy gives the reason, its words are not ours to test."""
    path = written(tmp_path, content, name)
    with pytest.raises(InvalidValue, match=r"^rates must be a readable file of numbers, .npy or text, got ") as caught:
        read_numbers("rates", path)

    assert f"{path} (" in str(caught.value)
    assert why in str(caught.value)


def test_a_file_that_is_not_there_and_a_folder_are_refused_by_name(tmp_path: Path) -> None:
    for path, why in ((tmp_path / "absent.csv", "No such file or directory"), (tmp_path, "Is a directory")):
        with pytest.raises(InvalidValue) as caught:
            read_numbers("rates", path)
        assert f"{path} ({why})" in str(caught.value)


def test_a_pickle_of_numpys_is_not_executed(tmp_path: Path) -> None:
    class Trap:
        def __reduce__(self) -> tuple[object, tuple[Path]]:
            return Path.touch, (tmp_path / "sprung",)

    np.save(tmp_path / "trap.npy", np.array([Trap()], dtype=object), allow_pickle=True)
    with pytest.raises(InvalidValue, match=r"trap\.npy \(Object arrays cannot be loaded"):
        read_numbers("rates", tmp_path / "trap.npy")

    assert not (tmp_path / "sprung").exists()


@pytest.mark.parametrize("whole", [False, True])
def test_an_archive_in_the_place_of_an_array_is_refused(tmp_path: Path, whole: bool) -> None:
    with (tmp_path / "numbers.npy").open("wb") as file:
        np.savez(file, one=np.ones(3))
    if not whole:
        written(tmp_path, (tmp_path / "numbers.npy").read_bytes()[:40], "numbers.npy")

    with pytest.raises(InvalidValue, match=r"numbers\.npy"):
        read_numbers("rates", tmp_path / "numbers.npy")


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
