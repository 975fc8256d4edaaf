"""`ehfl view`: a local page of the comparisons and plans in a folder."""

from __future__ import annotations

import webbrowser
from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from ehfl.cli.options import RUNS, Given, command
from ehfl.cli.usage import path, whole

PORT = 8765


@command("A local page of all comparisons and plans, also of those under way.")
def view(
    given: Given,
    runs: Annotated[Path, Argument(metavar="RUNS", parser=path, help="The folder to look into.")] = RUNS,
    port: Annotated[int, Option(metavar="N", parser=whole, help="Port on 127.0.0.1; 0 is any free one.")] = PORT,
    show: Annotated[bool, Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    r"""Show a folder's comparisons, single runs and plans in the browser: list, filter, open reports, watch runs.

    The page shows rounds, accuracy and batteries of runs that are under way, as they go. It is served on this machine
    only, nothing is written, and damaged runs are named as such. Ctrl-C stops it.

    \b
    Examples:
      ehfl view
      ehfl view runs/demo --open
      ehfl view /data/runs --port 9000
    """
    from ehfl.view.server import Server

    with Server(runs, port) as server:
        typer.echo(f"{server.address} shows {runs}; Ctrl-C stops")
        if show:
            webbrowser.open(server.address)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            typer.echo("stopped", err=True)
