from __future__ import annotations

import pytest
import torch

from ehfl.learning.engine.device import pick_device


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
