"""The table of options that stand for a key of the spec, beside the spec itself."""

from __future__ import annotations

from typing import Any

import pytest

from ehfl.cli.options import SPEC_OPTIONS
from ehfl.experiment.spec.models import SECTIONS, FleetSpec, Setting

# Keys that no model has, or whose default the help words otherwise.
OTHERWISE = {
    "fleet.rate": FleetSpec().harvest_table()["rate"],
    "fleet.harvest": FleetSpec().harvest_table()["name"],
    "schedulers": "myopic",
    "seeds": 0,
    "target": "what the harvest sustains",
    "learning.data": "$EHFL_DATA, else downloaded",
}


@pytest.mark.parametrize("name", SPEC_OPTIONS)
def test_an_option_of_the_spec_is_a_key_of_it_and_shows_its_default(name: str) -> None:
    key = SPEC_OPTIONS[name].key
    section, _, last = key.rpartition(".")
    fields: Any = (SECTIONS[section] if section else Setting).model_fields

    assert last in fields or key in OTHERWISE
    default = OTHERWISE[key] if key in OTHERWISE else fields[last].get_default(call_default_factory=True)
    shown = default["name"] if isinstance(default, dict) else "none" if default is None else default
    assert SPEC_OPTIONS[name].default == (f"{shown:g}" if isinstance(shown, float) else str(shown))
