"""How replies are fetched from Flower's grid: at once where that never blocks, else in the background.

A node announces its reply before it has uploaded it, and Flower's `pull_messages` then waits for the upload: up to
three minutes for a node that died in the middle of it, longer for a slow one, and so does everybody else whose reply
was asked for in the same call. It also retries for ever while the SuperLink is away. So where nodes are real each of up
to 16 threads asks for the replies of its own few nodes: whoever is late delays nobody else and no deadline.
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
    """Where replies come from."""

    def arrived(self, pending: Collection[str]) -> list[Message]:
        """Return what has come since the last call, of replies to the messages with these ids."""
        ...

    def close(self) -> None:
        """Fetch no more."""
        ...


def pause(elapsed: float) -> float:
    """Return how long to wait [s] before looking again, `elapsed` seconds after asking: a twentieth, in [0.02, 0.5].

    >>> pause(0), pause(2), pause(60)
    (0.02, 0.1, 0.5)
    """
    return min(max(0.05 * elapsed, 0.02), 0.5)


def pull(grid: Grid, message_ids: Collection[str]) -> list[Message]:
    """Return the replies that are there; none, and a line in the log, if the grid fails."""
    try:
        return list(grid.pull_messages(list(message_ids)))
    except Exception as error:
        log.warning("replies could not be fetched, trying again: %s", one_line(error))
        return []


class Direct:
    """Replies are fetched when they are asked for, as is right in simulation."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid

    def arrived(self, pending: Collection[str]) -> list[Message]:
        """Return the replies to these messages that are there now."""
        return pull(self._grid, pending)

    def close(self) -> None:
        """Nothing goes on between calls."""


class Background:
    """Threads fetch replies, each those of a few nodes; one that is stuck in Flower is left behind when closed."""

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
        """Return what the threads have fetched since the last call; raise what ended one of them."""
        messages: list[Message] = []
        while True:
            try:
                item = self._queue.get_nowait()
            except Empty:
                return messages
            if isinstance(item, BaseException):  # Flower says in this way that the run was stopped
                raise item
            messages.append(item)

    def close(self) -> None:
        """Let every thread end after the call that it is in."""
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
            # Flower hands out a reply once and calls its message unknown from then on.
            message_ids.discard(message.metadata.reply_to_message_id)
            self._queue.put(message)
