"""Nodes that misbehave: what they send is named, never averaged, and the round goes on with the others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from flwr.app import ConfigRecord, Error, RecordDict

from ehfl.energy import EnergyTotals
from ehfl.flower.wire.messages import Answer
from loopback_grid import (
    Asked,
    Behaviour,
    Delivery,
    Played,
    honest,
    late,
    loopback,
    play,
    saying,
    silent,
    tiny,
    when,
    with_model,
)

pytestmark = pytest.mark.usefixtures("in_server", "no_fsync")

# Everybody has energy in every round after the first and takes part: what is missing was refused.
ALL = {"scheduler": "greedy", "fleet": {"clients": 3, "rate": 1.0}, "rounds": 3}
BAD_ROUND, LIAR = 1, 2


def played_with(behave: Behaviour, tmp_path: Path, **changes: Any) -> Played:
    return play(tiny(**ALL | changes), tmp_path / "runs", loopback(tmp_path / "nodes", 3, behave))


def raising(asked: Asked) -> list[Delivery]:
    return [(0.0, asked.reply(Error(code=0, reason="ZeroDivisionError: division by zero")))]


def from_elsewhere(asked: Asked) -> list[Delivery]:
    return [(0.0, asked.reply(RecordDict({"metrics": ConfigRecord({"loss": 1.0})})))]


NOT_FINITE = "a model or a loss that is not finite"
NO_FIRST_LOSS = "start_loss must be of type float, got None"  # from before it was sent
VECTOR = "the model must be one vector of float32, got"
UNBALANCED = "totals must be balanced: initial + harvested = spent + stored + wasted + lost, got 0 and 2"

# What node 12 does once it was asked in round 1, whatever it was asked for, and what is said of it.
ASKED: dict[str, tuple[Behaviour, str]] = {
    "another round": (saying(round=0), "it answers for round 0"),
    "another run": (saying(run="0123456789abcdef"), "it answers for round 1 of another run"),
    "out of range": (saying(client=3), "it says that it is client 3 of 3"),
    "a large battery": (
        saying(energy=2**40),
        "it says that it has 1099511627776 units, and its battery holds 1073741823",
    ),
    "paid too much": (
        saying(totals=EnergyTotals(0, 9, 9, 0, 0, 0)),
        "it says that it has paid 9 units in 2 rounds of 1",
    ),
    "unbalanced": (saying(totals=EnergyTotals(0, 0, 1, 1, 0, 0)), UNBALANCED),
    "a negative number": (saying(energy=-1), "energy must be in [0, 2^62), got -1"),
    "a refusal": (saying(refused="the battery\n is \x1b[31mtoo hot"), "the battery is \\x1b[31mtoo hot"),
    "a failure": (raising, "ZeroDivisionError: division by zero"),
    "another app": (from_elsewhere, "the message is not of ehfl"),
    "silence": (silent, "no reply in 5 s"),
    "a late reply": (late(5.5), "no reply in 5 s"),
}
TRAINED: dict[str, tuple[Behaviour, str]] = ASKED | {
    "another client": (saying(client=0), "it says that it is client 0"),
    "a short model": (with_model(lambda w: w[:-1]), "a model of 19 weights, not 20"),
    "a matrix": (with_model(lambda w: w.reshape(4, 5)), f"{VECTOR} float32 of shape (4, 5)"),
    "a wrong type": (with_model(lambda w: w.astype(np.float64)), f"{VECTOR} float64 of shape (20,)"),
    "NaN": (with_model(lambda w: np.append(w[:-1], np.float32("nan"))), NOT_FINITE),
    "infinity": (with_model(lambda w: w + np.float32("inf")), NOT_FINITE),
    "a loss of NaN": (saying(loss=float("nan")), NOT_FINITE),
    "a first loss of infinity": (saying(start_loss=float("inf")), NOT_FINITE),
    "no first loss": (lambda asked: [(0.0, asked.reply(without_first_loss(asked)))], NO_FIRST_LOSS),
    "no steps": (saying(steps=0), "0 steps, not the 2 that it was asked for"),
    "a billion steps": (saying(steps=10**9), "1000000000 steps, not the 2 that it was asked for"),
    "many examples": (saying(examples=10**15), "1000000000000000 examples, not the 333 that it was dealt"),
    "a huge model": (with_model(lambda w: np.full_like(w, 3e38)), "a weight or a loss of 3e+38, beyond 1e+09"),
    "a huge loss": (saying(loss=1.7e308), "a weight or a loss of 1.7e+308, beyond 1e+09"),
    "a huge first loss": (saying(start_loss=-1.7e308), "a weight or a loss of 1.7e+308, beyond 1e+09"),
    "no model": (lambda asked: [(0.0, asked.reply(without_model(asked)))], "no model came back"),
}


def without_first_loss(asked: Asked) -> RecordDict:
    content = asked.honest().content
    del content.config_records["ehfl"]["start_loss"]
    return content


def without_model(asked: Asked) -> RecordDict:
    content = asked.honest().content
    del content["model"]
    return content


@pytest.fixture(scope="module")
def without_liar(tmp_path_factory: pytest.TempPathFactory) -> Played:
    """A run whose client 2 was silent when it should have answered with a model."""
    with pytest.MonkeyPatch.context() as patch:
        from flwr.supercore.task_identity import TaskIdentity

        for name, value in {"_run_id": 7, "_task_id": 8, "_node_id": 1}.items():
            patch.setattr(TaskIdentity, name, value)
        folder = tmp_path_factory.mktemp("silent")
        return played_with(when("train", silent, client=LIAR, rounds=[BAD_ROUND]), folder)


@pytest.mark.parametrize("fault", TRAINED)
def test_a_bad_model_is_named_and_never_averaged(
    fault: str, tmp_path: Path, without_liar: Played, caplog: pytest.LogCaptureFixture
) -> None:
    behave, reason = TRAINED[fault]

    played = played_with(when("train", behave, client=LIAR, rounds=[BAD_ROUND]), tmp_path)

    assert played.outcome.error is None
    seen = played.records[BAD_ROUND].devices
    assert seen is not None
    assert dict(seen.lost) == {LIAR: reason} and seen.took_part == (0, 1)
    assert f"round 1: client 2 is left out: {reason}" in caplog.text
    for name, weights in without_liar.weights.items():  # as if it had never answered, in that round and after it
        np.testing.assert_array_equal(played.weights[name], weights)
    assert [record.participants for record in played.records] == [0, 2, 3]
    unpaid = fault in ("a failure", "another app")  # it never came to its account
    assert played.participation.totals.spent == played.participation.spent.sum() == (5 if unpaid else 6)


@pytest.mark.parametrize("fault", ASKED)
def test_a_bad_answer_about_energy_makes_a_node_absent_for_the_round(
    fault: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    behave, reason = ASKED[fault]

    played = played_with(when("query", behave, client=LIAR, rounds=[BAD_ROUND]), tmp_path)

    assert played.outcome.error is None
    seen = played.records[BAD_ROUND].devices
    assert seen is not None and seen.energy == (1, 1, None) and seen.asked == (0, 1)
    assert f"round 1: node 12 does not count: {reason}" in caplog.text
    assert [record.participants for record in played.records] == [0, 2, 3]
    assert played.participation.final_energy.tolist() == [1, 1, 2]  # it did not pay for the round that it missed
    assert played.participation.totals.spent == 5


def test_two_nodes_that_say_the_same_client_are_one(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    grid = loopback(tmp_path / "nodes", 3)
    # In the last round the impostor is the first to answer.
    grid.configs = {13: {"client-id": 2, "state": str(tmp_path / "other")}, **grid.configs}
    grid.arrives[13] = 1e9

    def joined(record: Any) -> None:
        grid.arrives.clear()

    played = play(tiny(**ALL), tmp_path / "runs", grid, joined)

    assert played.outcome.error is None
    assert [record.participants for record in played.records] == [0, 3, 3]
    assert "round 1: nodes 13 and 12 say that they are client 2: node 13 does not count" in caplog.text
    assert {asked.node for asked in grid.sent if asked.kind == "train"} == {10, 11, 12}


def test_replies_that_nobody_asked_for_change_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    undisturbed = played_with(honest, tmp_path / "first")

    def twice_and_forged(asked: Asked) -> list[Delivery]:
        reply, forged = asked.honest(), asked.honest()
        forged.metadata.__dict__["_src_node_id"] = 77
        return [(0.0, forged), (0.0, reply), (0.0, reply)]

    played = played_with(twice_and_forged, tmp_path / "second")

    assert [replace(record, seconds=0.0) for record in played.records] == undisturbed.records
    assert "discarded an unexpected reply of node 77" in caplog.text
    assert "discarded an unexpected reply of node 10" in caplog.text
    for name, weights in undisturbed.weights.items():
        np.testing.assert_array_equal(played.weights[name], weights)


def test_a_turn_that_the_ledger_denies_is_still_counted(tmp_path: Path) -> None:
    """A node's ledger may have been lost: what its turns cost is known all the same."""
    denied = saying(totals=EnergyTotals(0, 0, 0, 0, 0, 0))

    played = played_with(lambda asked: denied(asked) if asked.client == LIAR else honest(asked), tmp_path)

    assert played.outcome.error is None
    assert played.participation.spent.tolist() == [0, 3, 3]


