"""One way to name a thing with parameters: a harvest, scheduler, partition, step size, aggregation or task.

Each is a class whose fields are its parameters, and is named in specs, on the command line and from Python alike:

    "myopic"                            a registered name
    "round-robin:1"                     with a value for its first parameter
    "round-robin:per_round=1"           with parameters by name, separated by commas
    {"name": "round-robin", "per_round": 1}             the same as a table
    "mine:Daylight", {"name": "mine:Daylight", "peak": 3}    a user class, package.module:Class
    Daylight(peak=3)                    from Python, an instance of one

Registered classes are given as texts and imported when they are first needed, so that a registry of torch's things can
be read without torch.
"""

from __future__ import annotations

import importlib
import inspect
import tomllib
import typing
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from types import FunctionType, UnionType
from typing import Any, Generic, Literal, TypeVar, Union, cast

import numpy as np

from ehfl import own_code
from ehfl.toml_values import HELD, holds_paths, to_parameter, to_toml
from ehfl.validation import FAILURES, InvalidValue, at, closest, float_of, one_line

Thing = TypeVar("Thing")
Table = dict[str, Any]  # {"name": ..., parameter: value, ...}
Factory = typing.Callable[..., Any]

_ABSENT = object()
_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text", type(None): "none"}


class Here(str):
    """A text that was not read from a file, such as an override: a path in it starts from the current folder."""

    __slots__ = ()


