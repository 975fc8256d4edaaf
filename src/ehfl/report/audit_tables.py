"""Audits for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from ehfl.analysis.audit import Audit
from ehfl.analysis.audit_table import audited, caption
from ehfl.report.tables import SideBySide, lines_of


def audit_table(audits: Sequence[Audit], *, every_class: bool = False) -> SideBySide:
    """Return arms side by side, a figure a line; with all classes, however many there are, if they are asked for."""
    lines = lines_of(audited(audits, every_class=every_class), audits)
    return SideBySide(tuple(audit.arm for audit in audits), lines, caption(audits, every_class=every_class))
