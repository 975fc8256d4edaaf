"""A slow, lossy link into a network namespace: packets of IP wait, and some are lost.

The namespace's only way out is a pair of TUN devices, between which a thread of this process carries the packets: it
keeps each for a while and drops some. That is what netem does in kernels that have it; the one that this was written on
has namespaces and TUN, but no netem. TCP and all above it see a real link.
"""

from __future__ import annotations

import fcntl
import heapq
import os
import random
import select
import struct
import subprocess
import threading
import time
from types import TracebackType

_TUNSETIFF, _IFF_TUN, _IFF_NO_PI = 0x400454CA, 0x0001, 0x1000  # linux/if_tun.h
_MOST_BYTES = 65536
_LOOK_SECONDS = 0.1


class Link:
    """A link into a namespace; `delay` [s] each way and `loss` [share of packets] can be changed at any time."""

    def __init__(self, *, delay: float, loss: float) -> None:
        self.delay, self.loss = delay, loss
        self.carried = self.lost = 0  # packets
        self.namespace = f"ehfl-{os.getpid()}"
        net = f"198.18.{os.getpid() % 256}"  # RFC 2544: addresses for trials, which no network uses
        self.here, self.there = f"{net}.1", f"{net}.2"
        self._ends: list[int] = []
        self._chance = random.Random(0)
        self._over = threading.Event()
        self._carrier = threading.Thread(target=self._carry)

    def __enter__(self) -> Link:
        near, far = f"ehfl{os.getpid()}n", f"ehfl{os.getpid()}f"
        try:
            _ip("netns", "add", self.namespace)
            for name in (near, far):
                self._ends.append(_tun(name))
            _ip("link", "set", far, "netns", self.namespace)
            _ip("addr", "add", f"{self.here}/30", "dev", near)
            _ip("link", "set", near, "up")
            _ip("-n", self.namespace, "addr", "add", f"{self.there}/30", "dev", far)
            _ip("-n", self.namespace, "link", "set", far, "up")
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
        while not self._over.is_set():
            wait = on_the_way[0][0] - time.monotonic() if on_the_way else _LOOK_SECONDS
            for end in select.select(self._ends, [], [], min(max(wait, 0.0), _LOOK_SECONDS))[0]:
                packet = os.read(end, _MOST_BYTES)
                if self._chance.random() < self.loss:
                    self.lost += 1
                    continue
                self.carried += 1
                other = self._ends[1 - self._ends.index(end)]
                heapq.heappush(on_the_way, (time.monotonic() + self.delay, self.carried, other, packet))
            while on_the_way and on_the_way[0][0] <= time.monotonic():
                _, _, end, packet = heapq.heappop(on_the_way)
                os.write(end, packet)

    def _close(self) -> None:
        for end in self._ends:
            os.close(end)  # which removes the device, wherever it is
        subprocess.run(["ip", "netns", "del", self.namespace], capture_output=True, check=False)


def _tun(name: str) -> int:
    end = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
    fcntl.ioctl(end, _TUNSETIFF, struct.pack("16sH22x", name.encode(), _IFF_TUN | _IFF_NO_PI))
    return end


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True, text=True)
