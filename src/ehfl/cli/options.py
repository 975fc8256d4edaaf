"""Options that stand for a key of the spec, declared once, and commands that are made from them.

Such an option is a key of the spec under another name: the spec reads and checks its value, and errors name the option.
The table is plain data, so that `ehfl --help` need not import the spec; a test compares it with the spec's models.
"""

from __future__ import annotations

import inspect
import re
import shlex
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer import Argument, Option

from ehfl.cli.streams import own_prints_aside
from ehfl.cli.usage import option_name, path, value_parser
from ehfl.validation import InvalidValue, renamed, whole_number

if TYPE_CHECKING:
    from ehfl.experiment import Spec

RUNS = Path("runs")  # where experiments are kept, unless another folder is given
SCHEDULERS = ["myopic", "round-robin", "greedy"]  # the paper's


@dataclass(frozen=True, slots=True)
class SpecOption:
    """An option that gives a value for a key of the spec."""

    key: str  # in the spec, dotted
    kind: type  # int, float or Path; str where the spec reads the text itself
    metavar: str
    help: str
    default: str  # what the spec takes where the option is not given, as the help shows it
    short: str = ""
    repeatable: bool = False


SPEC_OPTIONS = {
    "clients": SpecOption("fleet.clients", int, "N", "Clients in the fleet", "10", "-n"),
    "rate": SpecOption("fleet.rate", str, "RATE",
                       "Chance of a unit per client and round: a number, a list 0.1,0.9 or a file", "0.5"),
    "harvest": SpecOption("fleet.harvest", str, "NAME", "Instead of a rate: replay:FILE.csv, trace:FILE.csv, sun:2, "
                          "markov:stay_on=0.9,stay_off=0.8, ..., module:Class, module:Class:peak=3", "bernoulli"),
    "capacity": SpecOption("fleet.capacity", str, "UNITS",
                           "What a battery holds: a number, inf, a list, a file or {low=1,high=9}; with --round-length "
                           "'5 Wh' or '2000 mAh at 3.7 V', where a mere number is joules", "inf"),
    "initial": SpecOption("fleet.initial", str, "UNITS", "What a battery holds at the start, likewise", "0"),
    "cost": SpecOption("fleet.cost", str, "UNITS", "What a round costs a participant, likewise", "1"),
    "round_length": SpecOption("fleet.round_length", str, "TIME", "How long a round takes, 3600 or '1 h': energies are "
                               "then numbers in joules, or texts as '5 Wh'", "none"),
    "standby": SpecOption("fleet.standby", str, "POWER", "What a device always draws, with --round-length", "none"),
    "reserve": SpecOption("fleet.reserve", str, "SHARE", "Share of the capacity below which it switches off, likewise",
                          "none"),
    "scheduler": SpecOption("schedulers", str, "NAME",
                            "myopic, greedy, round-robin, uniform-random, always-on, oldest-first, power-of-choice, "
                            "f3ast, energy-cycles, most-rounds-left, threshold, lyapunov, forecast, adaptive-steps, "
                            "module:Class; parameters as in myopic:5 or myopic:target=5",
                            "myopic", "-s", repeatable=True),
    "target": SpecOption("target", str, "N", "Clients wanted a round", "what the harvest sustains"),
    "rounds": SpecOption("rounds", int, "T", "Rounds to play", "100", "-t"),
    "seed": SpecOption("seeds", int, "SEED", "Seed of the weather and the tie-breaks", "0"),
    "task": SpecOption("learning.task", str, "TASK", "digits, cifar10, femnist, wells, ... or module:Class", "digits"),
    "data": SpecOption("learning.data", Path, "FOLDER", "Where the task's data lie", "$EHFL_DATA, else downloaded"),
    "local_steps": SpecOption("learning.local_steps", int, "K", "SGD steps a round", "5", "-k"),
    "batch_size": SpecOption("learning.batch_size", int, "N", "Examples a step", "50"),
    "step_size": SpecOption("learning.step_size", str, "RULE",
                            "nominal, linear, constant:0.1, theorem, ... or a number", "nominal"),
    "partition": SpecOption("learning.partition", str, "HOW",
                            "Which client holds which data: iid, dirichlet:ALPHA, shards:N or module:Class", "iid"),
    "aggregation": SpecOption("learning.aggregation", str, "NAME",
                              "How the server combines models: mean, fedau, mifa, ... or module:Class", "mean"),
    "clip": SpecOption("learning.clip", float, "NORM", "The longest gradient", "none"),
    "weight_decay": SpecOption("learning.weight_decay", float, "X", "Adds X times the weights to gradients", "0"),
    "precision": SpecOption("learning.precision", str, "NAME", "Of products in training: float32 or bf16", "float32"),
    "device": SpecOption("learning.device", str, "NAME", "auto, cpu, cuda or mps", "auto"),
    "eval_every": SpecOption("evaluation.every", int, "N", "Rounds between evaluations", "5"),
}  # fmt: skip
FLEET = ("clients", "rate", "harvest", "capacity", "initial", "cost")
JOULES = ("round_length", "standby", "reserve")
_ARMS = ("schedulers", "scheduler", "arms")  # keys that say which arms there are
_NO_ARMS = {"scheduler": None, "arms": None}
_NUMBERS = ("fleet.rate", "fleet.capacity", "fleet.initial", "fleet.cost", "fleet.round_length", "fleet.standby",
            "fleet.reserve", "target")  # fmt: skip  # or lists

