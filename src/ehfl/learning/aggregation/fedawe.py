"""FedAwe: whoever was away comes back with its own model, and takes a longer step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from ehfl.learning.aggregation.contract import Assignment, State, Update
from ehfl.learning.aggregation.mean import exact_on
from ehfl.learning.aggregation.server_step import check_server_step
from ehfl.learning.rows import Rows


@dataclass(frozen=True, slots=True)
class FedAwe:
    """x_{t+1} = mean over the participants of x_i + server_step (t - tau_i) Delta_i.

    x_i, where client i starts, is the model that came of its last turn, in round tau_i; before its first, x_0 and -1.
    M. Xiang, S. Ioannidis, E. Yeh, C. Joe-Wong and L. Su, "Efficient federated learning against heterogeneous and
    non-stationary client unavailability", NeurIPS 2024, arXiv 2409.17446: long absence is made up for by long steps
    ("adaptive innovation echoing"), and models spread as participants average theirs ("implicit gossiping").
    An empty round leaves the model as it is: nobody's model is heard.
    """

    server_step: float = 1.0

    def __post_init__(self) -> None:
        check_server_step(self.server_step)

    def init(self, n_clients: int, n_params: int) -> State:
        """Remember each client's own model and last turn, and the number of rounds."""
        last = torch.full((n_clients,), -1, dtype=torch.int64)
        return {"models": Rows(n_clients, n_params), "last": last, "rounds": torch.zeros((), dtype=torch.int64)}

    def assign(self, x: Tensor, client: int, state: State) -> Assignment:
        """Let the client start from its own model; in the first round that is x_0, which nobody else knows."""
        return Assignment(state["models"][client].to(x) if int(state["rounds"]) else x)

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return the mean of the participants' models after their longer steps, which each of them keeps."""
        models, last, t = state["models"].copy(), state["last"].clone(), int(state["rounds"])
        if t == 0:
            models.put(x, range(models.n_clients))  # what all clients begin with; one vector for all
        total, clients = torch.zeros_like(x, dtype=exact_on(x.device)), []
        for update in updates:
            away = t - int(last[update.client])
            total += update.start
            total.add_(update.delta.to(total.dtype), alpha=self.server_step * away)
            clients.append(update.client)
        after = total.div_(len(clients)).to(x.dtype) if clients else x
        if clients:
            models.put(after, clients)
            last[clients] = t
        return after, {"models": models, "last": last, "rounds": state["rounds"] + 1}
