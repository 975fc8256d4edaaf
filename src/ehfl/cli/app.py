"""The application: its commands, and how errors reach the user."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

import ehfl
from ehfl import own_code
from ehfl.cli import audit, bound, compare, devices, flower, harvest, plan, report, simulate, train
from ehfl.cli.stopping import terminated_like_interrupted
from ehfl.cli.streams import leave_closed_pipe, show_what_can_be_shown
from ehfl.cli.supervision import continue_in_child
from ehfl.cli.usage import OneOfEach, UsageError, refusal
from ehfl.validation import InvalidValue, UserError, blame, one_line

app = typer.Typer(
    name="ehfl",
    help="Federated learning on harvested energy: compare schedulers, simulate, bound and train.",
    add_completion=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command(cls=OneOfEach, help=compare.HELP, short_help="Schedulers side by side on a task: the main job.")(
    compare.compare
)
app.command(cls=OneOfEach, help=report.HELP, short_help="Table, figures and page again from run folders.")(
    report.report
)
app.command(cls=OneOfEach, help=simulate.HELP, short_help="Energy and participation only.")(simulate.simulate)
app.command(cls=OneOfEach, help=plan.HELP, short_help="What a fleet can sustain, and what to change.")(plan.plan)
app.command(cls=OneOfEach, help=audit.HELP, short_help="Who is heard, and what a mean makes of it.")(audit.audit)
app.command(cls=OneOfEach, help=bound.HELP, short_help="What theory promises.")(bound.bound)
app.command(cls=OneOfEach, help=devices.HELP, short_help="What devices and radios draw; a round's cost.")(
    devices.devices
)
app.command(cls=OneOfEach, help=train.HELP, short_help="One scheduler, one task, one run.")(train.train)
app.add_typer(harvest.commands)
app.add_typer(flower.commands)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"ehfl {ehfl.__version__}")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _options(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and stop.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: list[str] | None = None) -> None:
    """Run the command line; exit code 0, or 2 with one line on standard error for bad input."""
    try:
        here = str(Path.cwd())
        if here not in sys.path:
            sys.path.append(here)  # classes of the user's own; last, so that no file there stands for one of Python's
        show_what_can_be_shown()
        if arguments is None:  # the process is the command's own, not that of a program which calls this
            own_code.before_first_import(continue_in_child)
        _check_text(sys.argv[1:] if arguments is None else arguments)
        with terminated_like_interrupted() as signals:
            code = app(arguments, prog_name="ehfl", standalone_mode=False)
            if sys.stdout is not None:  # it is where standard output was closed from the start
                sys.stdout.flush()
        code = 143 if signals else code
    except BrokenPipeError:
        leave_closed_pipe()
    except UsageError as error:
        _stop(refusal(error))
    except (UserError, OSError) as error:
        _stop(one_line(error))
    except SystemExit as leaving:  # ehfl itself leaves below, so code of the user's own did
        if isinstance(leaving.__context__, BrokenPipeError):  # which click has seen first
            leave_closed_pipe()
        _stop(f"code of your own ended Python: {blame(None, leaving)}")
    except (KeyboardInterrupt, typer.Abort) as stop:
        if isinstance(stop.__cause__, EOFError):  # which code of the user's own raises if it asks for input
            _stop(f"code of your own failed: {blame(None, stop.__cause__)}")
        sys.exit(130)
    except Exception:  # a fault of ehfl's own: its traceback is wanted
        raise
    except BaseException as error:  # ehfl raises none of its own
        _stop(f"code of your own failed: {blame(None, error)}")
    sys.exit(code if isinstance(code, int) else 0)


def _check_text(arguments: list[str]) -> None:
    """Refuse bytes that are no characters: a name of a folder with them could not be written into any file."""
    for argument in arguments:
        if any("\ud800" <= character <= "\udfff" for character in argument):
            raise InvalidValue("what is given", "text in UTF-8", argument)


def _stop(message: str) -> NoReturn:
    typer.echo(f"ehfl: error: {message}", err=True)
    sys.exit(2)
