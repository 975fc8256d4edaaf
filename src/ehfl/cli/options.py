"""Options that several commands share, and the spec that they describe.

An option is a key of a spec under another name, so values are read and checked by the spec; errors name the option.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from ehfl.cli.streams import own_prints_aside
from ehfl.cli.usage import path, whole
from ehfl.validation import InvalidValue, renamed

if TYPE_CHECKING:
    from ehfl.experiment import Spec

RUNS = Path("runs")  # where experiments are kept, unless another folder is given
SCHEDULERS = ("myopic", "round-robin", "greedy")  # the paper's


Clients = Annotated[int | None, Option("--clients", "-n", metavar="N", parser=whole, help="Clients in the fleet [10].")]
Rate = Annotated[
    str | None,
    Option(metavar="RATE", help="Chance of a unit per client and round: a number, a list 0.1,0.9 or a file [0.5]."),
]
HarvestOption = Annotated[
    str | None,
    Option(
        "--harvest",
        metavar="NAME",
        help="Instead of a rate: replay:FILE.csv, trace:FILE.csv, sun:2, markov:stay_on=0.9,stay_off=0.8, ..., "
        "module:Class, module:Class:peak=3.",
    ),
]
Capacity = Annotated[
    str | None,
    Option(metavar="UNITS", help="What a battery holds: a number, inf, a list, a file or {low=1,high=9} [inf]."),
]
Initial = Annotated[str | None, Option(metavar="UNITS", help="What a battery holds at the start, likewise [0].")]
Cost = Annotated[str | None, Option(metavar="UNITS", help="What a round costs a participant, likewise [1].")]
RoundLength = Annotated[
    str | None,
    Option(metavar="TIME", help="How long a round takes, 3600 or '1 h': energies are joules then, or texts as '5 Wh'."),
]
Scheduler = Annotated[
    list[str] | None,
    Option(
        "--scheduler",
        "-s",
        metavar="NAME",
        help="myopic, greedy, round-robin, uniform-random, always-on, oldest-first, power-of-choice, f3ast, "
        "energy-cycles, most-rounds-left, threshold, lyapunov, forecast, adaptive-steps, module:Class; "
        "parameters as in myopic:5 or myopic:target=5. Repeatable. [myopic, round-robin, greedy]",
    ),
]
Target = Annotated[str | None, Option(metavar="N", help="Clients wanted a round [what the harvest sustains].")]
Rounds = Annotated[int, Option("--rounds", "-t", metavar="T", parser=whole, help="Rounds to play.")]
Seed = Annotated[int, Option(metavar="SEED", parser=whole, help="Seed of the weather and the tie-breaks.")]
Override = Annotated[
    list[str] | None,
    Option("--override", "-o", metavar="KEY=VALUE", help="Change any key of the spec: -o fleet.unit=mJ. Repeatable."),
]
SpecFile = Annotated[
    Path | None, Argument(metavar="SPEC", parser=path, help="A TOML file [the demo].", show_default=False)
]
SpecOrDefaults = Annotated[
    Path | None, Argument(metavar="SPEC", parser=path, help="A TOML file [every key's default].", show_default=False)
]
Data = Annotated[
    Path | None, Option(metavar="FOLDER", parser=path, help="Where the task's data lie [$EHFL_DATA, else downloaded].")
]
Runs = Annotated[Path, Option(metavar="FOLDER", parser=path, help="Where experiments are kept.")]
Full = Annotated[bool, Option("--full", help="Print every figure, not the compact table.")]
AsJson = Annotated[bool, Option("--json", help="Print JSON instead of a table.")]

# The key of the spec that each option gives a value for.
KEYS = {
    "clients": "fleet.clients",
    "rate": "fleet.rate",
    "harvest": "fleet.harvest",
    "capacity": "fleet.capacity",
    "initial": "fleet.initial",
    "cost": "fleet.cost",
    "round_length": "fleet.round_length",
    "scheduler": "schedulers",
    "target": "target",
    "rounds": "rounds",
    "seed": "seed",
    "task": "learning.task",
    "data": "learning.data",
    "local_steps": "learning.local_steps",
    "batch_size": "learning.batch_size",
    "step_size": "learning.step_size",
    "partition": "learning.partition",
    "aggregation": "learning.aggregation",
    "clip": "learning.clip",
    "weight_decay": "learning.weight_decay",
    "device": "learning.device",
    "eval_every": "evaluation.every",
}
NAMES = {key: f"--{option.replace('_', '-')}" for option, key in KEYS.items()}  # how errors call a key
_ARMS = ("scheduler", "schedulers", "arms")  # keys that say which arms there are
_NUMBERS = {"fleet.rate", "fleet.capacity", "fleet.initial", "fleet.cost", "fleet.round_length"}  # or lists of them


@own_prints_aside()
def spec_of(context: typer.Context, **more: Any) -> Spec:
    """Return the spec that a command's options describe; what is None was not given. `more` are further keys."""
    from ehfl.experiment.changing import parsed_overrides
    from ehfl.experiment.reading import read_spec
    from ehfl.randomness import check_seed

    given = context.params
    overrides = parsed_overrides(given["override"] or ())
    _check_given_once(context, overrides)
    changes = {key: _value(key, given[option]) for option, key in KEYS.items() if given.get(option) is not None}
    schedulers = changes.pop("schedulers", None) or SCHEDULERS  # typer makes an empty list of what was not given
    several = [schedulers] if isinstance(schedulers, str | dict) else schedulers
    if is_given(context, "scheduler") or not any(key.split(".")[0] in _ARMS for key in overrides):
        changes["schedulers"] = [_value("schedulers", one) for one in several]
    changes["seeds"] = [check_seed(changes.pop("seed"))]
    return read_spec({}, changes | {key: value for key, value in more.items() if value is not None} | overrides)