_OVERRIDE = Annotated[
    list[str] | None,
    Option("--override", "-o", metavar="KEY=VALUE", help="Change any key of the spec: -o fleet.unit=mJ. Repeatable."),
]
# Options that are no key of the spec, and that several commands have.
SpecFile = Annotated[Path | None, Argument(metavar="SPEC", parser=path, help="A TOML file [the demo].")]
SpecOrDefaults = Annotated[
    Path | None, Argument(metavar="SPEC", parser=path, help="A TOML file [every key's default].")
]
Runs = Annotated[Path, Option(metavar="FOLDER", parser=path, help="Where experiments are kept.")]
Figure = Annotated[Path | None, Option(metavar="FILE", parser=path, help="Draw the result: .png, .svg or .pdf.")]
Clairvoyant = Annotated[
    bool, Option("--clairvoyant", help="Show the share of what is achievable with perfect foresight of the harvests.")
]
Full = Annotated[bool, Option("--full", help="Print every row, not the compact table.")]
Sweep = Annotated[
    list[str] | None,
    Option("--sweep", metavar="KEY=A,B,C",
           help="Every arm with each of these values: --sweep fleet.capacity=1,2,5. Repeatable: all combinations, "
           "or pairs with --sweep zip=true."),
]  # fmt: skip
Track = Annotated[
    str | None,
    Option(metavar="TRACKER", help="Log each run with tensorboard, mlflow, wandb or trackio (an extra each)."),
]
AsJson = Annotated[bool, Option("--json", help="Print JSON instead of a table.")]
_ONLY_SHOWN = ("as_json", "full", "jobs", "on")  # options that change no result


@dataclass(frozen=True, slots=True)
class Unset:
    """The default of an option that a command fills in itself, as the help shows it."""

    shown: str


