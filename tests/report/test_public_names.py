"""Public names are there, and using one loads no more than it needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from ehfl import report


def test_public_names_are_all_there() -> None:
    assert dir(report)
    assert all(getattr(report, name) is not None for name in dir(report))


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("from ehfl.report import simulate_output", ["matplotlib", "scipy", "jinja2"]),
        ("from ehfl.report import bound_output, verified_output", ["matplotlib", "jinja2"]),
        ("from ehfl.report import as_facts, comparison_table, verdict_of", ["matplotlib", "jinja2"]),
        ("from ehfl.analysis import Comparison, Trial, compare", ["rich", "matplotlib", "pandas"]),
    ],
)
def test_nothing_is_loaded_that_is_not_used(code: str, absent: list[str]) -> None:
    never = ["torch", "pydantic", "joblib", "scipy.stats"]
    check = f"{code}\nimport sys; print([m for m in {absent + never} if m in sys.modules])"

    out = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)

    assert out.stdout.strip() == "[]"
