"""A client app that hangs gives its node back when nobody takes its answer any more."""

from __future__ import annotations

import signal
import threading
import time
from pathlib import Path

import pytest
from flwr.app import Context, Message, RecordDict

from ehfl.flower.app.bundle import digest_of_run
from ehfl.flower.app.specs import bundle_of
from ehfl.flower.node import client_app as client
from ehfl.flower.node.client_app import ended_by
from ehfl.flower.wire.messages import Answer, Request
from loopback_grid import tiny


@pytest.mark.usefixtures("in_server")
def test_a_node_that_hangs_says_so_when_its_message_has_lived(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "report", lambda *_: time.sleep(60))
    (run,) = (spec := tiny()).runs()
    request = Request("0123456789abcdef", 4, run.arm.label, run.seed, digest_of_run(run.facts()))
    message = Message(request.content(), 11, "query", ttl=0.2)
    start = time.monotonic()

    reply = client.client_app(bundle_of(spec), tmp_path)(message, Context(7, 11, {"client-id": 2}, RecordDict(), {}))

    answer = Answer.read(reply.content)
    assert time.monotonic() - start < 30
    assert (answer.round, answer.client) == (4, 2)
    assert answer.refused == "it took more than 0.2 s: the server no longer accepts an answer"


def test_the_alarm_clock_is_left_as_it_was() -> None:
    before = signal.getsignal(signal.SIGALRM)
    with ended_by(60):
        assert signal.getsignal(signal.SIGALRM) is not before

    assert signal.getsignal(signal.SIGALRM) is before
    assert signal.getitimer(signal.ITIMER_REAL) == (0, 0)


def test_work_in_another_thread_has_no_limit() -> None:
    done: list[bool] = []

    def work() -> None:
        with ended_by(0.01):
            time.sleep(0.1)
            done.append(True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()

    assert done == [True]
