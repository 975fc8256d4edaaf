"""`ehfl devices`: what devices and radios draw, by which source, and what a round costs with them."""

from __future__ import annotations

import dataclasses
import math
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from ehfl.cli.options import AsJson, Given, command, named_by_option
from ehfl.cli.streams import own_prints_aside
from ehfl.files import json_text
from ehfl.quantities import as_bytes, as_time, in_prefixes
from ehfl.validation import InvalidValue, closest

if TYPE_CHECKING:
    from ehfl.energy.cost import Profile
    from ehfl.experiment.spec.costing import Turn
    from ehfl.experiment.spec.models import LearningSpec

_WIDTH = 80
_UNITS = {"flop_per_joule": "FLOP/J", "joules_per_sample": "J/sample", "session": "J a session",
          "joules_per_bit_up": "J/bit up", "joules_per_bit_down": "J/bit down", "flop_per_second": "FLOP/s",
          "memory": "B", "session_seconds": "s a session", "bits_per_second_up": "bit/s up",
          "bits_per_second_down": "bit/s down"}  # fmt: skip
# The columns of each table: heading, width, and the figures of which a profile has one.
_TABLES = {
    "devices": (("devices", 22, ()), ("energy", 17, ("flop_per_joule", "joules_per_sample")),
                ("speed", 15, ("flop_per_second",)), ("memory", 8, ("memory",))),
    "radios": (("radios", 17, ()), ("session", 9, ("session",)), ("bit up", 9, ("joules_per_bit_up",)),
               ("bit down", 10, ("joules_per_bit_down",)), ("session", 9, ("session_seconds",)),
               ("up", 13, ("bits_per_second_up",)), ("down", 13, ("bits_per_second_down",))),
}  # fmt: skip


@command(
    "What devices and radios take; a round's cost and time.",
    task="digits",
    local_steps=5,
    batch_size=50,
    aggregation="mean",
)
def devices(
    given: Given,
    device: Annotated[str | None, Option(metavar="NAME", help="The device that trains.")] = None,
    radio: Annotated[str | None, Option(metavar="NAME", help="The radio that sends and receives.")] = None,
    override: Annotated[
        list[str] | None,
        Option("--override", "-o", metavar="KEY=VALUE", help="Replace a figure: -o session=0.9. Repeatable."),
    ] = None,
    full: Annotated[bool, Option("--full", help="List every figure with its source.")] = False,
    as_json: AsJson = False,
) -> None:
    r"""List devices and radios; or one of them with the source of every figure; or the cost of a round with both.

    A round takes a session, bits both ways, and K times the batch size times what training on a sample takes, in joules
    and in seconds; after sending, a duty cycle may impose silence. Specs name devices and radios in fleet.cost, where
    every figure can be replaced, and a turn must fit into a round. docs/energy.md says where the figures are wrong.

    \b
    Examples:
      ehfl devices
      ehfl devices --radio lora-sf9
      ehfl devices --device cortex-m4 --radio esp32-wifi-mqtt
      ehfl devices --device raspberry-pi --radio ble --task cifar10 -k 10
      ehfl devices --device cortex-m4 --radio ble -o session=0.02
      ehfl devices --device cortex-m4 --radio lora-sf9 --aggregation scaffold
    """
    from ehfl import energy

    names = {"device": device, "radio": radio}
    if not override and None in names.values():
        given.refuse(given.options, "without --device and --radio")
        chosen = _named(names, {"device": energy.devices(), "radio": energy.radios()})
        _list(chosen, full or any(names.values()), as_json)
        return
    with named_by_option(given.names | {name: f"--{name}" for name in names}), own_prints_aside():
        learning, turn = _turn(given, names)
    cost, seconds = turn.cost, turn.time
    weak = [f"{name}.{figure}" for name, known in ((device, energy.devices()), (radio, energy.radios()))
            for figure in (known[name].weak() if name in known else ())]  # fmt: skip
    if as_json:
        chosen = {name: given[name] for name in (*names, *given.options)}
        step = cost.step(learning.local_steps) if learning.local_epochs is None else None
        joules = dict(cost.parts()) | {"total": cost.total, "base": cost.base, "step": step}
        typer.echo(json_text(chosen | {"joules": joules, "weak": weak, "fits_memory": turn.fits_memory(),
                                       "seconds": dict(seconds.parts()) | {"total": seconds.total}}))  # fmt: skip
    else:
        on = f"on {device or 'a device of your own'} over {radio or 'a radio of your own'}"
        _print_cost(f"{learning.task['name']} {on}", turn, learning, weak)