@dataclass(frozen=True, eq=False, slots=True)
class Registry(Generic[Thing]):
    """The things of one kind, by name."""

    kind: str  # what the thing is called in messages: "scheduler"
    members: Mapping[str, str]  # name -> "package.module:Class"
    methods: tuple[str, ...]  # of every member's class
    or_methods: tuple[str, ...] = ()  # that it may have in their place
    attributes: tuple[str, ...] = ()  # of every member, which may be set when it is constructed

    def __iter__(self) -> Iterator[str]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)

    def __contains__(self, name: object) -> bool:
        return name in self.members

    def __getitem__(self, name: str) -> Factory:
        """Return the registered class, or the function that makes its instances."""
        if name not in self.members:
            raise KeyError(name)
        return self._factory(name, self.kind)

    def table(self, given: object, key: str = "", folder: Path | None = None) -> Table:
        """Return what was given, a string, a table or an instance, as a table; parameters at their default stay out.

        With a `folder` it is the table that a spec keeps: paths that lie there are absolute (in the current folder, if
        they are `Here`), those of defaults too, and a class of the script that runs is named by the script's file.
        Errors name `key` (else the kind).

        >>> Registry("partition", {"dirichlet": "ehfl.partition:Dirichlet"}, ()).table("dirichlet:0.3")
        {'name': 'dirichlet', 'alpha': 0.3}
        """
        key = key or self.kind
        if isinstance(given, str):
            found = self._parsed(given, key)
            folder = Path() if folder is not None and isinstance(given, Here) else folder
        elif (
            isinstance(given, Mapping) and isinstance(given.get("name"), str) and all(isinstance(k, str) for k in given)
        ):
            found = self._parsed(given["name"], key) | {k: v for k, v in given.items() if k != "name"}
        elif self._is_thing(given):
            found = self._table_of_instance(given, key)
            folder = None if folder is None else Path()  # it was not read from a file
        else:
            hint = f" (an instance is taken: {given.__name__}(...))" if isinstance(given, type) else ""
            raise InvalidValue(key, f"{self._allowed()}, or a table with such a name", f"{given!r}{hint}")
        return found if folder is None else self._anchored(found, folder, key)

    def make(self, given: object, key: str = "") -> Thing:
        """Return the thing that a text or a table names; a thing that is there already is returned as it is."""
        key = key or self.kind
        if not isinstance(given, str | Mapping):
            return self._checked(given, key, repr(given))
        table = self.table(given, key)
        name = table.pop("name")
        factory = self._factory(name, key)
        self._check_parameters(name, factory, table, key)
        with at(key):
            try:
                with own_code.contained() if ":" in name else nullcontext():
                    made = factory(**_as_taken(factory, table))
            except InvalidValue:
                raise
            except FAILURES as error:  # whatever the user's own code raises
                raise InvalidValue("", "one that can be made", f"{name} ({one_line(error)})") from error
        return self._checked(made, key, name)

    def spelled_out(self, given: object, key: str = "") -> Table:
        """Return the table with a value for every parameter that has a default."""
        table = self.table(given, key)
        name, key = table["name"], key or self.kind
        defaults = _defaults(self._factory(name, key))
        for parameter, value in table.items():
            _held(value, f"{key}.{parameter}", f"{value!r}")
        held = {
            parameter: _held(value, f"{key}.{parameter}", f"{value!r}, the default in {name}")
            for parameter, value in defaults.items()
        }
        return {"name": name} | held | table

    def takes(self, given: object, parameter: str, key: str = "") -> bool:
        """Return whether what was given has a parameter of that name."""
        return parameter in _parameters(self._factory(self.table(given, key)["name"], key or self.kind))

    def names_declared(self, given: object, attribute: str, key: str = "") -> tuple[str, ...]:
        """Return the parameters that the class of what was given lists under an attribute, none where it has none.

        >>> Registry("harvest", {"bernoulli": "ehfl.energy:Bernoulli"}, ()).names_declared("bernoulli:1", "per_client")
        ('rate',)
        """
        key = key or self.kind
        name = self.table(given, key)["name"]
        factory = self._factory(name, key)
        declared = getattr(factory, attribute, ())
        if not isinstance(declared, tuple | list) or not set(declared) <= set(_parameters(factory)):
            raise InvalidValue(key, f"a class whose {attribute} is a tuple of its parameters' names", repr(declared))
        return tuple(declared)

    def text(self, table: Table) -> str:
        """Return a table in the short form in which people write it, which serves as a label.

        >>> schedulers = Registry("scheduler", {"round-robin": "ehfl.scheduling.schedulers.round_robin:RoundRobin"}, ())
        >>> schedulers.text({"name": "round-robin", "per_round": 1})
        'round-robin:1'
        """
        name = table["name"]
        given = [(key, _written(value)) for key, value in table.items() if key != "name"]
        if len(given) == 1 and name in self.members and given[0][0] == _first(self._factory(name, self.kind)):
            return f"{name}:{given[0][1]}"
        parameters = ",".join(f"{key}={value}" for key, value in given)
        return f"{name}:{parameters}" if parameters else str(name)

    def _allowed(self) -> str:
        return f"one of {', '.join(self.members)} or package.module:Class"

    def _parsed(self, text: str, key: str) -> Table:
        name, _, rest = text.partition(":")
        known = name.strip().lower().replace("_", "-")
        if known not in self.members:
            kind, _, rest = rest.partition(":")
            if not kind or not name:
                hint = (
                    f" (which class in it? {name[:-3]}:Class)" if name.endswith(".py") else closest(known, self.members)
                )
                raise InvalidValue(key, self._allowed(), f"{text}{hint}")
            if name.strip().startswith(".") or "/" in name or "\\" in name:
                hint = "a module has dots in its name, no slashes; -o code=FOLDER says where it lies"
                raise InvalidValue(key, "importable as package.module:Class", f"{text} ({hint})")
            known = f"{name.strip().removesuffix('.py')}:{kind.strip()}"
        if not rest:
            if text.endswith(":"):
                raise InvalidValue(key, "NAME, NAME:VALUE or NAME:parameter=value,parameter=value", text)
            return {"name": known}
        if "=" in rest:
            return {"name": known} | _assignments(rest, key)
        first = _first(self._factory(known, key))
        if first is None:
            raise InvalidValue(key, f"{known} without parameters: it takes none", text)
        return {"name": known, first: literal(rest)}

    def _factory(self, name: str, key: str) -> Factory:
        """Return the class of that name; errors of a user's module become one line.

        A spec can name anything that Python can import, os:system too: only a class with the contract's methods is
        returned, so that nothing else is ever called.
        """
        module, _, attribute = self.members.get(name, name).partition(":")
        bring = importlib.import_module if name in self.members else own_code.imported
        try:
            found = getattr(bring(module), attribute)
        except FAILURES as error:  # whatever the user's own module raises, an exit included
            why = error if isinstance(error, ImportError | AttributeError) else one_line(error)
            hint = closest(module, self.members)  # a name with a value, misspelt, looks like a module
            raise InvalidValue(key, "importable as package.module:Class", f"{name} ({why}){hint}") from error
        if name not in self.members:
            self._check_class(found, name, key)
        return cast(Factory, found)

    def _check_class(self, found: object, name: str, key: str) -> None:
        allowed = f"a class with {self._contract()}"
        if not isinstance(found, type):
            raise InvalidValue(key, allowed, f"{name}, which is not a class")
        if missing := self._missing(lambda method: _has_method(found, method)):
            raise InvalidValue(key, allowed, f"{name} without {missing[0]}")

    def _check_parameters(self, name: str, factory: Factory, given: Table, key: str) -> None:
        parameters, hints = _parameters(factory), _hints(factory)
        for parameter, value in given.items():
            if parameter not in parameters:
                takes = f"one of {', '.join(parameters)}" if parameters else "left out: it takes no parameters"
                hint = closest(parameter, parameters)
                raise InvalidValue(f"{key}.{parameter}", f"a parameter of {name}, {takes}", f"{parameter}{hint}")
            if not _fits(value, hints.get(parameter, Any)):
                raise InvalidValue(f"{key}.{parameter}", _described(hints[parameter]), repr(value))
        for parameter, one in parameters.items():
            if one.default is one.empty and parameter not in given:
                raise InvalidValue(f"{key}.{parameter}", f"given: {name} needs it", "nothing")

    def _checked(self, thing: object, key: str, shown: str) -> Thing:
        missing = [name for name in self.attributes if not hasattr(thing, name)]
        missing += self._missing(lambda method: hasattr(thing, method))
        if missing or isinstance(thing, type):
            article = "an" if self.kind[0] in "aeiou" else "a"
            needed = f"{article} {self.kind}, with {', '.join((*self.attributes, self._contract()))}"
            raise InvalidValue(key, needed, f"{shown}{f' without {missing[0]}' if missing else ''}")
        return cast(Thing, thing)

    def _missing(self, has: typing.Callable[[str], bool]) -> list[str]:
        """Return the methods of the contract that are missing, none if those in their place are there."""
        missing = [method for method in self.methods if not has(method)]
        return [] if self.or_methods and all(map(has, self.or_methods)) else missing

    def _contract(self) -> str:
        return ", ".join(self.methods) + (f", or {', '.join(self.or_methods)}" if self.or_methods else "")

    def _anchored(self, table: Table, folder: Path, key: str) -> Table:
        """Return the table with relative paths made absolute, where such a file lies in the folder."""
        found = table | {"name": _importable(table["name"], key)}
        texts = [name for name, value in table.items() if name != "name" and _holds_texts(value)]
        if not texts and not is_own(table):  # ehfl's own have no paths as defaults, and need not be imported
            return found
        factory = self._factory(found["name"], key)
        hints, defaults = _hints(factory), _defaults(factory)
        values = {name: to_toml(value) if holds_paths(value) else value for name, value in defaults.items()} | table
        for name, given in values.items():
            if _holds_texts(given) and (holds_paths(defaults.get(name)) or _may_be_path(hints.get(name))):
                with at(f"{key}.{name}"):
                    path = (
                        _path_in(folder, given) if isinstance(given, str) else [_path_in(folder, one) for one in given]
                    )
                if name in table or path != given:  # a default that names no file is left to the class
                    found[name] = path
        return found

    def _is_thing(self, given: object) -> bool:
        return not isinstance(given, type | Mapping) and not self._missing(lambda method: hasattr(given, method))

    def _table_of_instance(self, thing: object, key: str) -> Table:
        """Return the table that makes an equal instance: its class by name, and the parameters that its fields hold."""
        if isinstance(thing, FunctionType):
            raise InvalidValue(key, "an instance of a class, a name or a table: a spec holds no functions", repr(thing))
        name = self._name_of(type(thing), key)
        factory = self._factory(name, key)
        values, defaults = self._values(thing, factory, name, key), _defaults(factory)
        # Compared as strings, in which NaN equals NaN.
        given = {p: v for p, v in values.items() if p not in defaults or repr(v) != repr(to_toml(defaults[p]))}
        table = {"name": name} | given
        # A class that changes what it is given before it keeps it would change it once more.
        if repr(self._values(self.make(table, key), factory, name, key)) != repr(values):
            raise InvalidValue(
                key, f"an instance that keeps its parameters as given, or a table of {name}", repr(thing)
            )
        return table

    def _name_of(self, kind: type, key: str) -> str:
        """Return the name of a class: as registered, else package.module:Class."""
        for name, path in self.members.items():
            if path.endswith(f":{kind.__qualname__}") and self._factory(name, key) is kind:
                return name
        return _importable(f"{kind.__module__}:{kind.__qualname__}", key)

    def _values(self, thing: object, factory: Factory, name: str, key: str) -> Table:
        """Return the parameters that an instance was made with, as its attributes have them."""
        values: Table = {}
        kept = getattr(thing, "parameters", {})  # where a method has a parameter's name
        for parameter, one in _parameters(factory, by_name_alone=False).items():
            where, value = f"{key}.{parameter}", kept.get(parameter, getattr(thing, parameter, _ABSENT))
            if value is _ABSENT:
                raise InvalidValue(where, f"an attribute of the instance, or given in a table of {name}", "none")
            values[parameter] = _held(value, where, repr(value))
            if value is None and one.default is not None:
                raise InvalidValue(where, "a value: a spec has no word for None", "None")
        return values


