"""Audits for the terminal."""

from __future__ import annotations

from collections.abc import Sequence

from ehfl.analysis.audit import Audit
from ehfl.analysis.audit_groups import alike, together
from ehfl.analysis.audit_table import audited, caption
from ehfl.report.tables import SideBySide, lines_of


def audit_table(audits: Sequence[Audit], *, every_class: bool = False) -> SideBySide:
    """Return arms side by side, those with the same figures in one column, a figure a line.

    All classes are shown, however many there are, if they are asked for.
    """
    groups = alike(audits)
    shown = [group[0] for group in groups]
    names = tuple(together([audit.arm for audit in group]) for group in groups)
    lines = lines_of(audited(shown, every_class=every_class), shown)
    return SideBySide(names, lines, caption(shown, every_class=every_class))
