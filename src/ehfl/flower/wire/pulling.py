"""Fetches replies from Flower's grid: directly if that never blocks (simulation), otherwise in the background.

A node announces its reply before the upload, and Flower's `pull_messages` then waits for the upload: up to three
minutes for a node that died during it, longer for a slow one. All replies requested in the same call wait with it. The
call also retries for ever while the SuperLink is down. With real nodes, therefore, up to 16 threads each fetch the
replies of a few nodes: a late node delays no deadline and few other nodes.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Collection, Sequence
from queue import Empty, SimpleQueue
from typing import Protocol

from flwr.app import Message
from flwr.serverapp import Grid

from ehfl.validation import one_line

log = logging.getLogger("ehfl.flower")
THREADS = 16
REQUESTS_PER_SECOND = 20  # of all threads together, so that the SuperLink has time for the nodes


class Replies(Protocol):
    """A source of replies."""

    def arrived(self, pending: Collection[str]) -> list[Message]:
        """Return the replies to these message ids that arrived since the last call."""
        ...

    def close(self) -> None:
        """Stop fetching."""
        ...


def pause(elapsed: float) -> float:
    """Return the time to the next poll [s], `elapsed` seconds after the request: a twentieth of it, in [0.02, 0.5].

    >>> pause(0), pause(2), pause(60)
    (0.02, 0.1, 0.5)
    """
    return min(max(0.05 * elapsed, 0.02), 0.5)


def pull(grid: Grid, message_ids: Collection[str]) -> list[Message]:
    """Return the available replies; on an error of the grid, log it and return none."""
    try:
        return list(grid.pull_messages(list(message_ids)))
    except Exception as error:
        log.warning("replies could not be fetched, trying again: %s", one_line(error))
        return []


class Direct:
    """Fetches replies in the calling thread; for simulation, where this never blocks."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    def arrived(self, pending: Collection[str]) -> list[Message]:
        """Return the available replies to these messages."""
        return pull(self._grid, pending)

    def close(self) -> None:
        """Do nothing: there are no threads to stop."""


class Background:
    """Threads that each fetch the replies of a few nodes; `close` abandons a thread that is stuck in Flower."""

    def __init__(self, grid: Grid, message_ids: Sequence[str]) -> None:
        self._grid = grid
        self._queue: SimpleQueue[Message | BaseException] = SimpleQueue()
        self._closed = threading.Event()
        threads = min(len(message_ids), THREADS)
        self._least_pause = threads / REQUESTS_PER_SECOND
        for first in range(threads):
            mine = set(message_ids[first::threads])
            threading.Thread(target=self._fetch, args=(mine,), name="ehfl-replies", daemon=True).start()

    def arrived(self, pending: Collection[str]) -> list[Message]:
        """Return the replies fetched since the last call; re-raise an exception that ended a thread."""
        messages: list[Message] = []
        while True:
            try:
                item = self._queue.get_nowait()
            except Empty:
                return messages
            if isinstance(item, BaseException):  # Flower's signal that the run was stopped
                raise item
            messages.append(item)

    def close(self) -> None:
        """Let every thread end after its current call."""
        self._closed.set()

    def _fetch(self, message_ids: set[str]) -> None:
        elapsed = 0.0
        try:
            while message_ids and not self._closed.wait(wait := max(pause(elapsed), self._least_pause)):
                elapsed += wait
                self._fetch_once(message_ids)
        except BaseException as error:
            self._queue.put(error)

    def _fetch_once(self, message_ids: set[str]) -> None:
        for message in pull(self._grid, message_ids):
            # Flower delivers a reply once; afterwards its message id is unknown.
            message_ids.discard(message.metadata.reply_to_message_id)
            self._queue.put(message)