def _turn(given: Given, names: Mapping[str, str | None]) -> tuple[LearningSpec, Turn]:
    from ehfl.experiment import read_spec
    from ehfl.experiment.spec.build import size_of
    from ehfl.experiment.spec.costing import read_costing, turns_of
    from ehfl.experiment.spec.overrides import parsed_overrides

    own = parsed_overrides(given["override"] or ())
    for name in (name for name in own if name in names):
        raise InvalidValue(name, f"left out where --{name} is given", own[name])
    table = {name: value for name, value in names.items() if value is not None} | own
    setting = read_spec({}, given.changes()).base
    (turn,) = turns_of(read_costing(table, ""), setting.learning, 1, lambda: size_of(setting), key="")
    return setting.learning, turn


def _named(
    names: Mapping[str, str | None], kinds: Mapping[str, Mapping[str, Profile]]
) -> dict[str, Mapping[str, Profile]]:
    """Return all profiles by kind, or those that are named."""
    for kind, name in names.items():
        if name is not None and name not in kinds[kind]:
            raise InvalidValue(f"--{kind}", f"one of {', '.join(kinds[kind])}", name + closest(name, kinds[kind]))
    chosen = {kind: {name: kinds[kind][name]} for kind, name in names.items() if name is not None}
    return {f"{kind}s": profiles for kind, profiles in (chosen or kinds).items()}


def _list(kinds: Mapping[str, Mapping[str, Profile]], full: bool, as_json: bool) -> None:
    if as_json:
        facts = {kind: {one.name: _facts(one) for one in profiles.values()} for kind, profiles in kinds.items()}
        typer.echo(json_text(facts))
    elif full:
        typer.echo("\n".join(line for profiles in kinds.values() for one in profiles.values() for line in _lines(one)))
    else:
        typer.echo("\n\n".join(map(_table, kinds, kinds.values())))
        typer.echo("\nnext: the source of every figure: --device NAME, --radio NAME or --full")
        typer.echo("      the cost of a round: --device NAME --radio NAME")


def _table(kind: str, profiles: Mapping[str, Profile]) -> str:
    heads, widths, figures = zip(*_TABLES[kind], strict=True)
    rows = [[one.name, *(_cell(one, names) for names in figures[1:])] for one in profiles.values()]
    return "\n".join("".join(map(str.ljust, row, widths)).rstrip() for row in (heads, *rows))


def _cell(profile: Profile, names: Sequence[str]) -> str:
    """Return the first of these figures that the profile has."""
    for name in names:
        if name in profile.figures:
            return in_prefixes(profile.figures[name].value, _UNITS[name].split()[0].removesuffix("/bit"))
    return "-"


def _shown(name: str, value: float) -> str:
    return f"{100 * value:g} % of the time" if name == "duty_cycle" else in_prefixes(value, _UNITS[name])


def _facts(profile: Profile) -> dict[str, Any]:
    return {key: value for key, value in dataclasses.asdict(profile).items() if key != "name"}


def _lines(profile: Profile) -> Iterator[str]:
    """Yield in lines of 80 what a profile is, each figure with its source, and where it is wrong."""
    yield f"  {profile.name}: {profile.what}"
    for name, figure in profile.figures.items():
        derived = f" (= {figure.arithmetic})" if figure.arithmetic else ""
        weak = ", weak" if figure.weak else ""
        yield from _wrapped(f"{_shown(name, figure.value)} ({figure.how}{weak}): {figure.source}{derived}")
    yield from _wrapped(f"but: {profile.wrong}")


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 6, break_long_words=False,
                         break_on_hyphens=False)  # fmt: skip


def _print_cost(title: str, turn: Turn, learning: LearningSpec, weak: Sequence[str]) -> None:
    cost, time = turn.cost, turn.time
    typer.echo(f"{title}: {in_prefixes(cost.total, 'J')} and {as_time(time.total)} a round\n")
    joules = dict(cost.parts())
    for name, seconds in time.parts():
        if name == "silence" and not seconds > 0:
            continue
        spent = joules.get(name, 0.0)
        share = spent / cost.total if cost.total else 0.0
        shown = "unknown" if math.isnan(seconds) else as_time(seconds)
        typer.echo(f"  {name:10}{in_prefixes(spent, 'J'):>10}{share:>8.1%}{shown:>12}")
    if not turn.fits_memory():
        typer.echo(f"\nwarning: weights of {as_bytes(turn.work['model_bytes'])} exceed the device's memory")
    if weak:
        warning = f"warning: weak figures, see `ehfl devices --full`: {', '.join(weak)}"
        typer.echo("\n" + textwrap.fill(warning, _WIDTH, break_on_hyphens=False))
    if learning.local_epochs is not None:
        typer.echo(f"\n{learning.local_epochs} passes over a mean share of the examples")
        return
    k, step = learning.local_steps, in_prefixes(cost.step(learning.local_steps), "J")
    typer.echo(f"\n{k} local steps of {learning.batch_size} samples: {step} a step; the rest does not depend on K")
