"""Free ports on loopback."""

from __future__ import annotations

import os
import socket
from itertools import chain

from ehfl.validation import UserError

HOST = "127.0.0.1"
# Below the ephemeral range: an outgoing connection could take the port of a SuperLink that restarts, and a node that
# reconnects could even connect to itself.
_FIRST, _LAST = 20_000, 32_000
_taken: set[int] = set()  # returned earlier, to programs that may not listen yet


def free_port() -> int:
    """Return a free port, a different one on every call."""
    start = _FIRST + os.getpid() * 97 % (_LAST - _FIRST)  # concurrent processes search different ranges
    for port in chain(range(start, _LAST), range(_FIRST, start)):
        if port not in _taken and _is_free(port):
            _taken.add(port)
            return port
    raise UserError(f"no port of {HOST} is free in [{_FIRST}, {_LAST})")


def _is_free(port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(
            socket.SOL_SOCKET, socket.SO_REUSEADDR, 1
        )  # as servers do: only listening sockets block the port
        try:
            one.bind((HOST, port))
        except OSError:
            return False
    return True