def _importable(name: str, key: str) -> str:
    """Return a class's name as other processes import it: one of the running script by the script's own module."""
    module, _, kind = name.partition(":")
    with at(key):
        return f"{own_code.script_module(kind)}:{kind}" if module == "__main__" else name


def _as_taken(factory: Factory, table: Table) -> Table:
    """Return parameters in the types that the class declares: a spec has no paths, tuples, arrays or enums."""
    hints, defaults = _hints(factory), _defaults(factory)
    return {name: to_parameter(value, hints.get(name), defaults.get(name)) for name, value in table.items()}


def _defaults(factory: Factory) -> Table:
    """Return the default values of the parameters that have one; those of dataclass factories are made."""
    of_class = fields(factory) if is_dataclass(factory) else ()
    made: dict[str, Any] = {one.name: one.default_factory for one in of_class if one.default_factory is not MISSING}
    given = {name: one.default for name, one in _parameters(factory).items() if one.default is not one.empty}
    return {
        name: made[name]() if name in made and repr(value) == "<factory>" else value for name, value in given.items()
    }


def _held(value: Any, key: str, given: str) -> Any:
    """Return a value in TOML's types; refuse what a spec cannot hold."""
    try:
        return to_toml(value)
    except TypeError:
        raise InvalidValue(key, f"{HELD}, to be written to a spec", given) from None


