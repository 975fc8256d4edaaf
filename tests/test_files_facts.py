"""Facts as text: JSON without surprises, and seals that a single changed letter breaks."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from ehfl.files import check_seal, digest_of_file, digest_of_text, json_text, parse_json, sealed


def test_json_has_no_numbers_that_are_none() -> None:
    facts = {"a": math.inf, "b": [1, math.nan, (2.5, -math.inf)], "c": "inf", "d": None, "e": True}

    assert json.loads(json_text(facts)) == {"a": None, "b": [1, None, [2.5, None]], "c": "inf", "d": None, "e": True}


def test_facts_are_parsed_as_they_were_written() -> None:
    facts = {"a": [1, 2.5, None, True, "x"], "b": {"c": -1e-300}}

    assert parse_json(json.dumps(facts)) == facts
    assert parse_json(json.dumps(facts).encode()) == facts


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("[1]", "it is not a JSON object"),
        ('{"a"', "delimiter"),
        (b"\xff", "decode"),
    ],
)
def test_json_that_says_nothing_certain_is_refused(text: str | bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        parse_json(text)


def test_every_letter_of_a_sealed_text_counts() -> None:
    text = sealed('name = "x"\n[fleet]\nclients = 10\n').encode()

    assert check_seal(text.decode()).endswith("clients = 10\n")
    for at in range(len(text)):
        for changed in (text[:at], text[:at] + bytes([text[at] ^ 1]) + text[at + 1 :], text[:at] + b"#" + text[at:]):
            if changed != text:
                with pytest.raises(ValueError, match=r"^it (was edited after|is cut off)"):
                    check_seal(changed.decode())


def test_a_file_has_the_digest_of_its_content(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"abc")

    assert digest_of_file(tmp_path / "file") == digest_of_text("abc") == digest_of_text(b"abc")
    assert digest_of_text("abc").startswith("ba7816bf")
