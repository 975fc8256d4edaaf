"""`ehfl bound --verify`: every theorem beside what SGD does on problems of known constants."""

from __future__ import annotations

import dataclasses
import json
from typing import TYPE_CHECKING

import typer

from ehfl.cli.bound_problem import MAINS, described
from ehfl.cli.options import scheduler_names
from ehfl.cli.output import print_table, progress, say_where

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

    from ehfl.cli.bound_problem import Column
    from ehfl.experiment import Spec
    from ehfl.theory import Verified


def print_verified(columns: Mapping[str, Column], seeds: int, spec: Spec, as_json: bool, figure: Path | None) -> None:
    """Measure what each theorem promises, print both, and end with exit code 1 if a bound is broken."""
    results = []
    with progress("running SGD", _how_many(columns)) as advance:
        for result in _results(columns, seeds, spec.seeds[0]):
            results.append(result)
            if advance is not None:
                advance(result)
    if as_json:
        typer.echo(json.dumps([dataclasses.asdict(result) | {"holds": result.holds} for result in results]))
    else:
        from ehfl.report import share_table, verified_table

        print_table(f"theorem A, measured / bound, means of {seeds} runs", verified_table(results))
        typer.echo()
        print_table("share of each theorem's bound that was measured, constant steps", share_table(results))
    if figure is not None:
        from ehfl.report import draw_verified

        about = f"{described(spec)}; means of {seeds} runs, constant steps"
        draw_verified(results, figure, schedulers=scheduler_names(spec) | {MAINS: MAINS}, about=about)
        say_where("figure", figure)
    broken = [result for result in results if not result.holds]
    if broken:
        worst = max(broken, key=lambda result: result.measured / result.bound)
        found = f"{worst.measured:.4g} (+- {worst.margin:.2g}) above {worst.bound:.4g}"
        where = f"theorem {worst.theorem}, {worst.problem}, {worst.participation}, K = {worst.local_steps}"
        typer.echo(f"{len(broken)} of {len(results)} bounds are broken, the worst is {where}: {found}", err=True)
        raise typer.Exit(1)


def _results(columns: Mapping[str, Column], seeds: int, seed: int) -> Iterator[Verified]:
    from ehfl.theory import verify, verify_unlike

    yield from verify({label: one.played.counts for label, one in columns.items()}, seeds=seeds, seed=seed)
    if _is_small(columns):
        yield from verify_unlike(
            {label: one.played.took_part() for label, one in columns.items()}, seeds=seeds, seed=seed
        )
    else:
        typer.echo("theorems C to H, for unlike data, are tried with 2 to 64 clients: left out here", err=True)


def _how_many(columns: Mapping[str, Column]) -> int:
    from ehfl.theory import RULES, known_problems
    from ehfl.theory.verification_unlike import how_many

    alike = len(known_problems()) * 2 * len(RULES) * len(columns)
    return alike + (how_many(len(columns)) if _is_small(columns) else 0)


def _is_small(columns: Mapping[str, Column]) -> bool:
    from ehfl.theory.chances import MOST_CLIENTS

    return all(2 <= one.played.n_clients <= MOST_CLIENTS for one in columns.values())
