"""`ehfl devices`: what devices and radios draw, by which source, and what a round costs with them."""

from __future__ import annotations

import dataclasses
import textwrap
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Option

from ehfl.cli.options import NAMES, AsJson, is_given, named_by_option
from ehfl.cli.streams import own_prints_aside
from ehfl.cli.usage import whole
from ehfl.files import json_text
from ehfl.validation import InvalidValue

if TYPE_CHECKING:
    from ehfl.energy import RoundCost
    from ehfl.energy.profiles import Profile
    from ehfl.experiment.spec import LearningSpec

_WIDTH = 80
_OF_ROUND = {"task": "learning.task", "local_steps": "learning.local_steps", "batch_size": "learning.batch_size",
             "aggregation": "learning.aggregation"}  # fmt: skip
_UNITS = {"flop_per_joule": "FLOP/J", "joules_per_sample": "J/sample", "session": "J a session",
          "joules_per_bit_up": "J/bit up", "joules_per_bit_down": "J/bit down"}  # fmt: skip
_PREFIXES = {1e-9: "n", 1e-6: "u", 1e-3: "m", 1.0: "", 1e3: "k", 1e6: "M", 1e9: "G"}
# The \b in it keeps the lines that follow as they are.
HELP = """List devices and radios with what they draw and the source of every figure; or the cost of a round with them.

A round costs a session, bits times J/bit both ways, and K times the batch size times what training on a sample takes.
Specs name them in fleet.cost, where every figure can be replaced. docs/energy.md says where the figures are wrong.

\b
Examples:
  ehfl devices
  ehfl devices --device cortex-m4 --radio esp32-wifi-mqtt
  ehfl devices --device raspberry-pi --radio ble --task cifar10 --local-steps 10
  ehfl devices --device cortex-m4 --radio ble -o session=0.02 -o flop_per_joule=2e8
  ehfl devices --device cortex-m4 --radio lora-sf9 --aggregation scaffold --json
"""


def devices(
    context: typer.Context,
    device: Annotated[str | None, Option(metavar="NAME", help="What computes, for the cost of a round.")] = None,
    radio: Annotated[str | None, Option(metavar="NAME", help="What talks, likewise.")] = None,
    task: Annotated[str, Option(metavar="TASK", help="What is trained: digits, cifar10, module:Class, ...")] = "digits",
    local_steps: Annotated[
        int, Option("--local-steps", "-k", metavar="K", parser=whole, help="SGD steps a round.")
    ] = 5,
    batch_size: Annotated[int, Option(metavar="N", parser=whole, help="Samples a step.")] = 50,
    aggregation: Annotated[
        str, Option(metavar="NAME", help="Some send more than a model each way, as scaffold does.")
    ] = "mean",
    override: Annotated[
        list[str] | None,
        Option("--override", "-o", metavar="KEY=VALUE", help="Replace a figure: -o session=0.9. Repeatable."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """List devices and radios, or the cost of a round."""
    from ehfl import energy

    if device is None and radio is None and not override:
        _check_nothing_ignored(context)
        _list({"devices": energy.devices(), "radios": energy.radios()}, as_json)
        return
    with named_by_option(NAMES | {"device": "--device", "radio": "--radio"}), own_prints_aside():
        learning, cost = _cost(context, {"device": device, "radio": radio}, override or ())
    if as_json:
        chosen = {name: context.params[name] for name in ("device", "radio", *_OF_ROUND)}
        joules = dict(cost.parts()) | {"total": cost.total, "base": cost.base, "step": cost.step(local_steps)}
        typer.echo(json_text(chosen | {"joules": joules}))
    else:
        on = f"on {device or 'a device of your own'} over {radio or 'a radio of your own'}"
        _print_cost(f"{learning.task['name']} {on}", cost, local_steps, batch_size)


def _check_nothing_ignored(context: typer.Context) -> None:
    """Refuse what says something of a round where none is asked for."""
    for option in (option for option in _OF_ROUND if is_given(context, option)):
        allowed = "left out without --device and --radio"
        raise InvalidValue(NAMES[_OF_ROUND[option]], allowed, context.params[option])


def _cost(
    context: typer.Context, names: Mapping[str, str | None], override: Sequence[str]
) -> tuple[LearningSpec, RoundCost]:
    from ehfl.experiment import read_spec
    from ehfl.experiment.building import size_of
    from ehfl.experiment.changing import parsed_overrides
    from ehfl.experiment.costing import costs_of, read_costing

    own = parsed_overrides(override)
    for name in (name for name in own if name in names):
        raise InvalidValue(name, f"left out where --{name} is given", own[name])
    table = {name: value for name, value in names.items() if value is not None} | own
    setting = read_spec({}, {key: context.params[option] for option, key in _OF_ROUND.items()}).base
    (cost,) = costs_of(read_costing(table, ""), setting.learning, 1, lambda: size_of(setting), key="")
    return setting.learning, cost


def _list(kinds: Mapping[str, Mapping[str, Profile]], as_json: bool) -> None:
    if as_json:
        facts = {kind: {one.name: _facts(one) for one in profiles.values()} for kind, profiles in kinds.items()}
        typer.echo(json_text(facts))
        return
    for kind, profiles in kinds.items():
        typer.echo(f"{kind}\n" + "\n".join(map(_row, profiles.values())) + "\n")
    typer.echo("sources")
    for profile in (one for profiles in kinds.values() for one in profiles.values()):
        typer.echo("\n".join(_lines(profile)))


def _row(profile: Profile) -> str:
    """Return the figures of a profile in a line."""
    figures = [amount(figure.value, _UNITS[name]) for name, figure in profile.figures.items()]
    return f"  {profile.name:17}{''.join(f'{figure:18}' for figure in figures)}".rstrip()


def _facts(profile: Profile) -> dict[str, Any]:
    return {key: value for key, value in dataclasses.asdict(profile).items() if key != "name"}


def _lines(profile: Profile) -> Iterator[str]:
    """Yield in lines of 80 what a profile is, each figure with its source, and where it is wrong."""
    yield f"  {profile.name}: {profile.what}"
    for name, figure in profile.figures.items():
        derived = f" (= {figure.arithmetic})" if figure.arithmetic else ""
        yield from _wrapped(f"{amount(figure.value, _UNITS[name])}: {figure.source}{derived}")
    yield from _wrapped(f"but: {profile.wrong}")


def _wrapped(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=" " * 4, subsequent_indent=" " * 6, break_long_words=False)


def _print_cost(title: str, cost: RoundCost, local_steps: int, batch_size: int) -> None:
    typer.echo(f"{title}: {amount(cost.total, 'J')} a round\n")
    for name, joules in cost.parts():
        share = joules / cost.total if cost.total else 0.0
        typer.echo(f"  {name:10}{amount(joules, 'J'):>10}{share:>8.1%}")
    step = amount(cost.step(local_steps), "J")
    typer.echo(f"\n{local_steps} local steps of {batch_size} samples: {step} a step; the rest does not depend on K")


def amount(value: float, unit: str) -> str:
    """Return an amount with three digits and a prefix before its unit.

    >>> amount(5.8001e8, "FLOP/J"), amount(2.97e-8, "J/bit up"), amount(0, "J")
    ('580 MFLOP/J', '29.7 nJ/bit up', '0 J')
    """
    fitting = [factor for factor in _PREFIXES if abs(value) >= 0.9995 * factor]
    factor = max(fitting, default=1.0 if value == 0 else 1e-9)
    digits = f"{value / factor:.3g}"
    return f"{digits if 'e' not in digits else f'{value / factor:.0f}'} {_PREFIXES[factor]}{unit}"
