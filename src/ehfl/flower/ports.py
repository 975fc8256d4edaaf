"""Ports of loopback that nobody listens on."""

from __future__ import annotations

import os
import socket
from itertools import chain

from ehfl.validation import UserError

HOST = "127.0.0.1"
# Below what systems give to outgoing connections: one of those could have the port of a SuperLink that is down for a
# moment, and a node that tries to reach it there could even find itself.
_FIRST, _LAST = 20_000, 32_000
_taken: set[int] = set()  # by this process, for programs that may not have begun to listen


def free_port() -> int:
    """Return a port that nobody listens on, each time another one."""
    start = _FIRST + os.getpid() * 97 % (_LAST - _FIRST)  # two processes that look at the same time look elsewhere
    for port in chain(range(start, _LAST), range(_FIRST, start)):
        if port not in _taken and _is_free(port):
            _taken.add(port)
            return port
    raise UserError(f"no port of {HOST} is free in [{_FIRST}, {_LAST})")


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # as servers do: only who listens is in the way
        try:
            one.bind((HOST, port))
        except OSError:
            return False
    return True
