"""Write tables, numbers and figures of the published results again, so that they follow the code; nothing is trained.

    python results/redraw.py            # make results

What training gave is read from rounds.csv, who took part is simulated again from the spec in experiments/, and so are
the step sizes. The runs themselves, which took hours, are not kept.
"""

from __future__ import annotations

import csv
import shutil
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory

from ehfl.analysis import Comparison, Trial, compare
from ehfl.experiment import Spec, played_by, read_spec
from ehfl.experiment.building import step_size_rule_of
from ehfl.files import json_text, write_text
from ehfl.history import Metric, Record
from ehfl.report import as_facts, draw_all
from ehfl.report.texts import table_text
from ehfl.scheduling import Participation

HERE = Path(__file__).parent
FIGURES = {
    "paper": ("learning", "differences", "energy", "participation", "batteries", "slowdown"),
    "paper-capacity1": ("learning",),
}

Line = dict[str, str]


def published(name: str) -> Comparison:
    """Return the arms of a published experiment side by side."""
    spec = read_spec(HERE.parent / "experiments" / f"{name}.toml")
    target = spec.base.target
    assert isinstance(target, int)
    trials = list(_trials(spec, HERE / name / "rounds.csv"))
    return compare(name, trials, Metric("accuracy", bounds=(0, 1)), target, goal=spec.base.evaluation.goal)


def _trials(spec: Spec, path: Path) -> Iterator[Trial]:
    """Yield the runs, arm by arm as in the file."""
    with path.open(encoding="utf-8") as file:
        runs = groupby(csv.DictReader(file), key=lambda line: (line["arm"], int(line["seed"])))
        found = {key: list(lines) for key, lines in runs}
    for run in sorted(spec.runs(), key=lambda run: list(found).index((run.arm.label, run.seed))):
        played = played_by(run)
        assert isinstance(played, Participation)
        etas = step_size_rule_of(run.setting)(played.counts)
        lines = found[run.arm.label, run.seed]
        records = [_record(line, float(eta)) for line, eta in zip(lines, etas, strict=True)]
        yield Trial(
            run.arm.label,
            run.seed,
            played,
            records,
            local_steps=run.setting.learning.local_steps,
            scheduler=run.setting.scheduler["name"],
        )


def _record(line: Line, eta: float) -> Record:
    train_loss, test_loss, test_metric = (
        float(line[name]) if line[name] else None for name in ("train_loss", "test_loss", "test_metric")
    )
    return Record(int(line["round"]), int(line["participants"]), eta, train_loss, test_loss, test_metric)


def redraw(name: str, folder: Path) -> None:
    """Write summary.json, table.txt and the published figures into the folder."""
    comparison = published(name)
    write_text(folder / "summary.json", json_text(as_facts(comparison), indent=2) + "\n")
    write_text(folder / "table.txt", table_text(comparison))
    with TemporaryDirectory() as drawn:  # all figures, as PNG and SVG
        draw_all(comparison, Path(drawn))
        for figure in FIGURES[name]:
            shutil.copyfile(Path(drawn) / f"{figure}.png", folder / "figures" / f"{figure}.png")


if __name__ == "__main__":
    for name in FIGURES:
        redraw(name, HERE / name)
        print(f"results/{name}: summary.json, table.txt, figures")
