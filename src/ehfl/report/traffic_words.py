"""Sentences on what turns send, where arms differ in it."""

from __future__ import annotations

from collections.abc import Iterator

from ehfl.analysis import Comparison
from ehfl.analysis.numbers import amount
from ehfl.history import Traffic
from ehfl.report.phrases import counted, in_short, spoken


def traffic_sentences(comparison: Comparison) -> Iterator[str]:
    """Say which arms send other numbers of models in a turn than the first of their world, and what that comes to."""
    for world in comparison.contests:
        (first, usual), *others = [(row, comparison.arm(row.arm).traffic) for row in comparison.rows_of(world)]
        for row, sent in others:
            if usual and sent and (sent.down, sent.up) != (usual.down, usual.up):
                # Counted, not sent: SCAFFOLD counts as published, though a server may spare nodes the second upload.
                turn = f"A turn of {spoken(row.arm)} counts as {_models(sent)}, one of {in_short(world, first)}"
                total = f"{amount(row.uploaded)} MB up in a run, against {amount(first.uploaded)} MB"
                yield f"{turn} as {_models(usual)}: {total}."


def _models(sent: Traffic) -> str:
    """Return how many models a turn sends.

    >>> _models(Traffic(9, down=2, up=2)), _models(Traffic(9, down=1, up=2))
    ('2 models each way', '1 model down and 2 models up')
    """
    if sent.down == sent.up:
        return f"{counted(sent.up, 'model')} each way"
    return f"{counted(sent.down, 'model')} down and {counted(sent.up, 'model')} up"
