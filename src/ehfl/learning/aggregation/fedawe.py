"""FedAwe: whoever was away comes back with its own model, and takes a longer step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from ehfl.learning.aggregation.contract import Assignment, State, Update
from ehfl.learning.aggregation.mean import exact_on
from ehfl.learning.aggregation.server_step import moved
from ehfl.learning.rows import Rows
from ehfl.validation import positive_number


@dataclass(frozen=True, slots=True)
class FedAwe:
    """Each participant goes on from its own model x_i, by server_step (t - tau_i) Delta_i, and all keep their mean.

    tau_i is the round of i's last turn, -1 before its first; x_i what it kept then, x_0 before. x_{t+1} is the mean of
    all N clients' models, x_t + (server_step/N) sum_S (t - tau_i) Delta_i, since a mean among participants moves none.

    M. Xiang, S. Ioannidis, E. Yeh, C. Joe-Wong and L. Su, "Efficient federated learning against heterogeneous and
    non-stationary client unavailability", NeurIPS 2024, arXiv 2409.17446, algorithm 1: long absence is made up for by
    long steps ("adaptive innovation echoing"), and models spread among participants ("implicit gossiping"). The
    mean of all models is what its theorem is about and what its authors evaluate (mingxiang12/FedAWE). Their code also
    cuts the participants' mean step to a norm of 0.5, which is no part of the algorithm, nor done here.

    An empty round leaves the model as it is: no client's model changes, and all are away for one round more.
    """

    server_step: float = 1.0

    def __post_init__(self) -> None:
        positive_number("server_step", self.server_step)

    def init(self, n_clients: int, n_params: int) -> State:
        """Remember each client's own model and last turn, and the number of rounds."""
        last = torch.full((n_clients,), -1, dtype=torch.int64)
        return {"models": Rows(n_clients, n_params), "last": last, "rounds": torch.zeros((), dtype=torch.int64)}

    def assign(self, x: Tensor, client: int, state: State) -> Assignment:
        """Let the client start from its own model; in the first round that is x_0, which nobody else knows."""
        return Assignment(state["models"][client].to(x) if int(state["rounds"]) else x)

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return the mean of all clients' models, of which the participants' are their mean after longer steps."""
        models, last, t = state["models"].copy(), state["last"].clone(), int(state["rounds"])
        if t == 0:
            models.put(x, range(models.n_clients))  # what all clients begin with; one vector for all
        starts = torch.zeros_like(x, dtype=exact_on(x.device))
        steps, clients = torch.zeros_like(starts), []
        for update in updates:
            away = t - int(last[update.client])
            starts += update.start
            steps.add_(update.weights, alpha=away).sub_(update.start, alpha=away)
            clients.append(update.client)
        if clients:
            models.put(moved(starts, steps, self.server_step).div_(len(clients)), clients)
            last[clients] = t
        after = moved(x, steps, self.server_step / models.n_clients) if clients else x
        return after, {"models": models, "last": last, "rounds": state["rounds"] + 1}