def _has_method(kind: type, name: str) -> bool:
    # hasattr finds type's __call__ on every class, which is not a method of its instances.
    return any(name in vars(one) for one in kind.__mro__) and callable(getattr(kind, name))


def _holds_texts(value: Any) -> bool:
    several = isinstance(value, list | tuple) and bool(value)
    return isinstance(value, str) or (several and all(isinstance(one, str) for one in value))


def _may_be_path(hint: Any) -> bool:
    """Return whether a type is a path, or has one among its parts: Path | str, Sequence[Path]."""
    return hint is Path or any(map(_may_be_path, typing.get_args(hint)))


def _path_in(folder: Path, text: str) -> str:
    """Return a text that names a file in the folder as its absolute path, any other text as it is."""
    start = Path() if isinstance(text, Here) else folder
    if lies_there(start / text):
        return str((start / text).resolve())
    if lies_there(Path(text)):  # taken as it is, it would be another file than the spec means
        raise InvalidValue("", f"in the spec's folder, {folder}", f"{text}, which is in the current one")
    return text


def is_own(table: Mapping[str, Any]) -> bool:
    """Return whether a table names a class of the user's own, as package.module:Class."""
    return ":" in table["name"]


def lies_there(path: Path) -> bool:
    """Return whether there is a file or folder of that name; one that no system would allow is none."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def literal(text: str) -> Any:
    """Return the value that a text stands for: TOML's, else the bare word itself.

    >>> literal("3"), literal("[0.1, 0.9]"), literal("by-label")
    (3, [0.1, 0.9], 'by-label')
    """
    try:
        found = tomllib.loads(f"value = {text}", parse_float=float_of)
    except (ValueError, RecursionError):
        return text.strip()
    return found["value"] if len(found) == 1 else text.strip()  # a text of several lines may hold more than a value


def _assignments(text: str, key: str) -> Table:
    """Return parameters by name, from "a=1,b=word"."""
    try:
        found: Table
        (found,) = tomllib.loads(f"table = {{{text}}}", parse_float=float_of).values()
    except (ValueError, RecursionError):  # bare words, which TOML does not have
        pairs = [part.partition("=") for part in text.split(",")]
        found = {name.strip(): literal(value) for name, equals, value in pairs if equals}
        if len(found) < len(pairs) or not all(found):
            raise InvalidValue(key, "NAME, NAME:VALUE or NAME:parameter=value,parameter=value", text) from None
    if "name" in found:
        raise InvalidValue(key, "given parameters that are not called name", text)
    return found


def _written(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def _parameters(factory: Factory, *, by_name_alone: bool = True) -> dict[str, inspect.Parameter]:
    """Return the parameters, all or those that can be given by name."""
    unnamed = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)
    try:
        found = inspect.signature(factory).parameters
        return {name: one for name, one in found.items() if not by_name_alone or one.kind not in unnamed}
    except (TypeError, ValueError):  # a class of C that tells no signature
        return {}


def _first(factory: Factory) -> str | None:
    return next(iter(_parameters(factory)), None)


def _hints(factory: Factory) -> dict[str, Any]:
    """Return the types of the parameters, as far as they can be known."""
    try:
        own = vars(factory).get("__init__") if isinstance(factory, type) else None
        return typing.get_type_hints(own or factory)
    except Exception:  # annotations in words, names that only a type checker imports
        return {}


def _fits(value: object, hint: Any) -> bool:
    """Return whether a value is of a type; types that a spec cannot show (arrays, protocols) are left to the class."""
    if hint in _KINDS:
        if isinstance(value, bool | np.bool_):
            return hint is bool
        number = (int, np.integer) if hint is int else (int, float, np.number)
        return isinstance(value, number if hint in (int, float) else hint)
    if typing.get_origin(hint) is Literal:
        return value in typing.get_args(hint)
    if typing.get_origin(hint) in (Union, UnionType):
        return any(_fits(value, one) for one in typing.get_args(hint))
    return not (hint is Path and not isinstance(value, str | Path))


def _described(hint: Any) -> str:
    """Return a type in words.

    >>> _described(int | Literal["auto"])
    'a whole number or auto'
    """
    if typing.get_origin(hint) is Literal:
        return " or ".join(map(str, typing.get_args(hint)))
    if typing.get_origin(hint) in (Union, UnionType):
        return " or ".join(_described(one) for one in typing.get_args(hint))
    return _KINDS.get(hint, getattr(hint, "__name__", str(hint)))
