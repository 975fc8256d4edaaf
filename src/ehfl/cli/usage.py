"""How a command line is read and refused: one form for all, what was wrong, what is allowed, what was given."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import typer
from typer.core import TyperCommand

from ehfl.validation import printable, short, shown

# Typer brings click along inside itself or beside it; either way this is the root of all usage errors.
UsageError: type[Exception] = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")


class Command(TyperCommand):
    """A command with plain help."""

    def get_help(self, ctx: Any) -> str:
        """Return the help, an argument called by its name alone: typer adds braces and Python's types."""
        text = re.sub(r"\{([A-Z]+)\}", r"\1", super().get_help(ctx)).replace("\\[", "[")  # escaped for rich
        return re.sub(r"(?m)^(  [A-Z]+) <[^>]+>", r"\1", text)


def group(name: str, help_: str, short_help: str, *commands: Callable[..., None]) -> typer.Typer:
    """Return a command with commands of its own, which shows its help where none of them is given."""
    app = typer.Typer(name=name, help=help_, short_help=short_help, add_completion=False, rich_markup_mode=None,
                      context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})  # fmt: skip

    @app.callback(invoke_without_command=True)
    def _show_help(context: typer.Context) -> None:
        if context.invoked_subcommand is None:
            typer.echo(context.get_help())

    for run in commands:
        app.command(run.__name__, cls=Command, short_help=getattr(run, "short_help", None))(run)
    return app


def value_parser(kind: type) -> Callable[[str], Any] | None:
    """Return what reads the text of an option: a whole number, a number or a path; None for a text as it is."""
    parsers: dict[type, Callable[[Any], Any]] = {int: whole, float: number, Path: path}
    return parsers.get(kind)


def whole(text: str | int) -> int:
    """Return a whole number as TOML writes it, and anything else as it is: the command refuses it with its range."""
    found = _literal(text)
    return found if isinstance(found, int) and not isinstance(found, bool) else cast(int, text)


def number(text: str | float) -> float:
    """Return a number as TOML writes it."""
    found = _literal(text)
    if isinstance(found, int | float) and not isinstance(found, bool):
        with suppress(OverflowError):
            return float(found)
    raise typer.BadParameter(f"must be a number, got {shown(text)}")


def path(text: str | Path) -> Path:
    """Return a path; an empty one is refused, which would be the current folder."""
    fault = "" if str(text) and "\0" not in str(text) else shown(text)
    try:
        Path(text).exists()
    except OSError as error:  # too long, or in a folder that may not be looked into
        fault = f"{shown(text)} ({error.strerror})"
    if fault:
        raise typer.BadParameter(f"must be the name of a file or folder, got {fault}")
    return Path(text)


def _literal(text: object) -> object:
    from ehfl.registry import literal

    return literal(text) if isinstance(text, str) else text  # defaults come as they are


def refusal(error: Any) -> str:
    """Return a usage error of click's in a line; of an option's value, in the form that all refusals have."""
    kind, message = type(error).__name__, str(getattr(error, "message", error))
    if kind == "MissingParameter":
        return f"{option_name(error.param)} must be given, got nothing"
    if kind == "BadParameter" and error.param is not None:
        return f"{option_name(error.param)} {error.message}"
    if kind == "NoSuchOption":
        message = error.format_message().replace(". (", " (")  # with the options that it is close to
    return printable(short(f"{message[0].lower()}{message[1:]}".rstrip("."), 300))


def option_name(param: Any) -> str:
    """Return an option by its long name, an argument as the help writes it, in capitals."""
    if param.param_type_name == "argument":
        return str(param.metavar)
    return str(max(param.opts, key=len))