@dataclass(frozen=True, slots=True)
class Given:
    """What stands on the command line."""

    context: typer.Context
    options: tuple[str, ...]  # the command's options that stand for a key of the spec

    def __getitem__(self, option: str) -> Any:
        """Return the value of an option, its default where it was not given."""
        value = self.context.params[option]
        return list(value) if isinstance(value, tuple) else value  # some versions of typer make tuples

    def has(self, option: str) -> bool:
        """Return whether an option stands on the command line, as opposed to having its default."""
        source = self.context.get_parameter_source(option)
        return source is not None and source.name == "COMMANDLINE"

    @property
    def names(self) -> dict[str, str]:
        """How errors call the keys of the spec: by the options, but for those that were given with -o."""
        changed = [f"{text.partition('=')[0].strip()}." for text in self["override"] or ()]
        keys = {SPEC_OPTIONS[option].key: _dashed(option) for option in self.options} | {"seed": "--seed"}
        return {
            key: name
            for key, name in keys.items()
            if not any(one.startswith(f"{key}.") or f"{key}.".startswith(one) for one in changed)
        }

    def refuse(self, options: Container[str | None], why: str) -> None:
        """Refuse options that the rest of the command line leaves without effect."""
        for one in self.context.command.params:
            if one.name in options and one.name is not None and self.has(one.name):
                raise InvalidValue(option_name(one), f"left out {why}", self[one.name])

    def changes(self, options: Iterable[str] | None = None) -> dict[str, Any]:
        """Return what options say of the spec, by key; by default all that stand for a key of it."""
        chosen = {SPEC_OPTIONS[option]: self[option] for option in (self.options if options is None else options)}
        return {one.key: _value(one.key, value) for one, value in chosen.items() if value not in (None, [])}

    def seeds(self, most: int) -> list[int] | None:
        """Return the seeds that --seed and --seeds stand for, None where one is enough or -o has them."""
        from ehfl.randomness import check_seed

        number = self["seeds"]
        if number is None:
            return None
        whole_number("--seeds", number, low=1, high=most)
        if any(text.partition("=")[0].strip() == "seeds" for text in self["override"] or ()):
            self.refuse(["seeds"], "where -o seeds is given")
            return None
        return [check_seed(check_seed(self["seed"]) + i) for i in range(number)]

    @own_prints_aside()
    def spec(
        self, source: Path | Mapping[str, Any] | None = None, options: Iterable[str] | None = None, **more: Any
    ) -> Spec:
        """Return the spec of a file, or the demo without one, changed by options, by `more` and by -o.

        Where options describe the whole spec, `source` has the defaults of the command.
        """
        from ehfl.experiment.spec.overrides import parsed_overrides
        from ehfl.experiment.spec.read import read_spec
        from ehfl.randomness import check_seed

        overrides = parsed_overrides(self["override"] or ())
        self._check_given_once(overrides)
        changes = self.changes(options)
        if swept := self.context.params.get("sweep"):
            more["sweep"] = parsed_overrides({"sweep": dict(map(_swept, swept))})["sweep"]
        if "seeds" in changes:
            changes["seeds"] = [check_seed(changes["seeds"])]
        if "schedulers" in changes:
            described = isinstance(source, Mapping)  # by options: those left out have their defaults
            if not self.has("scheduler") and (not described or any(key.split(".")[0] in _ARMS for key in overrides)):
                del changes["schedulers"]
            else:
                given = changes["schedulers"]
                several = [given] if isinstance(given, str | dict) else given
                changes["schedulers"] = [_value("schedulers", one) for one in several]
                changes |= {} if described else _NO_ARMS
        with renamed(lambda key: key.replace("sweep.", "--sweep ", 1) if swept else key):
            return read_spec(source, changes | overrides | {key: x for key, x in more.items() if x is not None})

    def _check_given_once(self, overrides: Mapping[str, Any]) -> None:
        """Refuse an option that an override would silently replace."""
        for option in self.options:
            key = SPEC_OPTIONS[option].key
            for changed in overrides:
                if any(f"{one}.".startswith(f"{changed}.") for one in (_ARMS if key == "schedulers" else (key,))):
                    self.refuse([option], f"where -o {changed} is given")

    def again(self) -> str:
        """Return the command that gives the same results again."""
        words = self.context.command_path.split()
        for one in self.context.command.params:
            if one.name is None or one.name in _ONLY_SHOWN or not self.has(one.name):
                continue
            value, name = self[one.name], option_name(one)
            for each in value if isinstance(value, list) else [value]:
                words += [str(each)] if name.isupper() else [name] if each is True else [name, str(each)]
        return shlex.join(words)


