"""`ehfl lab`: a local page to play with a fleet."""

from __future__ import annotations

from typing import Annotated

import typer
from typer import Option

from ehfl.cli.options import Given, command
from ehfl.cli.usage import whole
from ehfl.extras import check_extra
from ehfl.validation import whole_number

PORT = 8766


@command("A local page with sliders: what a year of a fleet on the sun is like.")
def lab(
    given: Given,
    port: Annotated[int, Option(metavar="N", parser=whole, help="Port on 127.0.0.1; 0 is any free one.")] = PORT,
    show: Annotated[bool, Option("--open", help="Open the page in the browser.")] = False,
) -> None:
    r"""Show a page with sliders for panel, battery, cost, clients, target, scheduler and site.

    Each move plays a year in rounds of an hour: participants by day, the share of rounds on target, a map of it by
    month and hour, and the spec to copy. Served on this machine only; nothing is written or sent. Ctrl-C stops it.

    \b
    Examples:
      ehfl lab
      ehfl lab --open --port 9000
    """
    whole_number("--port", port, low=0, high=65535)
    check_extra("lab")
    from ehfl.lab.page import serve

    serve(port, show=show, say=typer.echo)
