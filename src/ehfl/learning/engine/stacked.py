"""Stacked turns: small models of many participants, trained as one batched computation.

If a step takes well under a millisecond, the overhead of Python and of launching torch operations dominates; a stack
pays it once for all its clients. The result equals that of `Engine.train` up to rounding.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, vmap
from torch.utils.flop_counter import FlopCounterMode

from ehfl.learning.aggregation.contract import Order, Update
from ehfl.learning.engine.device import forward
from ehfl.learning.engine.engine import Engine
from ehfl.learning.engine.flat import FlatModel
from ehfl.learning.engine.local_sgd import minibatches
from ehfl.learning.tasks.examples import Batch, Items, called, each

ENGINES = ("auto", "plain", "stacked")
_DEEPEST = 25  # clients per stack, which holds as many models, gradients and activations in memory
_SHORT_STEP = 5e6  # FLOP, about a millisecond on one core: above it the overhead is negligible
_FEW_WEIGHTS = 60_000  # above it models are read and written for most of the time, stacked or not
_FEW = 4  # participants per round: below it a stack is slower than training one by one
# torch picks other kernels for a stack of one, whose last bits differ from those of the same client in a larger stack.
_LEAST = 2


class Stack:
    """Trains up to `depth` participants of a round as one batch; workers train such blocks in parallel."""

    def __init__(self, engine: Engine, model: FlatModel, depth: int = _DEEPEST) -> None:
        self.depth, self._engine = depth, engine
        self._shapes = {name: p.shape for name, p in model.module.named_parameters() if p.requires_grad}
        self._sizes = [shape.numel() for shape in self._shapes.values()]

    def blocks(self, orders: Iterable[Order]) -> Iterator[list[Order]]:
        """Yield the orders in blocks; their sizes do not depend on the number of workers."""
        waiting = iter(orders)
        while block := list(islice(waiting, self.depth)):
            yield block

    def train(self, model: FlatModel, block: Sequence[Order]) -> list[Update]:
        """Return the updates of a block, in its order; of `model` only the layers are used, not the weights."""
        # Only batches of one size can be stacked: clients with few examples have smaller ones.
        sizes = [min(self._engine.rule.batch_size, self._engine.parts[order.client].size) for order in block]
        found: dict[int, Update] = {}
        for size in sorted(set(sizes)):
            alike = [order for order, other in zip(block, sizes, strict=True) if other == size]
            found |= {update.client: update for update in self._trained(model, alike)}
        return [found[order.client] for order in block]

    def _trained(self, model: FlatModel, orders: list[Order]) -> Iterator[Update]:
        padded = orders + orders[-1:] * (_LEAST - len(orders))
        rule, training, place = self._engine.rule, self._engine.training, padded[0].start.device
        start = torch.stack([order.start for order in padded])  # (n_orders, n_params)
        eta = torch.tensor([order.eta for order in padded], device=place)
        steps = torch.tensor([order.steps for order in padded], device=place)
        pull = torch.tensor([order.pull for order in padded], device=place)
        shift = None
        if any(order.shift is not None for order in padded):
            shift = torch.stack([torch.zeros_like(o.start) if o.shift is None else o.shift for o in padded])
        weights, gradient, losses = start.clone(), torch.empty_like(start), []
        gradients = vmap(grad_and_value(partial(self._loss, model.module)))
        for k, batch in enumerate(self._batches(padded)):
            inputs, targets = _stacked(training.batch(batch.flatten()), batch.shape)
            pieces, loss = gradients(self._parameters(weights), inputs, targets)
            torch.cat([piece.flatten(1) for piece in pieces.values()], dim=1, out=gradient)
            if rule.clip is not None:
                gradient.mul_((rule.clip / gradient.norm(dim=1, keepdim=True)).clamp(max=1.0))
            if rule.weight_decay:
                gradient.add_(weights, alpha=rule.weight_decay)
            if any(order.pull for order in padded):
                gradient.add_(pull[:, None] * (weights - start))
            if shift is not None:
                gradient.add_(shift)
            # A step size of 0 keeps the weights of clients that take fewer steps than others.
            weights.addcmul_(gradient, torch.where(k < steps, eta * rule.local_decay**k, 0.0)[:, None], value=-1)
            losses.append(loss)
        of_steps = torch.stack(losses, dim=1).tolist()
        for row, order in enumerate(orders):
            own = of_steps[row][: order.steps]
            yield Update(
                order.client, order.start, weights[row].clone(), float(np.mean(own, dtype=np.float64)), order.steps,
                self._engine.parts[order.client].size, rule.mean_step(order.eta, order.steps), start_loss=own[0],
                round=order.round, seed=order.seed,
            )  # fmt: skip

    def _batches(self, orders: list[Order]) -> Iterator[Tensor]:
        """Yield the example numbers of each step, (n_orders, batch_size)."""
        parts, rule = self._engine.parts, self._engine.rule
        draws = [minibatches(rule, parts[o.client], o.seed, o.client, o.round) for o in orders]
        for _ in range(max(order.steps for order in orders)):
            yield torch.from_numpy(np.stack([next(draw) for draw in draws]))

    def _loss(self, layers: nn.Module, parameters: dict[str, Tensor], inputs: Batch, targets: Tensor) -> Tensor:
        def module(*by_place: Tensor, **by_name: Tensor) -> Any:
            return functional_call(layers, parameters, by_place, by_name)

        outputs = forward(module, inputs, self._engine.rule.precision)
        return self._engine.task.loss(outputs, targets)

    def _parameters(self, weights: Tensor) -> dict[str, Tensor]:
        """Return views of each client's vector, by torch's names."""
        pieces = torch.split(weights, self._sizes, dim=1)
        named = zip(pieces, self._shapes.items(), strict=True)
        return {name: piece.view(len(piece), *shape) for piece, (name, shape) in named}


def _stacked(rows: Batch, shape: torch.Size) -> Batch:
    """Return rows of all clients as (n_orders, batch_size, ...)."""
    return each(lambda values: values.view(*shape, *values.shape[1:]), rows)


def stack_of(engine: Engine, model: FlatModel, participants: float, asked: str = "auto") -> Stack | None:
    """Return a stack if it is faster or requested, and torch can batch the model; otherwise None.

    It is faster for small models with several `participants` per round on average. The choice depends only on the run,
    not on the machine, so that a resumed run has the same bits on another machine.
    """
    if engine.rule.local is not None or engine.rule.local_epochs is not None:
        return None  # a stack takes plain steps on batches of one size
    if model.traits.draws or model.traits.moving or model.traits.restarted or isinstance(engine.training.inputs, Items):
        return None  # of models without buffers or random numbers of their own, on examples in memory
    if asked == "plain" or (asked == "auto" and (participants < _FEW or not _is_small(engine, model))):
        return None
    start, n = model.weights.clone(), len(engine.parts)
    stack = Stack(engine, model, min(_DEEPEST, max(_LEAST, math.ceil(participants))))
    try:
        stack.train(model, [Order(client, 0, start, 1, 0.0) for client in range(min(_LEAST, n))])
    except (RuntimeError, ValueError, TypeError, NotImplementedError):  # vmap cannot batch this model: train one by one
        return None
    return stack


def _is_small(engine: Engine, model: FlatModel) -> bool:
    if model.weights.numel() > _FEW_WEIGHTS:
        return False
    inputs, targets = engine.training.batch(torch.arange(min(engine.rule.batch_size, len(engine.training))))
    with FlopCounterMode(display=False) as counter:
        model.gradient(engine.task.loss(called(model.module, inputs), targets))
    return bool(counter.get_total_flops() <= _SHORT_STEP)
