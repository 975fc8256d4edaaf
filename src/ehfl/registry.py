"""One way to name a thing with parameters: a harvest, scheduler, partition, step size, aggregation or task.

Each is a class whose fields are its parameters, and is named in specs, on the command line and from Python alike:

    "myopic"                            a registered name
    "round-robin:1"                     with a value for its first parameter
    "round-robin:per_round=1"           with parameters by name, separated by commas
    {"name": "round-robin", "per_round": 1}             the same as a table
    "mine:Daylight", {"name": "mine:Daylight", "peak": 3}    a user class, package.module:Class
    Daylight(peak=3)                    from Python, an instance of one

Registered classes are given as strings and imported when they are first needed, so that a registry of torch's things
can be read without torch.
"""

from __future__ import annotations

import importlib
import inspect
import os
import tomllib
import typing
from collections.abc import Iterator, Mapping
from contextlib import nullcontext
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from pathlib import Path, PurePath
from types import FunctionType, UnionType
from typing import Any, Generic, Literal, TypeVar, Union, cast

import numpy as np

from ehfl import user_code
from ehfl.extras import MissingExtra
from ehfl.toml_values import HELD, holds, to_parameter, to_toml
from ehfl.validation import FAILURES, InvalidValue, SpecError, at, closest, one_line

Thing = TypeVar("Thing")
Table = dict[str, Any]  # {"name": ..., parameter: value, ...}
Factory = typing.Callable[..., Any]

_ABSENT = object()
_FORM = "NAME, NAME:VALUE or NAME:parameter=value,parameter=value"
_KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a string", type(None): "none"}


class Here(str):
    """A string that was not read from a file, such as an override: a path in it starts from the current folder."""

    __slots__ = ()


