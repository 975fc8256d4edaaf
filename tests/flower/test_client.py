"""A node: what its node-config may say, what it reports, what it refuses, and how little a question costs it."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w
from flwr.app import Context, Message, RecordDict, UserConfig

from ehfl.experiment import Spec
from ehfl.flower.app.bundle import digest_of_run
from ehfl.flower.app.specs import bundle_of
from ehfl.flower.node.client_app import NodeConfig, client_app
from ehfl.flower.wire.messages import Answer, Request
from ehfl.validation import InvalidValue
from loopback_grid import tiny

pytestmark = pytest.mark.usefixtures("in_server", "no_fsync")
RUN = "0123456789abcdef"


SPEC = tiny(fleet={"rate": 1.0})


def request(t: int = 2, spec: Spec = SPEC, **given: Any) -> Request:
    (run,) = spec.runs()
    return Request(RUN, t, run.arm.label, run.seed, digest_of_run(run.facts()), **given)


def asked(kind: str, asking: Request, config: dict[str, Any], state: Path, spec: Spec = SPEC) -> Answer:
    message = Message(asking.content(), 11, kind)
    context = Context(7, 11, {"client-id": 1, **config}, RecordDict(), {})
    return Answer.read(client_app(bundle_of(spec), state)(message, context).content)


def queried(config: dict[str, Any], state: Path, t: int = 2, spec: Spec = SPEC) -> Answer:
    return asked("query", request(t, spec), config, state, spec)


def trained(config: dict[str, Any], state: Path, t: int = 2, spec: Spec = SPEC, size: int = 20) -> Answer:
    weights = np.zeros(size, np.float32)
    return asked("train", request(t, spec, eta=0.1, weights=weights), config, state, spec)


def test_a_node_builds_its_own_spec_and_names_both_digests_where_the_servers_differs(tmp_path: Path) -> None:
    other = request(spec=tiny(fleet={"rate": 0.5}))

    answer = asked("query", other, {}, tmp_path)

    own = request().digest
    assert other.digest in answer.refused and own in answer.refused and own != other.digest
    assert not list(tmp_path.rglob("*.json"))  # nothing was built, no account begun
    assert "no arm" in asked("query", replace(request(), arm="os:system"), {}, tmp_path).refused


def test_text_of_the_server_constructs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []
    monkeypatch.setattr(os, "system", ran.append)
    crafted = {"name": "os:system", "command": "id"}
    facts = SPEC.runs()[0].facts()
    spec = tomli_w.dumps(facts | {"code": str(tmp_path), "fleet": {"clients": 4, "harvest": crafted}})
    content = request().content()
    content.config_records["ehfl"].update({"spec": spec, "code": str(tmp_path), "harvest": "os:system"})

    message = Message(content, 11, "query")
    context = Context(7, 11, {"client-id": 1}, RecordDict(), {})
    answer = Answer.read(client_app(bundle_of(SPEC), tmp_path)(message, context).content)

    assert (answer.energy, ran) == (2, [])


def test_a_digest_ignores_what_an_operator_may_change() -> None:
    assert request(spec=tiny(fleet={"rate": 1.0}, flower={"deadline": 9})).digest == request().digest
    assert request(spec=tiny(fleet={"rate": 1.0}, learning={"task": "digits"})).digest != request().digest


MISTAKES: dict[str, tuple[dict[str, Any], str]] = {
    "unknown key": ({"cliend-id": 3}, "node-config must be of client-id, state, meter, harvest, data, examples, got"),
    "no number": ({"client-id": "three"}, "client-id must be a whole number >= 0, got 'three'"),
    "negative": ({"client-id": -1}, "client-id must be a whole number >= 0, got -1"),
    "truth": ({"client-id": True}, "client-id must be a whole number >= 0, got True"),
    "out of range": ({"client-id": 4}, "client-id must be a whole number in [0, 3], got 4"),
    "no meter": ({"meter": "sundial"}, "meter must be one of"),
    "meter of numbers": ({"meter": 5}, "meter must be a text in quotes, got 5"),
    "examples": ({"examples": "some"}, "examples must be dealt or all, got some"),
    "no harvest": ({"harvest": "moonlight"}, "harvest must be one of"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_a_mistake_in_the_node_config_is_one_clear_line(mistake: str, tmp_path: Path) -> None:
    config, line = MISTAKES[mistake]

    answer = queried(config, tmp_path)

    assert answer.refused.startswith(line) and "\n" not in answer.refused
    assert (answer.run, answer.round) == (RUN, 2)


def test_a_node_must_say_which_client_it_is(tmp_path: Path) -> None:
    message = Message(request().content(), 11, "query")
    answer = Answer.read(client_app(bundle_of(SPEC), tmp_path)(message, Context(7, 11, {}, RecordDict(), {})).content)

    assert answer.refused == "node-config must be one that says which client this is, as in client-id=3, got none"
    simulated: UserConfig = {"partition-id": 2, "num-partitions": 3}  # as Flower's simulation says it
    assert NodeConfig.read(simulated, tmp_path).client == 2
    with pytest.raises(InvalidValue, match="client-id must be"):
        NodeConfig.read({"client-id": 1.5}, tmp_path)


def test_another_protocol_is_one_line(tmp_path: Path) -> None:
    content = request().content()
    content.config_records["ehfl"]["protocol"] = 1
    message = Message(content, 11, "query")

    answer = Answer.read(
        client_app(bundle_of(SPEC), tmp_path)(message, Context(7, 11, {"client-id": 1}, RecordDict(), {})).content
    )

    assert answer.refused == "the server speaks protocol 1, this node 6: they need the same ehfl"


def test_a_node_harvests_what_it_says_itself(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("4\n5\n0\n0\n0\n0\n")

    assert queried({"harvest": f"replay:{trace}"}, tmp_path / "own").energy == 9
    assert queried({}, tmp_path / "common").energy == 2


def test_a_harvest_that_only_the_server_has_is_one_line_and_a_node_may_have_its_own(tmp_path: Path) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("1,1,1,1\n" * 6)
    spec = tiny(fleet={"clients": 4, "harvest": f"replay:{trace}"})
    asking = request(spec=spec)
    trace.unlink()

    refused = asked("query", asking, {}, tmp_path, spec).refused
    assert "trace.csv" in refused and "\n" not in refused
    own = asked("query", asking, {"harvest": "bernoulli:1.0"}, tmp_path, spec)
    assert own.energy == 2


def test_a_meter_is_read_instead_of_the_harvest(tmp_path: Path) -> None:
    reading = tmp_path / "joules"
    reading.write_text("3.5")
    spec = tiny(fleet={"rate": 1.0, "unit": "J", "cost": 2})

    config = {"meter": f"file:{reading}"}
    assert queried(config, tmp_path / "state", spec=spec).energy == 3
    paid = trained(config, tmp_path / "state", spec=spec)
    assert (paid.energy, paid.totals.spent, paid.totals.stored) == (3, 2, 1)


def test_a_node_may_train_on_all_examples_that_it_has(tmp_path: Path) -> None:
    assert trained({}, tmp_path / "one").examples == 250
    assert trained({"examples": "all"}, tmp_path / "two").examples == 1000


def test_data_of_the_nodes_own_are_looked_for_where_it_says(tmp_path: Path) -> None:
    answer = trained({"data": str(tmp_path / "nowhere")}, tmp_path)

    assert answer.refused == f"learning.data must be left out: quadratic takes none, got {tmp_path / 'nowhere'}"
    assert queried({}, tmp_path).totals.spent == 0  # refused before it was paid for


def test_a_model_of_another_size_is_refused_before_it_is_paid_for(tmp_path: Path) -> None:
    answer = trained({}, tmp_path, size=7)

    assert answer.refused == "the message must be one with a model of 20 weights, got a model of 7 weights"
    assert queried({}, tmp_path).totals.spent == 0


def test_a_shift_of_another_size_is_refused_before_it_is_paid_for(tmp_path: Path) -> None:
    start, shift = np.zeros(20, np.float32), np.zeros(7, np.float32)

    answer = asked("train", request(eta=0.1, weights=start, shift=shift), {}, tmp_path)

    assert answer.refused == "the message must be one with a shift of 20 weights, got a shift of 7 weights"
    assert queried({}, tmp_path).totals.spent == 0


def test_what_is_assigned_moves_every_step(tmp_path: Path) -> None:
    spec = tiny(fleet={"rate": 1.0}, learning={"clip": 1e-30})  # gradients count for nothing, only what is added
    start, shift = np.full(20, 8, np.float32), np.full(20, 3, np.float32)

    def moved(t: int, **given: Any) -> np.ndarray[Any, Any]:
        order = request(t, spec, eta=0.25, weights=start, **given)
        return asked("train", order, {}, tmp_path, spec).model - start

    np.testing.assert_array_equal(moved(1), 0)
    np.testing.assert_array_equal(moved(2, shift=shift), -2 * 0.25 * shift)
    # By -0.75 in the first step; in the second pulled back by 0.25 * 2 of that besides.
    np.testing.assert_array_equal(moved(3, shift=shift, pull=2.0), -0.75 - 0.75 + 0.25 * 2 * 0.75)


def test_what_cannot_be_paid_for_and_what_is_over_is_refused(tmp_path: Path) -> None:
    assert trained({}, tmp_path, t=0).refused == "round 0 costs client 1 1 units, and it has 0"
    assert trained({}, tmp_path, t=3).refused == ""
    stale = trained({}, tmp_path, t=2)
    assert (stale.refused, stale.round) == ("round 2 is over: the account of client 1 stands at round 3", 3)


def test_a_full_disk_is_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)

    assert "No space left on device" in queried({}, tmp_path).refused


def test_a_state_folder_that_cannot_be_made_is_a_refusal(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")

    assert queried({"state": str(tmp_path / "file")}, tmp_path).refused.endswith("Not a directory")


_QUERY = """
import json, sys
from pathlib import Path
from flwr.app import Context, Message, RecordDict
from flwr.supercore.task_identity import TaskIdentity
TaskIdentity._run_id, TaskIdentity._task_id, TaskIdentity._node_id = 7, 8, 1
before = set(sys.modules)
from ehfl.flower import client_app
from ehfl.flower.wire.messages import Answer, Request
request = Request("0123456789abcdef", 2, "myopic", 3, sys.argv[3])
message = Message(request.content(), 11, "query")
reply = client_app(Path(sys.argv[1]), Path(sys.argv[2]))(message, Context(7, 11, {"client-id": 1}, RecordDict(), {}))
loaded = sorted({name.split(".")[0] for name in set(sys.modules) - before})
print(json.dumps([Answer.read(reply.content).energy, loaded]))
"""


def test_a_question_about_energy_loads_nothing_that_training_needs(tmp_path: Path) -> None:
    spec = tiny(fleet={"rate": 1.0}, learning={"task": "digits"})
    (tmp_path / "arms.toml").write_text(bundle_of(spec).text())

    done = subprocess.run(
        [sys.executable, "-c", _QUERY, str(tmp_path / "arms.toml"), str(tmp_path / "state"), request(spec=spec).digest],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip

    energy, loaded = json.loads(done.stdout)
    assert energy == 2
    heavy = {"torch", "pydantic", "numba", "pandas", "matplotlib", "scipy", "joblib", "ray", "safetensors", "jinja2"}
    assert not heavy & set(loaded)
