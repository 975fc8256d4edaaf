"""The messages between server and nodes, and their encoding in Flower's records. Every received value is checked.

A request contains the arm and the seed (the node has the spec: `bundle`), the round and, for training, the step size
and the aggregation's assignment: numbers, labels and digests, nothing that selects a class. An answer contains the
client's number, the state of its energy account, and the result of training or the reason for a refusal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict
from numpy.typing import NDArray

from ehfl.energy import EnergyTotals
from ehfl.validation import UserError, short

PROTOCOL = 6
_FACTS, _MODEL, _WEIGHTS = "ehfl", "model", "weights"  # the names of records
_NOTHING = EnergyTotals(0, 0, 0, 0, 0, 0)

Weights = NDArray[np.float32]  # (n_params,)


class BadMessage(UserError):
    """A message with a missing or invalid value."""


@dataclass(frozen=True, eq=False, slots=True)
class Request:
    """A request for a node's energy in a round or, with a model, to train that model."""

    run: str  # the token of the run in the node's account
    round: int
    arm: str  # the label of the arm that is played
    seed: int
    digest: str  # of the run in the server's spec
    eta: float = 0.0
    mains_powered: bool = False
    weights: Weights | None = None  # the model that the client starts from
    pull: float = 0.0  # pull * (y - weights) is added to each gradient at y
    shift: Weights | None = None  # is added to each gradient
    steps: int = 0  # local steps to take, and to pay for; 0 for all K
    buffers: Weights | None = None  # of the model, if training changes any

    def content(self, other: RecordDict | None = None) -> RecordDict:
        """Return the records; `other` is the content of a request with the same model, whose bytes are shared."""
        facts = {"protocol": PROTOCOL} | {name: getattr(self, name) for name in _ASKED}
        model = _record(self.weights) if other is None else other.array_records[_MODEL]
        return _packed(facts, {_MODEL: model, "shift": _record(self.shift), "buffers": _record(self.buffers)})

    @staticmethod
    def read(content: RecordDict) -> Request:
        """Return what `content` returned, or raise BadMessage."""
        facts = _facts(content)
        if facts.get("protocol") != PROTOCOL:
            theirs = facts.get("protocol")
            raise BadMessage(f"the server speaks protocol {theirs!r}, this node {PROTOCOL}: they need the same ehfl")
        asked = {name: _value(facts, name, kind) for name, kind in _ASKED.items()}
        weights, shift, buffers = (_weights(content, name) for name in (_MODEL, "shift", "buffers"))
        return Request(**asked, weights=weights, shift=shift, buffers=buffers)


@dataclass(frozen=True, eq=False, slots=True)
class Answer:
    """A node's report in a round, with the result of training if it was requested."""

    run: str
    round: int  # the question's, or the later one that its account stands at
    client: int
    energy: int = 0  # E_i(t), before it pays
    totals: EnergyTotals = _NOTHING  # of its account, what it has paid in this round included
    refused: str = ""  # the reason, if it refuses the request
    loss: float = 0.0
    steps: int = 0
    examples: int = 0
    weights: Weights | None = None
    owns_data: bool = False  # whether it trains on its own examples, unknown to the server
    start_loss: float = 0.0  # of its first minibatch
    buffers: Weights | None = None  # of the trained model, if training changes any

    def content(self) -> RecordDict:
        """Return the records."""
        values = {name: getattr(self, name) for name in _SAID} | asdict(self.totals)
        return _packed(values, {_MODEL: _record(self.weights), "buffers": _record(self.buffers)})

    @property
    def model(self) -> Weights:
        """The trained model; the answer must have one."""
        assert self.weights is not None
        return self.weights

    @staticmethod
    def read(content: RecordDict) -> Answer:
        """Return what `content` returned, or raise BadMessage."""
        facts = _facts(content)
        totals = EnergyTotals(**{field.name: _value(facts, field.name, int) for field in fields(EnergyTotals)})
        said = {name: _value(facts, name, kind) for name, kind in _SAID.items()}
        return Answer(**said, totals=totals, weights=_weights(content, _MODEL), buffers=_weights(content, "buffers"))


# The facts of both messages and their types; an int is a count.
_ASKED: dict[str, type] = {
    "run": str, "round": int, "arm": str, "seed": int, "digest": str, "eta": float, "mains_powered": bool,
    "pull": float, "steps": int,
}  # fmt: skip
_SAID: dict[str, type] = {
    "run": str, "round": int, "client": int, "energy": int, "refused": str, "loss": float, "steps": int,
    "examples": int, "owns_data": bool, "start_loss": float,
}  # fmt: skip


def _packed(facts: dict[str, Any], arrays: Mapping[str, ArrayRecord | None]) -> RecordDict:
    content = RecordDict({_FACTS: ConfigRecord(facts)})
    for name, record in arrays.items():
        if record is not None:
            content[name] = record
    return content


def _record(weights: Weights | None) -> ArrayRecord | None:
    return None if weights is None else ArrayRecord({_WEIGHTS: Array(weights)})


def _facts(content: RecordDict) -> ConfigRecord:
    found = content.config_records.get(_FACTS)
    if found is None:
        raise BadMessage("the message is not of ehfl")
    return found


def _value(facts: ConfigRecord, name: str, kind: type) -> Any:
    value: Any = facts.get(name)
    if type(value) is not kind:  # True is an int to isinstance
        raise BadMessage(f"{name} must be of type {kind.__name__}, got {short(repr(value))}")
    if kind is int and isinstance(value, int) and not 0 <= value < 2**62:
        raise BadMessage(f"{name} must be in [0, 2^62), got {value}")
    return value


def _weights(content: RecordDict, name: str) -> Weights | None:
    """Return a vector of the message; its bytes are decoded as numbers only, never as pickled objects."""
    record = content.array_records.get(name)
    if record is None:
        return None
    if _WEIGHTS not in record:
        raise BadMessage(f"the {name} has no {_WEIGHTS}")
    try:
        weights = record[_WEIGHTS].numpy()
    except Exception as error:  # NumPy and Flower may raise anything on invalid bytes
        raise BadMessage(f"the {name} cannot be read: {short(str(error))}") from error
    if not isinstance(weights, np.ndarray):  # np.load also reads archives of several arrays
        raise BadMessage(f"the {name} must be one vector of float32, got an archive")
    if weights.dtype != np.float32 or weights.ndim != 1:
        raise BadMessage(f"the {name} must be one vector of float32, got {weights.dtype} of shape {weights.shape}")
    return weights