@dataclass(frozen=True, eq=False, slots=True)
class Registry(Generic[Thing]):
    """The things of one kind, by name."""

    kind: str  # what the thing is called in messages: "scheduler"
    members: Mapping[str, str]  # name -> "package.module:Class"
    methods: tuple[str, ...]  # of every member's class
    or_methods: tuple[str, ...] = ()  # that it may have in their place
    attributes: tuple[str, ...] = ()  # of every member, which may be set when it is constructed
    other_names: Mapping[str, str] = field(default_factory=dict)  # what others call a member; suggested, not accepted

    def __iter__(self) -> Iterator[str]:
        return iter(self.members)

    def __len__(self) -> int:
        return len(self.members)

    def __getitem__(self, name: str) -> Factory:
        """Return the registered class, or the function that makes its instances."""
        if name not in self.members:
            raise KeyError(name)
        return self._factory(name, self.kind)

    def factory(self, given: object, key: str = "") -> Factory:
        """Return the class that a string or a table names."""
        return self._factory(self.table(given, key)["name"], key or self.kind)

    def table(self, given: object, key: str = "", folder: Path | None = None) -> Table:
        """Return a string, a table or an instance as a table, without parameters at their default.

        With a `folder` it is the table that a spec keeps: paths of existing files there are made absolute (`Here`
        paths start from the current folder), and a class of the running script is named by the script's module.
        Errors name `key` (else the kind).

        >>> Registry("partition", {"dirichlet": "ehfl.partition:Dirichlet"}, ()).table("dirichlet:0.3")
        {'name': 'dirichlet', 'alpha': 0.3}
        """
        key = key or self.kind
        if isinstance(given, str):
            found = self._parsed(given, key)
            folder = Path() if folder is not None and isinstance(given, Here) else folder
        elif isinstance(given, Mapping) and isinstance(given.get("name"), str):
            found = self._parsed(given["name"], key) | {k: v for k, v in given.items() if k != "name"}
        elif self._is_thing(given):
            found = self._table_of_instance(given, key)
            folder = None if folder is None else Path()  # it was not read from a file
        else:
            hint = f" (an instance is taken: {given.__name__}(...))" if isinstance(given, type) else ""
            raise InvalidValue(key, f"{self._allowed()}, or a table with such a name", f"{given!r}{hint}")
        return found if folder is None else self._anchored(found, folder, key)

    def make(self, given: object, key: str = "") -> Thing:
        """Return the thing that a string or a table names; an instance is returned as it is."""
        key = key or self.kind
        if not isinstance(given, str | Mapping):
            return self._checked(given, key, repr(given))
        table = self.table(given, key)
        name = table.pop("name")
        factory = self._factory(name, key)
        self._check_parameters(name, factory, table, key)
        with at(key):
            try:
                # The constructor of a user class may change the working directory or Python's streams.
                with user_code.contained() if ":" in name else nullcontext():
                    made = factory(**_as_taken(factory, table))
            except (InvalidValue, SpecError):
                raise
            except FAILURES as error:  # of user code
                raise SpecError("", f"cannot be constructed: {name} raises {one_line(error)}") from error
        return self._checked(made, key, name)

    def spelled_out(self, given: object, key: str = "") -> Table:
        """Return the table with defaults filled in."""
        table = self.table(given, key)
        name, key = table["name"], key or self.kind
        defaults = _defaults(self._factory(name, key))
        for parameter, value in table.items():
            _held(value, f"{key}.{parameter}", repr(value))
        held = {p: _held(v, f"{key}.{p}", f"{v!r}, the default in {name}") for p, v in defaults.items()}
        return {"name": name} | held | table

    def takes(self, given: object, parameter: str, key: str = "") -> bool:
        """Return whether the class has a parameter of that name."""
        return parameter in _parameters(self.factory(given, key))

    def names_declared(self, given: object, attribute: str, key: str = "") -> tuple[str, ...]:
        """Return the parameter names that the class lists in an attribute.

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
        """Return a table in its short form, which serves as the label.

        >>> schedulers = Registry("scheduler", {"round-robin": "ehfl.scheduling.schedulers.paper:RoundRobin"}, ())
        >>> schedulers.text({"name": "round-robin", "per_round": 1})
        'round-robin:1'
        """
        name = table["name"]
        given = [
            (key, str(value).lower() if isinstance(value, bool) else str(value))
            for key, value in table.items()
            if key != "name"
        ]
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
                hint = closest(known, self.members)
                if name.endswith(".py"):
                    hint = f" (which class in it? {name[:-3]}:Class)"
                elif known in self.other_names:
                    hint = f" (here it is called {self.other_names[known]})"
                raise InvalidValue(key, self._allowed(), f"{text}{hint}")
            if name.strip().startswith(".") or "/" in name or "\\" in name:
                hint = "a module has dots in its name, no slashes; -o code=FOLDER names its folder"
                raise InvalidValue(key, "importable as package.module:Class", f"{text} ({hint})")
            known = f"{name.strip().removesuffix('.py')}:{kind.strip()}"
        if not rest:
            if text.endswith(":"):
                raise InvalidValue(key, _FORM, text)
            return {"name": known}
        if "=" in rest:
            return {"name": known} | _assignments(rest, key)
        first = _first(self._factory(known, key))
        if first is None:
            raise InvalidValue(key, f"{known} without parameters: it takes none", text)
        return {"name": known, first: literal(rest)}

    def _factory(self, name: str, key: str) -> Factory:
        """Return the class of that name, imported; errors of a user module become one line.

        A spec can name whatever Python can import, os:system too: only a class with the contract's methods is returned.
        """
        module, _, attribute = self.members.get(name, name).partition(":")
        bring = importlib.import_module if name in self.members else user_code.imported
        try:
            found = getattr(bring(module), attribute)
        except MissingExtra:
            raise
        except FAILURES as error:
            why = error if isinstance(error, ImportError | AttributeError) else one_line(error)
            hint = closest(module, self.members)  # "gredy:3" looks like a module
            raise InvalidValue(key, "importable as package.module:Class", f"{name} ({why}){hint}") from error
        if name not in self.members:
            allowed = f"a class with {self._contract()}"
            if not isinstance(found, type):
                raise InvalidValue(key, allowed, f"{name}, which is not a class")
            if missing := self._missing(lambda method: _has_method(found, method)):
                raise InvalidValue(key, allowed, f"{name} without {missing[0]}")
        return cast(Factory, found)

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
        """Return the contract's methods that are missing, none if the alternative methods are there."""
        missing = [method for method in self.methods if not has(method)]
        return [] if self.or_methods and all(map(has, self.or_methods)) else missing

    def _contract(self) -> str:
        return ", ".join(self.methods) + (f", or {', '.join(self.or_methods)}" if self.or_methods else "")

    def _anchored(self, table: Table, folder: Path, key: str) -> Table:
        """Return the table with relative paths of files in the folder made absolute."""
        found = table | {"name": _importable(table["name"], key)}
        if not is_user_class(table) and not any(holds(value, str) for name, value in table.items() if name != "name"):
            return found  # registered classes have no paths as defaults, so need not be imported
        factory = self._factory(found["name"], key)
        hints, defaults = _hints(factory), _defaults(factory)
        values = {name: to_toml(value) if holds(value, PurePath) else value for name, value in defaults.items()} | table
        for name, given in values.items():
            if holds(given, str) and (holds(defaults.get(name), PurePath) or _may_be_path(hints.get(name))):
                with at(f"{key}.{name}"):
                    paths = [_path_in(folder, one) for one in ([given] if isinstance(given, str) else given)]
                path = paths[0] if isinstance(given, str) else paths
                if name in table or path != given:  # a default that names no file is left to the class
                    found[name] = path
        return found

    def _is_thing(self, given: object) -> bool:
        return not isinstance(given, type | Mapping) and not self._missing(lambda method: hasattr(given, method))

    def _table_of_instance(self, thing: object, key: str) -> Table:
        """Return the table of an equal instance: its class by name, and its parameters, read from its fields."""
        if isinstance(thing, FunctionType):
            raise InvalidValue(key, "an instance of a class, a name or a table: a spec holds no functions", repr(thing))
        name = self._name_of(type(thing), key)
        factory = self._factory(name, key)
        values, defaults = self._values(thing, factory, name, key), _defaults(factory)
        # Compared as strings, in which NaN equals NaN.
        given = {p: v for p, v in values.items() if p not in defaults or repr(v) != repr(to_toml(defaults[p]))}
        table = {"name": name} | given
        # A class that changes a parameter before it stores it would change it twice.
        if repr(self._values(self.make(table, key), factory, name, key)) != repr(values):
            allowed = f"an instance that keeps its parameters as given, or a table of {name}"
            raise InvalidValue(key, allowed, repr(thing))
        return table

    def _name_of(self, kind: type, key: str) -> str:
        """Return the name of a class: as registered, else package.module:Class."""
        for name, path in self.members.items():
            if path.endswith(f":{kind.__qualname__}") and self._factory(name, key) is kind:
                return name
        return _importable(f"{kind.__module__}:{kind.__qualname__}", key)

    def _values(self, thing: object, factory: Factory, name: str, key: str) -> Table:
        """Return the parameters of an instance, read from attributes."""
        values: Table = {}
        kept = getattr(thing, "parameters", {})  # for classes in which a method has a parameter's name
        for parameter, one in _parameters(factory, by_name_alone=False).items():
            where, value = f"{key}.{parameter}", kept.get(parameter, getattr(thing, parameter, _ABSENT))
            if value is _ABSENT:
                raise InvalidValue(where, f"an attribute of the instance, or given in a table of {name}", "none")
            values[parameter] = _held(value, where, repr(value))
            if value is None and one.default is not None:
                raise InvalidValue(where, "a value: a spec has no word for None", "None")
        return values