def command(short_help: str, *options: str, **defaults: Any) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Make a command of a function that takes `Given` and options of its own; its docstring is the help.

    The command also has these options of the spec, and -o for any key of it. `defaults` are such options too, whose
    default differs from that of the spec, or is `Unset` where the command fills it in.
    """

    def made(function: Callable[..., None]) -> Callable[..., None]:
        own = list(inspect.signature(function, eval_str=True).parameters.values())[1:]

        def run(context: typer.Context, **values: Any) -> None:
            function(Given(context, (*options, *defaults)), **{one.name: values[one.name] for one in own})

        of_spec = [_parameter(name, defaults) for name in SPEC_OPTIONS if name in options or name in defaults]
        if of_spec and all(one.name != "override" for one in own):  # any key of the spec, then, by -o
            of_spec.append(_keyword("override", None, _OVERRIDE))
        parameters = [_keyword("context", inspect.Parameter.empty, typer.Context), *of_spec, *map(_show_default, own)]
        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {one.name: one.annotation for one in parameters}
        run.__name__, run.__doc__ = function.__name__, (function.__doc__ or "").replace("\\b\n", "\b\n")  # click's mark
        run.short_help = short_help  # type: ignore[attr-defined]
        return run

    return made


def _parameter(name: str, defaults: Mapping[str, Any]) -> inspect.Parameter:
    """Return an option of the spec as typer wants it declared."""
    one = SPEC_OPTIONS[name]
    default = defaults.get(name)
    several = one.repeatable and not isinstance(default, str)
    if default is None or isinstance(default, Unset):
        shown = one.default if default is None else default.shown
    else:
        shown = ", ".join(default) if several else str(default)
    text = f"{one.help}. Repeatable. [{shown}]" if several else f"{one.help} [{shown}]."
    named = Option(_dashed(name), *([one.short] if one.short else []), metavar=one.metavar, help=text,
                   parser=value_parser(one.kind), show_default=False)  # fmt: skip
    kind: Any = list[str] if several else one.kind
    value = None if isinstance(default, Unset) else default
    return _keyword(name, value, Annotated[kind | None, named])


def _keyword(name: str, default: Any, annotation: Any) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _show_default(parameter: inspect.Parameter) -> inspect.Parameter:
    """Return a parameter whose help ends in its default in brackets, as those of the spec's options do."""
    kind, info = parameter.annotation.__origin__, parameter.annotation.__metadata__[0]
    without = any(parameter.default is one for one in (None, False, inspect.Parameter.empty))
    if not without and not info.help.endswith("]."):
        info.help = f"{info.help.removesuffix('.')} [{parameter.default}]."
    info.show_default = False
    return _keyword(parameter.name, parameter.default, Annotated[kind, info])


def _dashed(option: str) -> str:
    return f"--{option.replace('_', '-')}"


def _value(key: str, value: Any) -> Any:
    """Return what an option's text stands for: numbers, lists like 0.1,0.9 and tables as such, else the text."""
    from ehfl.registry import literal

    if not isinstance(value, str):
        return str(value) if isinstance(value, Path) else value
    if value.startswith("{"):
        return literal(value)
    if key == "learning.step_size":
        number = literal(value)
        return number if isinstance(number, int | float) else value
    if key not in _NUMBERS:
        return value
    found = literal(value)
    several = literal(f"[{found}]") if isinstance(found, str) and "," in found else found
    return several if isinstance(several, list) else found


def _swept(text: str) -> tuple[str, Any]:
    """Return the key of --sweep and its values; of zip, whether it is wanted.

    >>> _swept("fleet.capacity=1,2,inf"), _swept("fleet.harvest=sun:1,sun:2")
    (('fleet.capacity', [1, 2, inf]), ('fleet.harvest', ['sun:1', 'sun:2']))
    """
    from ehfl.registry import literal

    key, equals, values = text.partition("=")
    if not equals or not key.strip() or not values.strip():
        raise InvalidValue("--sweep", "KEY=VALUE,VALUE,... such as fleet.capacity=1,2,5", text)
    if key.strip() == "zip":
        return "zip", literal(values)
    found = literal(f"[{values}]")
    return key.strip(), found if isinstance(found, list) else [literal(value) for value in values.split(",")]


def named_by_option(names: Mapping[str, str]) -> AbstractContextManager[None]:
    """Let errors that are about a key of the spec name the option under which it was given."""
    return renamed(lambda key: named(key, names))


def named(key: str, names: Mapping[str, str]) -> str:
    """Return the option for a key, and the rest of the key behind it.

    >>> names = {"fleet.rate": "--rate", "schedulers": "--scheduler"}
    >>> named("fleet.rate", names), named("schedulers[2].per_round", names), named("evaluation.goal", names)
    ('--rate', '--scheduler per_round', 'evaluation.goal')
    """
    plain = re.sub(r"\[\d+\]", "", key)
    for known in sorted(names, key=len, reverse=True):
        if plain == known or plain.startswith(f"{known}."):
            return f"{names[known]} {plain.removeprefix(known).lstrip('.')}".strip()
    return key


def scheduler_names(spec: Spec) -> dict[str, str]:
    """Return the registered name of each arm's scheduler by label, empty for a user class."""
    from ehfl.registry import is_user_class

    tables = {arm.label: arm.setting.scheduler for arm in spec.arms}
    return {label: "" if is_user_class(table) else table["name"] for label, table in tables.items()}
