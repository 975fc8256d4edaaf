"""The one builder of pages: template, style and script in one HTML file that needs nothing else, not even a network."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from ehfl.files import write_text
from ehfl.report.figures.looks import Look
from ehfl.report.tables.render import Quantity, Subject, Table, lines_of

if TYPE_CHECKING:  # pages show figures, and need no matplotlib for it
    from ehfl.report.figures.style import Drawing

_LARGE = 1_000_000  # bytes of SVG, beyond which a figure goes in as PNG
_LINE_WIDTH = 2  # of curves [px], see page.css


def write_html(
    path: Path,
    lines: Iterable[Quantity[Subject]],
    subjects: Sequence[Subject],
    looks: Mapping[str, Look],
    drawings: Sequence[Drawing],
    **values: Any,
) -> None:
    """Write a page, complete or not at all: a line for each quantity, a column for each subject with its look.

    Only the page's own style and script may run: the content security policy names their digests.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ehfl.report.pages", "templates"),
        autoescape=True,  # names, specs and facts are the user's
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    look = Markup(_template("page.css") + _arm_rules(list(looks.values())))
    script = Markup(_template("page.js"))
    page = environment.get_template("page.html").render(
        table=Table(tuple(looks), lines_of(lines, subjects)),
        figures=[
            (topic, [(drawing, _data_uri(drawing)) for drawing in of_topic])
            for topic, of_topic in groupby(drawings, key=lambda drawing: drawing.topic)
        ],
        look=look,
        script=script,
        look_hash=_digest(look),
        script_hash=_digest(script),
        **values,
    )
    write_text(path, page)


def _template(name: str) -> str:
    return (files("ehfl.report.pages") / "templates" / name).read_text(encoding="utf-8")


def _arm_rules(looks: Sequence[Look]) -> str:
    """Return a rule for each arm: `--colour` is its colour by day, see page.css, `--dash` the dashes of its line."""
    rules = "".join(f".arm-{i} {{ --colour: {look.colour}; --dash: {_dash(look)}; }}\n" for i, look in enumerate(looks))
    return f"{rules}.sideways table {{ max-width: {14 + 11 * len(looks)}rem; }}\n"  # few columns stay near their labels


def _dash(look: Look) -> str:
    """Return the dashes in pixels; round ends make a stroke longer by one line width, which gaps must make up for."""
    pixels = [_LINE_WIDTH * (length + at % 2) for at, length in enumerate(look.dash)]
    return " ".join(f"{length:g}" for length in pixels) or "none"


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _data_uri(drawing: Drawing) -> str:
    """Return the figure itself as an address: as an image of its own, so that ids of two figures do not clash."""
    small = drawing.svg.stat().st_size <= _LARGE
    kind, path = ("svg+xml", drawing.svg) if small else ("png", drawing.png)
    return f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
