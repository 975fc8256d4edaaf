"""Aggregations that remember a vector of each client."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import torch
from torch import Tensor

from ehfl.learning.aggregation.contract import Assignment, State, Update
from ehfl.learning.aggregation.mean import exact_on, moved
from ehfl.learning.memory import Rows
from ehfl.validation import positive_number


@dataclass(frozen=True, slots=True)
class Mifa:
    """Memory of every client's last update; the mean of all of them moves the model.

    x_{t+1} = x_t + server_step (eta_t/N) sum_i G_i,   G_i = Delta_i/eta of i's last turn, 0 before its first.

    X. Gu, K. Huang, J. Zhang and L. Huang, "Fast federated learning in the presence of arbitrary device
    unavailability", NeurIPS 2021, arXiv 2106.04159, algorithm 1. It waits for an update of every client before its
    first step; here, as in its authors' second variant, G_i = 0 for clients without an update yet, since some may never
    have enough energy. The paper has no server step.

    An empty round leaves the model unchanged: every step-size rule has eta_t = 0 in it.
    """

    server_step: float = 1.0

    def __post_init__(self) -> None:
        positive_number("server_step", self.server_step)

    def init(self, n_clients: int, n_params: int) -> State:
        """Return zero for G_i of each client, and for their sum."""
        return {"memory": Rows(n_clients, n_params), "total": torch.zeros(n_params, dtype=torch.float64)}

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return x moved by the mean of all G_i, including this round's updates."""
        memory, total, eta = state["memory"].copy(), state["total"].clone(), 0.0
        for update in updates:
            eta, gradient = update.eta, update.delta / update.eta
            total += gradient.to(total.dtype) - memory[update.client].to(total)
            memory[update.client] = gradient
        return moved(x, total, self.server_step * eta / memory.n_clients), {"memory": memory, "total": total}


