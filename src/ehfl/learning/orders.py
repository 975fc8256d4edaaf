"""What the server sends a participant: plain data, the same for a worker of this process and for a device."""

from __future__ import annotations

from dataclasses import dataclass

from torch import Tensor

from ehfl.arrays import Clients, IntArray


@dataclass(frozen=True, eq=False, slots=True)
class Turns:
    """The clients that are asked to train in a round, ascending, and the number of local steps of each."""

    clients: Clients  # (n_turns,)
    steps: IntArray  # (n_turns,)
    wanted: int  # number of updates to use; the other clients replace those that fail


@dataclass(frozen=True, eq=False, slots=True)
class Order:
    """A client's turn in one round: the model to start from, how to train, and the seed of its minibatches.

    Each gradient g at y becomes g + pull (y - start) + shift; FedProx uses `pull`, SCAFFOLD uses `shift`.
    """

    client: int
    round: int
    start: Tensor  # (n_params,)
    steps: int  # K, or fewer where the client cannot pay for all
    eta: float  # eta_t
    seed: int = 0  # the run's
    pull: float = 0.0
    shift: Tensor | None = None  # (n_params,)
    buffers: Tensor | None = None  # to start from, (n_buffers,); None for a model without
