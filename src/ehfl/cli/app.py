"""The application: its commands, and how errors reach the user."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, NoReturn

import typer

import ehfl
from ehfl import user_code
from ehfl.cli.commands import audit, bound, compare, devices, flower, harvest, lab, plan, report, simulate, train, view
from ehfl.cli.process import continue_in_child, terminated_like_interrupted
from ehfl.cli.streams import leave_closed_pipe, show_what_can_be_shown
from ehfl.cli.usage import UsageError, group, refusal
from ehfl.validation import UserError, blame, one_line

app = group(
    "ehfl",
    "Federated learning on harvested energy: compare schedulers, simulate, bound and train.",
    "",
    *(compare.compare, report.report, simulate.simulate, plan.plan, audit.audit, bound.bound),
    *(devices.devices, train.train, view.view, lab.lab),
)
app.add_typer(group("harvest", harvest.HELP, harvest.SHORT_HELP, harvest.fit, harvest.show))
app.add_typer(group("flower", flower.HELP, flower.SHORT_HELP, flower.up, flower.simulate, flower.app))


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
            sys.path.append(here)  # for user classes; last, so that no file there hides a module of Python's
        show_what_can_be_shown()
        if arguments is None:  # the process is the command's own, not that of a program which calls this
            user_code.before_first_import(continue_in_child)
        with terminated_like_interrupted() as signals:
            code = app(arguments, prog_name="ehfl", standalone_mode=False)
            if sys.stdout is not None:  # it is None where standard output was closed from the start
                sys.stdout.flush()
        code = 143 if signals else code
    except BrokenPipeError:
        leave_closed_pipe()
    except UsageError as error:
        _stop(refusal(error))
    except (UserError, OSError) as error:
        _stop(one_line(error))
    except SystemExit as leaving:  # ehfl itself leaves below, so user code did
        if isinstance(leaving.__context__, BrokenPipeError):  # which click has seen first
            leave_closed_pipe()
        _stop(f"user code ended Python: {blame(None, leaving)}")
    except (KeyboardInterrupt, typer.Abort) as stop:
        if isinstance(stop.__cause__, EOFError):  # which user code raises if it asks for input
            _stop(f"user code failed: {blame(None, stop.__cause__)}")
        sys.exit(130)
    except Exception:  # a fault of ehfl's own: its traceback is wanted
        raise
    except BaseException as error:  # ehfl raises none of its own
        _stop(f"user code failed: {blame(None, error)}")
    sys.exit(code if isinstance(code, int) else 0)


def _stop(message: str) -> NoReturn:
    typer.echo(f"ehfl: error: {message}", err=True)
    sys.exit(2)
