"""A slow, lossy link between a SuperLink and one of its nodes: packets of IP are late and lost, rounds are not.

The node lives in a network namespace of its own. Its only way out is a pair of TUN devices, between which a thread of
this process carries the packets: it keeps each for a while and drops some, which is what netem does in kernels that
have it (the one this was written on does not). TCP, TLS and Flower above see a real link.
"""

from __future__ import annotations

import fcntl
import heapq
import os
import random
import select
import shutil
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from types import TracebackType

import pytest

_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000  # linux/if_tun.h
_MOST_BYTES = 65536


class Link:
    """A link into a namespace; `delay` [s] each way and `loss` [share of packets] can be changed at any time."""

    def __init__(self, *, delay: float, loss: float) -> None:
        self.delay, self.loss = delay, loss
        self.lost = 0  # packets
        self.namespace = f"ehfl-{os.getpid()}"
        net = f"198.18.{os.getpid() % 256}"  # RFC 2544: addresses for trials, which no network uses
        self.here, self.there = f"{net}.1", f"{net}.2"
        self._ends: list[int] = []
        self._chance = random.Random(0)
        self._over = threading.Event()
        self._carrier = threading.Thread(target=self._carry)

    def __enter__(self) -> Link:
        try:
            near, far = f"ehfl{os.getpid()}n", f"ehfl{os.getpid()}f"
            _ip("netns", "add", self.namespace)
            self._ends = [_tun(near), _tun(far)]
            _ip("link", "set", far, "netns", self.namespace)
            _ip("addr", "add", f"{self.here}/30", "dev", near)
            _ip("link", "set", near, "up")
            for words in (["addr", "add", f"{self.there}/30", "dev", far], ["link", "set", far, "up"]):
                _ip("-n", self.namespace, *words)
            _ip("-n", self.namespace, "link", "set", "lo", "up")  # where the node itself listens
        except BaseException:
            self._close()
            raise
        self._carrier.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._carrier.join()
        self._close()

    def inside(self, *command: str) -> list[str]:
        """Return the command that runs another one at the far end."""
        return ["ip", "netns", "exec", self.namespace, *command]

    def _carry(self) -> None:
        on_the_way: list[tuple[float, int, int, bytes]] = []  # due, number, end, packet
        number = 0
        while not self._over.is_set():
            wait = on_the_way[0][0] - time.monotonic() if on_the_way else 0.1
            for end in select.select(self._ends, [], [], min(max(wait, 0.0), 0.1))[0]:
                packet = os.read(end, _MOST_BYTES)
                if self._chance.random() < self.loss:
                    self.lost += 1
                    continue
                number += 1
                other = self._ends[1 - self._ends.index(end)]
                heapq.heappush(on_the_way, (time.monotonic() + self.delay, number, other, packet))
            while on_the_way and on_the_way[0][0] <= time.monotonic():
                _, _, end, packet = heapq.heappop(on_the_way)
                os.write(end, packet)

    def _close(self) -> None:
        for end in self._ends:
            os.close(end)  # which removes the devices
        subprocess.run(["ip", "netns", "del", self.namespace], capture_output=True, check=False)


def _tun(name: str) -> int:
    end = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(end, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI))
    return end


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


@pytest.fixture
def link() -> Iterator[Link]:
    if shutil.which("ip") is None:
        pytest.skip("no ip command (iproute2)")
    try:
        entered = Link(delay=0.3, loss=0.05).__enter__()
    except subprocess.CalledProcessError as error:
        pytest.skip(f"this machine gives no network namespace: {error.stderr.strip()}")
    except OSError as error:
        pytest.skip(f"this machine gives no TUN device: {error}")
    try:
        yield entered
    finally:
        entered.__exit__(None, None, None)


def reached(link: Link, port: int) -> subprocess.Popen[bytes]:
    """Start a program at the far end that connects to us and sends what it hears back."""
    echo = f"import socket; s = socket.create_connection(('{link.here}', {port})); s.sendall(s.recv(1))"
    return subprocess.Popen(link.inside("python3", "-c", echo))


def test_a_word_and_its_echo_take_a_delay_each_way_and_none_passes_where_all_are_lost(link: Link) -> None:
    link.loss = 0.0
    with socket.create_server((link.here, 0)) as server:
        echo = reached(link, server.getsockname()[1])
        server.settimeout(20)
        end, _ = server.accept()
        with end:
            asked = time.monotonic()
            end.sendall(b"?")
            assert end.recv(1) == b"?"
            assert time.monotonic() - asked >= 2 * link.delay
        assert echo.wait(10) == 0

        link.loss = 1.0
        echo = reached(link, server.getsockname()[1])
        server.settimeout(3)
        with pytest.raises(TimeoutError):
            server.accept()
        echo.kill()
        echo.wait()
        assert link.lost > 0
