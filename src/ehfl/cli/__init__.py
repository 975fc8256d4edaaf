"""The command line: parse, call, print.

`main` is what `ehfl` runs. Each command is a file in `commands/` and imports what it needs when it is called, so that
`ehfl --help` is quick; options that stand for keys of the spec are a table in `options`. May enter: typer, rich
and every other room. Leaves: `main`. Bad input is one line on standard error and exit code 2; anything else that goes
wrong is a bug and shows its traceback.
"""

from ehfl.cli.app import main

__all__ = ["main"]
