"""The kinds of cases, by name, and how many of each a run has."""

from __future__ import annotations

from collections.abc import Iterator

from .cases import Case, Kind
from .commands import try_command
from .comparisons import try_comparison
from .folders import try_folder, try_report
from .own_code import try_own_code
from .resumed import try_resumed
from .specs import try_spec

KINDS: dict[str, Kind] = {
    "commands": try_command,
    "specs": try_spec,
    "folders": try_folder,
    "own-code": try_own_code,
    "resumed": try_resumed,
    "reports": try_report,
    "comparisons": try_comparison,
}
# Of 100 cases; the last two draw, and take seconds.
SHARES = {
    "commands": 42, "specs": 32, "folders": 12, "own-code": 8, "resumed": 4, "reports": 1, "comparisons": 1,
}  # fmt: skip


def cases_of(seed: int, total: int) -> Iterator[Case]:
    """Yield the cases of a run, kind by kind."""
    for kind, share in SHARES.items():
        for number in range(max(1, total * share // 100)):
            yield Case(seed, kind, number)
