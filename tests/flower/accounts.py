"""Accounts of one client, for tests that look at its energy and at its file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ehfl.energy import Fleet, Replay
from ehfl.flower.node.account import Account

RUN = "0123abcd"


def account(folder: Path, **changes: Any) -> Account:
    fleet = Fleet(2, Replay([[9, 2], [9, 0], [9, 5], [9, 1]]), capacity=[99, 4], initial=[0, 1], cost=[1, 2])
    given: dict[str, Any] = {"run": RUN, "fleet": fleet, "client": 1, "rounds": 4, "seed": 7} | changes
    return Account(folder, **given)


def kept(folder: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((folder / f"{RUN}.json").read_text())
    return facts
