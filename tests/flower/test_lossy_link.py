"""A node behind a slow, lossy link: its messages are late and lost, rounds are not."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from ehfl.experiment import read_spec
from ehfl.flower import for_flower, write_app
from ehfl.flower.local import deployment
from ehfl.flower.local.deployment import INSECURE, Deployment, free_port, key_value_pairs
from ehfl.flower.local.processes import Process, flower_environment, program
from ehfl.runs import Devices, read_history
from slow_link import Link
from waiting import Start

DEADLINE = 40.0  # for each of a round's two questions [s]; on busy cores a node takes 20 s for an answer
NEAR, FAR = 0, 1  # clients
SPEC = {
    "name": "lossy", "rounds": "60", "seeds": "1", "scheduler": "greedy",
    "fleet.clients": "2", "fleet.rate": "1.0", "fleet.initial": "1",  # all can pay in every round
    "learning.step_size": "0.1", "learning.local_steps": "1", "evaluation.every": "60",
    "flower.deadline": f"{DEADLINE}",
}  # fmt: skip


@pytest.fixture
def link() -> Iterator[Link]:
    """A link of 300 ms each way that loses one packet in twenty."""
    if shutil.which("ip") is None:
        pytest.skip("no ip command (iproute2)")
    with ExitStack() as stack:
        try:
            entered = stack.enter_context(Link(delay=0.3, loss=0.05))
        except subprocess.CalledProcessError as error:
            pytest.skip(f"this machine gives no network namespace: {error.stderr.strip()}")
        except OSError as error:
            pytest.skip(f"this machine gives no TUN device: {error}")
        yield entered


def echoing(link: Link, port: int, start_process: Start) -> subprocess.Popen[str]:
    """Start a program at the far end that connects to us and sends back what it hears."""
    echo = f"import socket; s = socket.create_connection(('{link.here}', {port})); s.sendall(s.recv(1))"
    return start_process(link.inside("python3", "-c", echo))


def test_a_word_and_its_echo_take_a_delay_each_way_and_nothing_passes_where_all_is_lost(
    link: Link, start_process: Start
) -> None:
    link.loss = 0.0
    with socket.create_server((link.here, 0)) as server:
        server.settimeout(20)
        echo = echoing(link, server.getsockname()[1], start_process)
        end, _ = server.accept()
        with end:
            asked = time.monotonic()
            end.sendall(b"?")
            assert end.recv(1) == b"?"
            assert time.monotonic() - asked >= 2 * link.delay
        assert echo.wait(10) == 0

        link.loss = 1.0
        server.settimeout(2)
        echoing(link, server.getsockname()[1], start_process)
        with pytest.raises(TimeoutError):
            server.accept()
        assert link.lost > 0


class Watch:
    """The rounds of a run as they come."""

    def __init__(self, runs: Path) -> None:
        self._runs = runs
        self.seen: list[Devices] = []

    def until(self, holds: Callable[[], bool], seconds: float) -> None:
        """Look at the rounds until something holds of them; fail if it does not in time."""
        deadline = time.monotonic() + seconds
        while not holds():
            assert time.monotonic() < deadline, self.seen
            time.sleep(0.2)
            for path in self._runs.rglob("rounds.jsonl"):
                new = read_history(path)[len(self.seen) :]
                self.seen += [record.devices for record in new if record.devices is not None]

    def turns(self, client: int, since: int = 0) -> list[int]:
        """Return the rounds in which a client's work counted."""
        return [t for t, seen in enumerate(self.seen) if t >= since and client in seen.took_part]


@pytest.mark.slow
@pytest.mark.deployment
def test_rounds_end_by_their_deadline_whatever_the_link_does(
    tmp_path: Path, link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deployment, "HOST", link.here)  # the SuperLink listens where the link begins
    monkeypatch.setenv("NO_PROXY", link.here)
    spec = for_flower(read_spec(overrides=[f"{key}={value}" for key, value in SPEC.items()]))
    write_app(tmp_path / "app", spec, tmp_path / "runs")
    watch = Watch(tmp_path / "runs")
    with Deployment(tmp_path / "up") as up:
        up.start_node(NEAR, state=str(tmp_path / "near"))
        up.nodes[FAR] = far_node(up, link, tmp_path / "far")
        up.submit(tmp_path / "app")
        watch.until(lambda: bool(watch.turns(FAR)), 10 * DEADLINE)  # slow as it is, its work comes through
        assert link.lost > 0

        link.loss = 1.0  # a tunnel, in which rounds end without it
        dark = len(watch.seen) + 1  # the round under way may have its reply already
        watch.until(lambda: len(watch.turns(NEAR, since=dark)) >= 2, 8 * DEADLINE)
        assert watch.turns(FAR, since=dark) == []

        link.loss = 0.05  # and its end: nobody has to restart anything
        light = len(watch.seen)
        watch.until(lambda: bool(watch.turns(FAR, since=light)), 10 * DEADLINE)
        turn = watch.turns(FAR, since=light)[0]
        back = watch.seen[turn]
        assert back.energy[FAR] == 1 + turn - (back.spent[FAR] - 1)  # it harvested in the dark, a unit a round


def far_node(up: Deployment, link: Link, folder: Path) -> Process:
    """Start a SuperNode at the far end of the link."""
    told = key_value_pairs({"client-id": FAR, "state": str(folder)})
    place = ["--superlink", up.address, "--host", "127.0.0.1", "--port", str(free_port())]  # its own loopback
    command = link.inside(program("flower-supernode"), *INSECURE, *place, "--node-config", told)
    environment = flower_environment(up.folder / "homes" / "far", {"OMP_NUM_THREADS": "1"})
    return Process(command, environment, up.folder / "far.log", patience=8.0)