@dataclass(frozen=True, slots=True)
class FedVarp:
    """x_{t+1} = x_t + server_step eta_t (mean of G_i - y_i over the participants + mean of y_i over all clients).

    G_i = Delta_i/eta_t, and y_i is G_i of i's last turn, 0 before its first. The correction removes the variance that
    partial participation adds.

    D. Jhunjhunwala, P. Sharma, A. Nagarkatti and G. Joshi, "FedVARP: tackling the variance due to partial client
    participation in federated learning", UAI 2022, arXiv 2207.14130, algorithm 1. Its step sizes are constant; where
    they vary, only updates divided by their step sizes can be compared. The paper draws a fixed number of clients
    uniformly in every round, which makes the step unbiased. With unequal participation it is biased, but the bias goes
    to 0 with G_i - y_i.

    An empty round leaves the model unchanged: every step-size rule has eta_t = 0 in it.
    """

    server_step: float = 1.0

    def __post_init__(self) -> None:
        positive_number("server_step", self.server_step)

    def init(self, n_clients: int, n_params: int) -> State:
        """Return zero for y_i of each client, and for their sum."""
        return {"memory": Rows(n_clients, n_params), "total": torch.zeros(n_params, dtype=torch.float64)}

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return x moved by the corrected mean of the updates."""
        memory, before = state["memory"].copy(), state["total"]
        change, count, eta = torch.zeros_like(before), 0, 0.0
        for update in updates:
            eta, gradient = update.eta, update.delta / update.eta
            change += gradient.to(change.dtype) - memory[update.client].to(change)
            memory[update.client] = gradient
            count += 1
        direction = change / max(count, 1) + before / memory.n_clients
        return moved(x, direction, self.server_step * eta), {"memory": memory, "total": before + change}


@dataclass(frozen=True, slots=True)
class FedAwe:
    """Each participant moves its own model x_i by server_step (t - tau_i) Delta_i, then takes the participants' mean.

    tau_i is the round of i's last turn, -1 before its first; x_i is its model after that turn, x_0 before. x_{t+1} is
    the mean of all N clients' models, x_t + (server_step/N) sum_S (t - tau_i) Delta_i; averaging among participants
    does not change it.

    M. Xiang, S. Ioannidis, E. Yeh, C. Joe-Wong and L. Su, "Efficient federated learning against heterogeneous and
    non-stationary client unavailability", NeurIPS 2024, arXiv 2409.17446, algorithm 1: long absence is made up for by
    long steps ("adaptive innovation echoing"), and models spread among participants ("implicit gossiping"). The
    mean of all models is the subject of its theorem and what its authors evaluate (mingxiang12/FedAWE). Their code also
    clips the participants' mean step to a norm of 0.5, which is not part of the algorithm and not done here.

    An empty round leaves the model unchanged, and every client's own model; every client's absence grows by one round.
    """

    server_step: float = 1.0

    def __post_init__(self) -> None:
        positive_number("server_step", self.server_step)

    def init(self, n_clients: int, n_params: int) -> State:
        """Return the initial state: each client's own model and last turn, and the number of rounds."""
        last = torch.full((n_clients,), -1, dtype=torch.int64)
        return {"models": Rows(n_clients, n_params), "last": last, "rounds": torch.zeros((), dtype=torch.int64)}

    def assign(self, x: Tensor, client: int, state: State) -> Assignment:
        """Let the client start from its own model; in the first round that is x, as the state has no models yet."""
        return Assignment(state["models"][client].to(x) if int(state["rounds"]) else x)

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return the mean of all clients' models, after the participants' models moved to their common mean."""
        models, last, t = state["models"].copy(), state["last"].clone(), int(state["rounds"])
        if t == 0:
            models.put(x, range(models.n_clients))  # x_0 is stored once for all clients
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


@dataclass(frozen=True, slots=True)
class FedDyn:
    """x_{t+1} = mean of y_i over the participants - h_{t+1}/alpha,   h_{t+1} = h_t - (alpha/N) sum of (y_i - x_t).

    Client i trains on f_i(y) - <g_i, y> + (alpha/2) |y - x_t|^2 and comes to y_i; then g_i' = g_i - alpha (y_i - x_t),
    from 0 on. At a fixed point g_i is the gradient of f_i, and their mean h is 0: client heterogeneity leaves no error
    floor.

    D. A. E. Acar et al., "Federated learning based on dynamic regularization", ICLR 2021, arXiv 2111.04263, algorithm
    1. The paper's clients solve their problems; here they take K steps. Its authors' code has alpha = 0.01.

    An empty round leaves the model unchanged, and h and all g_i: the paper's sums are empty.
    """

    alpha: float = 0.01

    def __post_init__(self) -> None:
        positive_number("alpha", self.alpha)

    def init(self, n_clients: int, n_params: int) -> State:
        """Return zero for g_i of each client, and for h."""
        return {"gradients": Rows(n_clients, n_params), "h": torch.zeros(n_params, dtype=torch.float64)}

    def assign(self, x: Tensor, client: int, state: State) -> Assignment:
        """Let the client add alpha (y - x) - g_i to its gradients."""
        return Assignment(x, pull=self.alpha, shift=-state["gradients"][client].to(x))

    def apply(self, x: Tensor, updates: Iterable[Update], state: State) -> tuple[Tensor, State]:
        """Return the mean of the participants' models, corrected by h, and the participants' new gradients."""
        gradients, exact = state["gradients"].copy(), exact_on(x.device)
        total, count = torch.zeros_like(x, dtype=exact), 0
        for update in updates:
            total.add_(update.weights).sub_(update.start)
            before = gradients[update.client].to(x)
            gradients[update.client] = before - self.alpha * update.delta
            count += 1
        if not count:
            return x, state
        h = state["h"] - self.alpha / gradients.n_clients * total
        return moved(x, total / count - h / self.alpha, 1.0), {"gradients": gradients, "h": h}
