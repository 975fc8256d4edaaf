"""`ehfl audit`: who is heard, and what a plain mean would make of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer
from typer import Option

from ehfl.cli.live import progress
from ehfl.cli.options import AsJson, Figure, Full, Given, SpecFile, command, named_by_option, scheduler_names
from ehfl.cli.output import check_figure, print_output, say_if_blind, say_if_compiling, write_figure
from ehfl.cli.streams import own_prints_aside
from ehfl.cli.usage import whole
from ehfl.files import json_text
from ehfl.validation import whole_number

if TYPE_CHECKING:
    from ehfl.analysis.audit import Audit
    from ehfl.experiment import Spec

_MOST_SEEDS = 10_000
_MANY_EXAMPLES = 5_000  # whose gradients take a minute or more with a large network


@command("Who takes part, and what a mean makes of it.", "data")
def audit(
    given: Given,
    spec: SpecFile = None,
    seeds: Annotated[
        int, Option(metavar="N", parser=whole, help="Seeds to simulate where chances cannot be computed.")
    ] = 20,
    without_floor: Annotated[
        bool, Option("--without-floor", help="Leave out zeta^2 and the floor: no gradients are computed.")
    ] = False,
    energy_only: Annotated[
        bool,
        Option(
            "--energy-only", help="Leave out labels and the floor: how often clients take part, without torch and data."
        ),
    ] = False,
    full: Full = False,
    as_json: AsJson = False,
    figure: Figure = None,
) -> None:
    r"""Show whom a comparison will hear, and what a plain mean of the participants will optimise.

    Trains nothing. For each arm: how often each client takes part, what it weighs in the mean (q_i, where 1/N would be
    fair), chi^2 (N times the squared distance of q from 1/N), the mixture of labels that the mean optimises beside the
    true one, and the floor chi^2 zeta^2 that this can leave |grad f|^2 at. Exact for Greedy on Bernoulli without losses
    in storage, else from simulated seeds, with intervals. docs/audit.md explains the figures.

    \b
    Examples:
      ehfl audit
      ehfl audit experiments/heterogeneous.toml --figure weights.png
      ehfl audit -o 'fleet.rate={low=0.1,high=0.9}' -o learning.order=by-label
      ehfl audit mine.toml --without-floor --json
      ehfl audit experiments/panels.toml --energy-only
    """
    from ehfl.experiment import begin_process

    whole_number("--seeds", seeds, low=2, high=_MOST_SEEDS)
    check_figure(figure)
    if not energy_only:
        begin_process()
    with named_by_option(given.names), own_prints_aside():
        read = given.spec(spec)
        audits = _audited(read, seeds, with_floor=not without_floor, energy_only=energy_only)
    if not energy_only:
        _say_unlabelled(read, audits)
    if figure is not None:  # before anything is printed: a closed pipe must not lose it
        from ehfl.report import audit_figure, looks

        write_figure(audit_figure(audits, looks(scheduler_names(read))), figure)
    from ehfl.report.tables.audit import audit_output, audit_verdict

    if as_json:
        arms = [one.as_facts() for one in audits]
        typer.echo(json_text({"name": read.name, "arms": arms, "sentences": audit_verdict(audits)}))
        return
    rounds = sorted({arm.setting.rounds for arm in read.arms})
    over = f"{rounds[0]:,}" if len(rounds) == 1 else f"{rounds[0]:,} to {rounds[-1]:,}"
    clients = ", ".join(dict.fromkeys(f"{one.n_clients:,}" for one in audits))
    title = f"{read.name}: {clients} clients, {over} rounds"
    print_output(audit_output(title, audits), full=full)


def _audited(spec: Spec, seeds: int, *, with_floor: bool, energy_only: bool) -> tuple[Audit, ...]:
    from ehfl.experiment.audit import audit as audit_all
    from ehfl.experiment.spec.build import scheduler_of

    for arm in spec.arms:
        say_if_blind(arm.label, scheduler_of(arm.setting))
    say_if_compiling(max(arm.setting.fleet.clients for arm in spec.arms))

    def on_gradients(examples: int) -> None:
        if examples > _MANY_EXAMPLES:
            how = f"gradients of {examples:,} examples at the first model, one thread"
            typer.echo(f"measuring zeta^2: {how}; --without-floor leaves it out", err=True)

    with progress("auditing", len(spec.arms)) as advance:
        return audit_all(
            spec, seeds=seeds, with_floor=with_floor, energy_only=energy_only, on_arm=advance, on_gradients=on_gradients
        )


def _say_unlabelled(spec: Spec, audits: tuple[Audit, ...]) -> None:
    """Tell the user which tasks have no classes that could be mixed."""
    without = [arm for arm, audit in zip(spec.arms, audits, strict=True) if not audit.classes]
    names = ", ".join(dict.fromkeys(arm.setting.learning.task["name"] for arm in without))
    if without:
        typer.echo(f"{names} has no classes: there are no labels to mix", err=True)
