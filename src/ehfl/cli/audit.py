"""`ehfl audit`: who is heard, and what a plain mean would make of it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from ehfl.cli.options import AsJson, Data, Override, SpecFile, named_by_option, scheduler_names, with_data
from ehfl.cli.output import (
    FIGURES,
    check_writable,
    print_sentences,
    print_table,
    progress,
    say_if_blind,
    say_if_compiling,
    say_where,
)
from ehfl.cli.streams import own_prints_aside
from ehfl.cli.usage import path, whole
from ehfl.files import json_text
from ehfl.validation import UserError, whole_number

if TYPE_CHECKING:
    from ehfl.analysis.audit import Audit
    from ehfl.experiment import Spec

_MOST_SEEDS = 10_000
_MANY_EXAMPLES = 5_000  # whose gradients take a minute or more with a large network
# The \b in it keeps the lines that follow as they are.
HELP = """Show whom a comparison will hear, and what a plain mean of the participants will optimise.

Trains nothing. For each arm: how often each client takes part, what it weighs in the mean (q_i, where 1/N would be
fair), chi^2 = N sum (q_i - 1/N)^2, the mixture of labels that the mean optimises beside the true one, and the floor
chi^2 zeta^2 that this can leave |grad f|^2 at. Exact for Greedy on Bernoulli without losses in storage, else from
simulated seeds, with intervals. docs/audit.md explains the figures.

\b
Examples:
  ehfl audit
  ehfl audit experiments/demo.toml --figure weights.png
  ehfl audit -o 'fleet.rate={low=0.1,high=0.9}' -o learning.order=by-label
  ehfl audit mine.toml --without-floor --json
"""


def audit(
    spec: SpecFile = None,
    override: Override = None,
    data: Data = None,
    seeds: Annotated[
        int, Option(metavar="N", parser=whole, help="Seeds to simulate where chances cannot be computed.")
    ] = 20,
    without_floor: Annotated[
        bool, Option("--without-floor", help="Leave out zeta^2 and the floor: no gradients are computed.")
    ] = False,
    classes: Annotated[
        bool, Option("--classes", help="Show every class [the twelve that are moved most, where there are more].")
    ] = False,
    as_json: AsJson = False,
    figure: Annotated[
        Path | None, Option(metavar="FILE", parser=path, help="Draw weights and labels here: .png, .svg or .pdf.")
    ] = None,
) -> None:
    """Show whom a comparison will hear, and what a plain mean of the participants will optimise."""
    from ehfl.experiment import begin_process, read_spec

    whole_number("--seeds", seeds, low=2, high=_MOST_SEEDS)
    if figure is not None:
        check_writable("--figure", figure, FIGURES)
    overrides, names = with_data(override, data)
    begin_process()
    with named_by_option(names), own_prints_aside():
        read = read_spec(spec, overrides)
        audits = _audited(read, seeds, with_floor=not without_floor)
    _say_unlabelled(read, audits, classes_asked_for=classes)
    if figure is not None:  # before anything is printed, since nobody may read it to its end
        from ehfl.report import draw_audit

        draw_audit(audits, figure, schedulers=scheduler_names(read))
        say_where("figure", figure)
    _show(read, audits, as_json, every_class=classes)


def _audited(spec: Spec, seeds: int, *, with_floor: bool) -> tuple[Audit, ...]:
    from ehfl.experiment import audit as audit_all
    from ehfl.experiment.building import scheduler_of

    for arm in spec.arms:
        say_if_blind(arm.label, scheduler_of(arm.setting))
    say_if_compiling(max(arm.setting.fleet.clients for arm in spec.arms))
    with progress("auditing", len(spec.arms)) as advance:
        return audit_all(spec, seeds=seeds, with_floor=with_floor, on_arm=advance, on_gradients=_say_gradients)


def _say_gradients(examples: int) -> None:
    """Tell the user why it takes its time, where it does."""
    if examples > _MANY_EXAMPLES:
        how = f"gradients of {examples:,} examples at the first model, one thread"
        typer.echo(f"measuring zeta^2: {how}; --without-floor leaves it out", err=True)


def _say_unlabelled(spec: Spec, audits: tuple[Audit, ...], *, classes_asked_for: bool) -> None:
    """Tell the user which tasks have no classes that could be mixed; refuse figures by class that were asked for."""
    without = [arm for arm, audit in zip(spec.arms, audits, strict=True) if not audit.classes]
    names = ", ".join(dict.fromkeys(arm.setting.learning.task["name"] for arm in without))
    if without and classes_asked_for:
        raise UserError(f"--classes must be left out: {names} has no classes")
    if without:
        typer.echo(f"{names} has no classes: there are no labels to mix", err=True)


def _show(spec: Spec, audits: tuple[Audit, ...], as_json: bool, *, every_class: bool) -> None:
    from ehfl.report import audit_sentences, audit_table

    sentences = audit_sentences(audits)
    if as_json:
        arms = [audit.as_facts() for audit in audits]
        typer.echo(json_text({"name": spec.name, "arms": arms, "sentences": sentences}))
        return
    rounds = sorted({arm.setting.rounds for arm in spec.arms})
    over = f"{rounds[0]:,}" if len(rounds) == 1 else f"{rounds[0]:,} to {rounds[-1]:,}"
    clients = ", ".join(dict.fromkeys(f"{audit.n_clients:,}" for audit in audits))
    print_table(f"{spec.name}: {clients} clients, {over} rounds", audit_table(audits, every_class=every_class))
    print_sentences(sentences)
