from __future__ import annotations

import ctypes
import types

import pytest
import torch

from ehfl.learning.device import SMALL_MODEL, keep_freed_memory, pick_device, pick_threads, thread_limit


@pytest.mark.parametrize("name", ["cuda", "mps"])
def test_a_device_that_is_not_there_is_refused(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for kind in (torch.cuda, torch.backends.mps):
        monkeypatch.setattr(kind, "is_available", lambda: False)

    with pytest.raises(ValueError, match=rf"device must be one that this machine has \(cpu\), got {name}"):
        pick_device(name)
    assert pick_device("auto").type == "cpu"


def test_auto_takes_the_gpu_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)

    assert pick_device("auto").type == "cuda"


@pytest.mark.parametrize(
    ("threads", "n_parameters", "most", "picked"),
    [
        (None, SMALL_MODEL - 1, 8, 1),  # threads that meet after every small operation cost more than they give
        (None, SMALL_MODEL, 8, 8),
        (3, 10, 8, 3),
        (3, SMALL_MODEL, 1, 3),
    ],
)
def test_a_small_model_has_one_thread_unless_more_are_asked_for(
    threads: int | None, n_parameters: int, most: int, picked: int
) -> None:
    assert pick_threads(threads, n_parameters, most) == picked


def test_threads_are_given_back_after_a_failure() -> None:
    before = torch.get_num_threads()

    with pytest.raises(KeyError), thread_limit(before + 1):
        assert torch.get_num_threads() == before + 1
        raise KeyError

    assert torch.get_num_threads() == before


@pytest.mark.parametrize("platform", ["linux", "win32"])
def test_freed_memory_is_kept_by_glibc_alone(platform: str, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []
    libc = types.SimpleNamespace(mallopt=lambda option, value: asked.append((option, value)))
    monkeypatch.setattr(ctypes, "CDLL", lambda name: libc)
    monkeypatch.setattr("sys.platform", platform)

    keep_freed_memory()

    # M_MMAP_THRESHOLD is -3 and M_TRIM_THRESHOLD -1 in glibc's malloc.h: 1 GiB each
    assert asked == ([(-3, 2**30), (-1, 2**30)] if platform == "linux" else [])


def test_a_libc_without_the_option_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: types.SimpleNamespace())
    monkeypatch.setattr("sys.platform", "linux")

    keep_freed_memory()
