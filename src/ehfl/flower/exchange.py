"""One question to many nodes: each answers, fails or stays silent, and by the deadline the asker knows which."""

from __future__ import annotations

from dataclasses import dataclass

from flwr.app import RecordDict


@dataclass(frozen=True, slots=True)
class Reply:
    """What came of asking a node: either its content, or one line that says why there is none."""

    node: int  # Flower's id of the node
    content: RecordDict | None
    error: str | None = None
