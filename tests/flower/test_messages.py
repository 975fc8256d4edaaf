"""What server and nodes tell each other comes back as it was, and nothing else gets in."""

from __future__ import annotations

import io
from contextlib import suppress
from typing import Any

import numpy as np
import pytest
from flwr.app import Array, ArrayRecord, ConfigRecord, RecordDict
from hypothesis import given
from hypothesis import strategies as st

from ehfl.energy import EnergyTotals
from ehfl.flower.wire.messages import Answer, BadMessage, Request
from ehfl.runs import as_reason

TRAINED = Answer(
    "0a1b2c3d", 4, 2, 7, EnergyTotals(0, 9, 2, 7, 0, 0), "", 0.25, 5, 33, np.arange(3, dtype=np.float32),
    owns_data=True, start_loss=0.5,
)  # fmt: skip


def facts_of(answer: Answer) -> tuple[Any, ...]:
    weights = None if answer.weights is None else answer.weights.tolist()
    return (answer.run, answer.round, answer.client, answer.energy, answer.totals, answer.refused, answer.loss,
            answer.steps, answer.examples, weights, answer.owns_data, answer.start_loss)  # fmt: skip


def test_messages_come_back_as_they_were() -> None:
    assert facts_of(Answer.read(TRAINED.content())) == facts_of(TRAINED)
    request = Request("0a1b2c3d", 4, "é", 3, "d1", 0.1, True, np.ones(2, np.float32), 0.5, np.zeros(2, np.float32))  # noqa: FBT003
    asked = Request.read(request.content())
    for name in ("run", "round", "arm", "seed", "digest", "eta", "mains_powered", "pull"):
        assert getattr(asked, name) == getattr(request, name)
    assert asked.weights is not None and asked.weights.tolist() == [1, 1]
    assert asked.shift is not None and asked.shift.tolist() == [0, 0]
    question = Request.read(Request("0a1b2c3d", 4, "", 0, "").content())
    assert (question.weights, question.pull, question.shift) == (None, 0.0, None)


values = st.one_of(
    st.integers(-(2**63), 2**63 - 1), st.floats(), st.text(max_size=9), st.binary(max_size=9), st.booleans(),
    st.lists(st.integers(0, 9), max_size=3),
)  # fmt: skip


@given(st.dictionaries(st.sampled_from([*TRAINED.content().config_records["ehfl"], "more"]), values), st.booleans())
def test_whatever_the_facts_are_they_are_read_or_refused(changes: dict[str, Any], kept: bool) -> None:
    content = TRAINED.content()
    facts = dict(content.config_records["ehfl"]) if kept else {}
    content["ehfl"] = ConfigRecord(facts | changes)

    with suppress(BadMessage):
        answer = Answer.read(content)
        assert answer.energy >= 0 and answer.client >= 0 and answer.totals.spent >= 0
        assert type(answer.loss) is type(answer.start_loss) is float and type(answer.run) is str


def npz() -> bytes:
    file = io.BytesIO()
    np.savez(file, weights=np.zeros(3, np.float32))
    return file.getvalue()


def npy(array: np.ndarray[Any, Any]) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


MODELS: dict[str, tuple[bytes, str]] = {
    "nothing": (b"", "cannot be read"),
    "noise": (b"\x93NUMPY and more", "cannot be read"),
    "cut": (npy(np.zeros(99, np.float32))[:-1], "cannot be read"),
    "an archive": (npz(), "must be one vector of float32, got an archive"),
    "a pickle": (b"\x80\x04K\x01.", "cannot be read"),
    "whole numbers": (npy(np.zeros(3, np.int32)), "must be one vector of float32, got int32 of shape (3,)"),
    "another order": (npy(np.zeros(3, ">f4")), "must be one vector of float32, got >f4 of shape (3,)"),
    "one number": (npy(np.array(3, np.float32)), "must be one vector of float32, got float32 of shape ()"),
    "terabytes": (npy(np.zeros(3, "<f4")).replace(b"(3,), }" + b" " * 12, b"(9999999999999,), }"), "cannot be read"),
}  # fmt: skip


@pytest.mark.parametrize("kind", MODELS)
def test_bytes_that_are_no_model_are_refused(kind: str) -> None:
    data, reason = MODELS[kind]
    content = TRAINED.content()
    array = Array(dtype="float32", shape=(3,), stype="numpy.ndarray", data=data)
    content["model"] = ArrayRecord({"weights": array})

    with pytest.raises(BadMessage, match="the model") as caught:
        Answer.read(content)
    assert reason in str(caught.value)


def test_a_shift_that_is_none_is_refused_by_its_name() -> None:
    content = Request("0a1b2c3d", 4, "", 0, "", weights=np.ones(2, np.float32), shift=np.ones(2, np.float32)).content()
    content["shift"] = ArrayRecord({"weights": Array(np.ones(2, np.int32))})

    with pytest.raises(BadMessage, match=r"the shift must be one vector of float32, got int32 of shape \(2,\)"):
        Request.read(content)


def test_a_model_without_weights_and_no_message_at_all_are_refused() -> None:
    content = TRAINED.content()
    content["model"] = ArrayRecord({})

    with pytest.raises(BadMessage, match="the model has no weights"):
        Answer.read(content)
    with pytest.raises(BadMessage, match="the message is not of ehfl"):
        Request.read(RecordDict())


@given(st.text())
def test_whatever_a_node_says_can_be_kept_as_a_reason(text: str) -> None:
    kept = as_reason(text)

    assert 0 < len(kept) <= 200 and kept.isprintable()