def _importable(name: str, key: str) -> str:
    """Return a class's name as other processes import it: __main__ becomes the script's own module."""
    module, _, kind = name.partition(":")
    with at(key):
        return f"{user_code.script_module(kind)}:{kind}" if module == "__main__" else name


def _as_taken(factory: Factory, table: Table) -> Table:
    """Return parameters in the types that the class declares: TOML has no paths, tuples, arrays or enums."""
    hints, defaults = _hints(factory), _defaults(factory)
    return {name: to_parameter(value, hints.get(name), defaults.get(name)) for name, value in table.items()}


def _defaults(factory: Factory) -> Table:
    """Return the default values of the parameters that have one."""
    of_class = fields(factory) if is_dataclass(factory) else ()
    made: dict[str, Any] = {one.name: one.default_factory for one in of_class if one.default_factory is not MISSING}
    given = {name: one.default for name, one in _parameters(factory).items() if one.default is not one.empty}
    # inspect shows a field with a default_factory as an object of this repr; an __init__ has its own defaults.
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


def _may_be_path(hint: Any) -> bool:
    """Return whether a type is or contains Path: Path | str, Sequence[Path]."""
    return hint is Path or any(map(_may_be_path, typing.get_args(hint)))


def _path_in(folder: Path, text: str) -> str:
    """Return the absolute path of a file in the folder, any other string unchanged."""
    start = Path() if isinstance(text, Here) else folder
    if lies_there(start / text):
        return str((start / text).resolve())
    if lies_there(Path(text)):  # taken as it is, it would be another file than the spec means
        raise InvalidValue("", f"in the spec's folder, {folder}", f"{text}, which is in the current one")
    return text


