"""Write tables, numbers and figures of the published results again, so that they follow the code; nothing is trained.

    python results/redraw.py                              # make results
    python results/redraw.py unequal --from runs/unequal  # the same of new runs, whose evaluations are published

What training gave is read from rounds.csv or evaluations.csv, who took part is simulated again from the spec in
experiments/, and so are the step sizes. The runs themselves, which took hours, are not kept. rounds.csv has every
round; evaluations.csv, for many runs, has the evaluated ones alone, by class, and by client after the last round.
"""

from __future__ import annotations

import argparse
import csv
import shutil
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from ehfl.analysis import Comparison, Trial, compare, read
from ehfl.experiment import Run, Spec, played_by, read_spec
from ehfl.experiment.spec.build import step_size_rule_of
from ehfl.files import json_text, write_text
from ehfl.learning.tasks.cifar import CLASSES as CIFAR10_CLASSES
from ehfl.report import as_facts, draw_all
from ehfl.report.folder import table_text
from ehfl.runs import Evaluation, Metric, Record
from ehfl.scheduling import Participation

HERE = Path(__file__).parent
FIGURES = {
    "paper": ("learning", "differences", "energy", "participation", "batteries", "slowdown"),
    "paper-capacity1": ("learning",),
    "unequal": ("classes",),
    "unequal-own-steps": (),
    "unequal-scarce": (),
    "unequal-scarce-longer-steps": (),
    "unequal-cifar10": ("classes",),
}
ACCURACY = Metric("accuracy", bounds=(0, 1))
CLASSES = {"digits": tuple("0123456789"), "cifar10": CIFAR10_CLASSES}

Line = dict[str, str]


def published(name: str) -> Comparison:
    """Return the arms of a published experiment side by side."""
    spec = read_spec(HERE.parent / "experiments" / f"{name}.toml")
    target = spec.base.target if isinstance(spec.base.target, int) else None
    return compare(name, list(_trials(spec, HERE / name)), ACCURACY, target, goal=spec.base.evaluation.goal)


def _trials(spec: Spec, folder: Path) -> Iterator[Trial]:
    """Yield the runs, arm by arm as in the file."""
    whole = (folder / "rounds.csv").is_file()
    with (folder / ("rounds.csv" if whole else "evaluations.csv")).open(encoding="utf-8") as file:
        runs = groupby(csv.DictReader(file), key=lambda line: (line["arm"], int(line["seed"])))
        found = {key: list(lines) for key, lines in runs}
    for run in sorted(spec.runs(), key=lambda run: list(found).index((run.arm.label, run.seed))):
        yield _trial(run, found[run.arm.label, run.seed], whole=whole)


def _trial(run: Run, lines: Sequence[Line], *, whole: bool) -> Trial:
    played = played_by(run)
    assert isinstance(played, Participation)
    etas = step_size_rule_of(run.setting)(played.counts).tolist()
    records = (
        [_record(line, eta) for line, eta in zip(lines, etas, strict=True)]
        if whole
        else _evaluated(lines, played, etas)
    )
    return Trial(
        run.arm.label,
        run.seed,
        played,
        records,
        local_steps=run.setting.learning.local_steps,
        aggregation=run.setting.learning.aggregation["name"],
        partition=run.setting.learning.partition["name"],
        scheduler=run.setting.scheduler["name"],
        weather=str(run.setting.fleet.harvest_table()),  # all else that arms meet is the same in each of these specs
        classes=() if whole else CLASSES[run.setting.learning.task["name"]],
    )


def _record(line: Line, eta: float) -> Record:
    train_loss, test_loss, test_metric = (
        float(line[name]) if line[name] else None for name in ("train_loss", "test_loss", "test_metric")
    )
    return Record(int(line["round"]), int(line["participants"]), eta, train_loss, test_loss, test_metric)


def _evaluated(lines: Sequence[Line], played: Participation, etas: Sequence[float]) -> list[Record]:
    """Return a record for each round, with what the lines say of the rounds that were evaluated."""
    said = {int(line["rounds"]): line for line in lines}
    records = []
    for t, (count, eta) in enumerate(zip(played.counts.tolist(), etas, strict=True)):
        scores = _scores(said[t + 1], "test_", "by_class", "by_client") if t + 1 in said else {}
        first = _scores(said[0], "first_", "first_by_class") if t == 0 else {}
        records.append(Record(t, count, eta, None, **scores, **first))
    return records


def _scores(line: Line, prefix: str, *shares: str) -> dict[str, Any]:
    found: dict[str, Any] = {f"{prefix}{name}": float(line[name]) for name in ("loss", "metric")}
    for name in shares:
        values = line[name.removeprefix("first_")]
        found[name] = tuple(map(float, values.split())) if values else None
    return found


def publish(name: str, runs: Path, folder: Path) -> None:
    """Write evaluations.csv of the spec's runs, whose folders lie in `runs`, into the folder."""
    spec = read_spec(HERE.parent / "experiments" / f"{name}.toml")
    finished = read(*(runs / Run(spec, arm, seed).folder_name for arm in spec.arms for seed in spec.seeds))
    folder.mkdir(exist_ok=True)
    with (folder / "evaluations.csv").open("w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file, lineterminator="\n")
        rows.writerow(["arm", "seed", "rounds", "loss", "metric", "by_class", "by_client"])
        for trial in (trial for arm in finished.arms for trial in arm.trials):
            for evaluation in trial.evaluations:
                rows.writerow([trial.arm, trial.seed, *_cells(evaluation, last=trial.evaluations[-1])])


def _cells(found: Evaluation, last: Evaluation) -> list[object]:
    clients = found.by_client if found is last else None  # the others are not needed, and are many
    shares = (" ".join(f"{value:.4g}" for value in values or ()) for values in (found.by_class, clients))
    return [found.rounds, f"{found.loss:.6g}", f"{found.metric:.6g}", *shares]


def redraw(name: str, folder: Path) -> None:
    """Write summary.json, table.txt and the published figures into the folder."""
    comparison = published(name)
    write_text(folder / "summary.json", json_text(as_facts(comparison), indent=2) + "\n")
    write_text(folder / "table.txt", table_text(comparison))
    with TemporaryDirectory() as drawn:  # all figures, as PNG and SVG
        draw_all(comparison, Path(drawn))
        for figure in FIGURES[name]:
            (folder / "figures").mkdir(exist_ok=True)
            shutil.copyfile(Path(drawn) / f"{figure}.png", folder / "figures" / f"{figure}.png")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("name", nargs="*", default=list(FIGURES))
    parser.add_argument("--from", dest="runs", type=Path)
    given = parser.parse_args()
    for name in given.name:
        if given.runs:
            publish(name, given.runs, HERE / name)
        redraw(name, HERE / name)
        print(f"results/{name}: summary.json, table.txt, figures")