def test_a_lost_ledger_is_named(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    def lose(record: Any) -> None:
        if record.round == 1:
            (file,) = (tmp_path / "nodes" / "client-2").glob("*.json")
            file.unlink()

    played = play(tiny(**ALL), tmp_path / "runs", loopback(tmp_path / "nodes", 3), lose)

    assert played.outcome.error is None
    assert "client 2: its account said 1 paid and now says 0: an older one was put back, or it was lost" in caplog.text
    assert [record.participants for record in played.records] == [0, 3, 3]


def test_an_older_account_that_is_put_back_is_named_once(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    kept: dict[Path, bytes] = {}

    def put_back(record: Any) -> None:
        (file,) = (tmp_path / "nodes" / "client-2").glob("*.json")
        if record.round == 1:
            kept[file] = file.read_bytes()
        elif record.round == 3:
            file.write_bytes(kept[file])

    played = play(tiny(**ALL | {"rounds": 7}), tmp_path / "runs", loopback(tmp_path / "nodes", 3), put_back)

    assert played.outcome.error is None
    assert caplog.text.count("client 2: its account said") == 1
    assert "begun anew" not in caplog.text


def test_one_node_that_says_it_is_ahead_neither_ends_the_run_nor_has_it_deleted(tmp_path: Path) -> None:
    grid = loopback(tmp_path / "nodes", 3)
    lie = saying(refused="round 1 is over", round=99)

    def behave(asked: Asked) -> list[Delivery]:
        alone = asked.kind == "query" and asked.round == 1 and grid.clock() < 60  # the others do not answer yet
        if not alone:
            return honest(asked)
        return lie(asked) if asked.client == LIAR else []

    grid.behave = behave
    played = play(tiny(**ALL | {"flower": {"least_nodes": 2}}), tmp_path / "runs", grid)

    assert played.outcome.error is None
    assert [record.participants for record in played.records] == [0, 3, 3]


def test_a_server_deals_no_data_where_every_node_owns_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("the server dealt training data")

    monkeypatch.setattr("ehfl.flower.server.server_app.deal", refuse)
    grid = loopback(tmp_path / "nodes", 3)
    grid.configs = {node: config | {"examples": "all"} for node, config in grid.configs.items()}

    played = play(tiny(**ALL), tmp_path / "runs", grid)

    assert played.outcome.error is None
    assert [record.participants for record in played.records] == [0, 3, 3]


def test_payments_in_vain_are_counted_in_a_round_without_participants(tmp_path: Path) -> None:
    played = played_with(when("train", saying(loss=float("nan")), rounds=[1]), tmp_path)

    assert [record.participants for record in played.records] == [0, 0, 3]
    assert played.participation.spent.tolist() == [0, 3, 3]
    assert played.records[1].train_loss is None


def test_what_is_heard_of_after_the_last_round_is_counted_in_it(tmp_path: Path) -> None:
    played = played_with(when("train", silent, rounds=[2]), tmp_path)

    assert [record.participants for record in played.records] == [0, 3, 0]
    assert played.participation.spent.tolist() == [0, 3, 3]
    assert played.participation.final_energy.tolist() == [1, 1, 1]


def huge(w: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.full_like(w, 3e8)


@pytest.mark.parametrize("limit", [5, 100])
def test_updates_that_are_much_too_long_are_left_out(limit: int, tmp_path: Path, without_liar: Played) -> None:
    behave = when("train", with_model(huge), client=LIAR, rounds=[BAD_ROUND])

    played = played_with(behave, tmp_path, flower={} if limit == 100 else {"norm_limit": limit})  # the default

    seen = played.records[BAD_ROUND].devices
    assert seen is not None and seen.took_part == (0, 1)
    assert seen.lost[LIAR].startswith(f"an update of length 1.34e+09, more than {limit} times the usual ")
    for name, weights in without_liar.weights.items():
        np.testing.assert_array_equal(played.weights[name], weights)


def test_an_update_that_is_alone_is_compared_with_the_round_before(tmp_path: Path) -> None:
    one = {"scheduler": "greedy", "fleet": {"clients": 1, "rate": 1.0}, "rounds": 4, "flower": {"norm_limit": 5}}
    behave = when("train", with_model(huge), rounds=[2])

    played = play(tiny(**one), tmp_path / "runs", loopback(tmp_path / "nodes", 1, behave))

    assert [record.participants for record in played.records] == [0, 1, 0, 1]
    assert played.participation.spent.tolist() == [0, 1, 1, 1]


def test_updates_that_go_nowhere_are_no_reason_to_divide_by_zero(tmp_path: Path) -> None:
    def still(asked: Asked) -> list[Delivery]:
        answer = Answer.read(asked.honest().content)
        weights = asked.message.content.array_records["model"]["weights"].numpy()
        return [(0.0, asked.reply(replace(answer, weights=weights).content()))]

    def behave(asked: Asked) -> list[Delivery]:
        return still(asked) if asked.kind == "train" and asked.client != LIAR else honest(asked)

    played = played_with(behave, tmp_path, flower={"norm_limit": 5})

    assert played.outcome.error is None
    assert [record.participants for record in played.records] == [0, 2, 2]


def test_an_update_is_measured_from_where_its_client_started(tmp_path: Path) -> None:
    # Client 1 comes back to its own model, x_0, which ten rounds of client 0 have left far behind.
    arrivals = [[1, 0]] * 10 + [[1, 1]] * 2
    spec = tiny(
        scheduler="greedy", rounds=12, fleet={"clients": 2, "harvest": {"name": "replay", "arrivals": arrivals}},
        learning={"aggregation": "fedawe", "step_size": 1e-4, "batch_size": 1000}, flower={"norm_limit": 2},
    )  # fmt: skip

    played = play(spec, tmp_path / "runs", loopback(tmp_path / "nodes", 2))

    assert [record.participants for record in played.records] == [0, *[1] * 10, 2]