def is_user_class(table: Mapping[str, Any]) -> bool:
    """Return whether a table names a user class, as package.module:Class."""
    return ":" in table["name"]


def lies_there(path: Path) -> bool:
    """Return whether the path exists."""
    return os.path.exists(path)  # noqa: PTH110 (Path.exists raises for a string too long to be a path)


def literal(text: str) -> Any:
    """Return the value of a string as TOML, or the string itself.

    >>> literal("3"), literal("[0.1, 0.9]"), literal("by-label")
    (3, [0.1, 0.9], 'by-label')
    """
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except ValueError:
        return text.strip()


def _assignments(text: str, key: str) -> Table:
    """Return parameters by name, from "a=1,b=word"."""
    try:
        return cast(Table, tomllib.loads(f"table = {{{text}}}")["table"])
    except ValueError:  # bare words, which TOML does not have
        pairs = [part.partition("=") for part in text.split(",")]
        found = {name.strip(): literal(value) for name, equals, value in pairs if equals}
        if len(found) < len(pairs) or not all(found):
            raise InvalidValue(key, _FORM, text) from None
        return found


def _parameters(factory: Factory, *, by_name_alone: bool = True) -> dict[str, inspect.Parameter]:
    """Return the parameters, all or those that can be given by name."""
    unnamed = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)
    found = inspect.signature(factory).parameters
    return {name: one for name, one in found.items() if not by_name_alone or one.kind not in unnamed}


def _first(factory: Factory) -> str | None:
    return next(iter(_parameters(factory)), None)


def _hints(factory: Factory) -> dict[str, Any]:
    """Return the parameters' types, none if annotations cannot be evaluated."""
    try:
        # Attributes of a class may have other types than the parameters of its __init__.
        own = vars(factory).get("__init__") if isinstance(factory, type) else None
        return typing.get_type_hints(own or factory)
    except Exception:  # names imported under TYPE_CHECKING, annotations that are prose
        return {}


def _fits(value: object, hint: Any) -> bool:
    """Return whether a value is of a type; types that specs do not have (arrays, protocols) are left to the class."""
    if hint in _KINDS:
        if isinstance(value, bool | np.bool_):
            return hint is bool
        number = (int, np.integer) if hint is int else (int, float, np.number)
        return isinstance(value, number if hint in (int, float) else hint)
    if typing.get_origin(hint) is Literal:
        return isinstance(value, str | int) and value in typing.get_args(hint)  # arrays compare entry by entry
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