def with_data(override: Sequence[str] | None, data: Path | None) -> tuple[list[str], dict[str, str]]:
    """Return the overrides with the one that --data stands for, where it is given, and how errors call its key."""
    if data is None:
        return [*(override or ())], {}
    return [*(override or ()), f"learning.data={json.dumps(str(data))}"], {"learning.data": "--data"}


def _check_given_once(context: typer.Context, overrides: Mapping[str, Any]) -> None:
    """Refuse an option that an override would silently replace."""
    given = [(option, key) for option, key in KEYS.items() if is_given(context, option)]
    for option, key in given:
        replaced = {"seed": ("seeds",), "schedulers": _ARMS}.get(key, (key,))
        for changed in overrides:
            if any(f"{one}.".startswith(f"{changed}.") for one in replaced):
                raise InvalidValue(NAMES[key], f"left out where -o {changed} is given", value_of(context, option))


def is_given(context: typer.Context, option: str) -> bool:
    """Return whether an option stands on the command line, as opposed to having its default."""
    source = context.get_parameter_source(option)
    return source is not None and source.name == "COMMANDLINE"


def scheduler_names(spec: Spec) -> dict[str, str]:
    """Return the registered name of each arm's scheduler by label, empty for the user's own."""
    from ehfl.registry import is_own

    tables = {arm.label: arm.setting.scheduler for arm in spec.arms}
    return {label: "" if is_own(table) else table["name"] for label, table in tables.items()}


def _value(key: str, value: Any) -> Any:
    """Return what an option's text stands for: numbers, lists like 0.1,0.9 and tables as such, else the text."""
    from ehfl.registry import literal

    if isinstance(value, Path):
        return str(value)
    if isinstance(value, str) and value.startswith("{"):
        return literal(value)
    if key == "target" or (key in _NUMBERS and isinstance(value, str)):
        found = literal(value)
        if isinstance(found, str) and "," in found:
            several = literal(f"[{found}]")
            return several if isinstance(several, list) else found
        return found
    if key == "learning.step_size":
        number = literal(value)
        return number if isinstance(number, int | float) else value
    return value


def names_in(context: typer.Context) -> dict[str, str]:
    """Return how errors call the keys of a command: by their options, but for those that were given with -o."""
    changed = [f"{text.partition('=')[0].strip()}." for text in context.params["override"] or ()]
    return {
        key: name
        for key, name in NAMES.items()
        if not any(one.startswith(f"{key}.") or f"{key}.".startswith(one) for one in changed)
    }


def named_by_option(names: Mapping[str, str]) -> AbstractContextManager[None]:
    """Let errors that are about a key of the spec name the option under which it was given."""
    return renamed(lambda key: option_name(key, names))


def value_of(context: typer.Context, option: str) -> Any:
    """Return what an option was given; several values are a list, of which some versions of typer make a tuple."""
    value = context.params[option]
    return list(value) if isinstance(value, tuple) else value


def option_name(key: str, names: Mapping[str, str] = NAMES) -> str:
    """Return the option for a key, and the rest of the key behind it.

    >>> option_name("fleet.rate"), option_name("schedulers[2].per_round"), option_name("evaluation.goal")
    ('--rate', '--scheduler per_round', 'evaluation.goal')
    """
    plain = re.sub(r"\[\d+\]", "", key)
    for known in sorted(names, key=len, reverse=True):
        if plain == known or plain.startswith(f"{known}."):
            return f"{names[known]} {plain.removeprefix(known).lstrip('.')}".strip()
    return key
