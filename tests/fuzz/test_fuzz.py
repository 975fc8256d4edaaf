"""The short form: more than a thousand cases, the same in every run. `make fuzz` is the long one."""

from __future__ import annotations

import pytest

from .cases import Case, run
from .kinds import KINDS

QUICK = {"commands": 180, "specs": 250, "functions": 600, "folders": 50, "own-code": 30}
SLOW = {"reports": 6, "comparisons": 4}  # they draw


def findings(kind: str, number: int) -> str:
    found = [finding for at in range(number) for finding in run(Case(0, kind, at), KINDS[kind])]
    return "\n".join(map(str, found))


def test_every_kind_is_tried() -> None:
    assert {*QUICK, *SLOW} == set(KINDS) and sum(QUICK.values()) > 1000


@pytest.mark.parametrize("kind", QUICK)
def test_cases_end_well_or_in_one_line(kind: str) -> None:
    assert findings(kind, QUICK[kind]) == ""


@pytest.mark.slow
@pytest.mark.parametrize("kind", SLOW)
def test_drawn_cases_end_well_or_in_one_line(kind: str) -> None:
    assert findings(kind, SLOW[kind]) == ""
