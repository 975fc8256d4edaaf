"""What an aggregation remembers, as arrays of a checkpoint and back."""

from __future__ import annotations

from typing import Any

import torch
from numpy.typing import NDArray
from torch import Tensor

from ehfl.learning.aggregation import State
from ehfl.learning.flat import Arrays
from ehfl.learning.rows import Rows


def on_device(state: State, device: torch.device) -> State:
    """Return the state with its tensors where the model is; vectors of clients stay in the machine's memory."""
    return {name: value if isinstance(value, Rows) else _moved(value, device) for name, value in state.items()}


def _moved(value: Tensor, device: torch.device) -> Tensor:
    no_doubles = device.type == "mps" and value.dtype == torch.float64
    return value.to(device, torch.float32) if no_doubles else value.to(device)


def as_arrays(state: State) -> dict[str, NDArray[Any]]:
    """Return copies of all that is remembered, by name; rows are several arrays, `name/clients` and so on."""
    found: dict[str, NDArray[Any]] = {}
    for name, value in state.items():
        if isinstance(value, Rows):
            found |= {f"{name}/{part}": array for part, array in value.as_arrays().items()}
        else:
            found[name] = value.cpu().numpy().copy()
    return found


def from_arrays(arrays: Arrays, like: State, device: torch.device) -> State:
    """Return what `as_arrays` was given; `like` is a state of the same aggregation, which says what rows are."""
    found: State = {}
    for name, array in arrays.items():
        owner, _, _ = name.rpartition("/")
        if isinstance(like.get(owner), Rows):
            found.setdefault(owner, {})[name.removeprefix(f"{owner}/")] = array
        else:
            found[name] = torch.from_numpy(array)
    return on_device({n: like[n].filled(v) if isinstance(v, dict) else v for n, v in found.items()}, device)
