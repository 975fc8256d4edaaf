"""What pages share: the template's environment, their look and script, figures as addresses, and what may run."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from itertools import groupby
from typing import TYPE_CHECKING, Any

import jinja2
from markupsafe import Markup

from ehfl.analysis.cells import Quantity, Subject
from ehfl.report.looks import Look

if TYPE_CHECKING:  # pages show figures, and need no matplotlib for it
    from ehfl.report.drawings import Drawing

_LARGE = 1_000_000  # bytes of SVG, beyond which a figure goes in as PNG
_LINE_WIDTH = 2  # of curves [px], see page.css


def render(
    template: str,
    looks: Sequence[Look],
    lines: Iterable[Quantity[Subject]],
    drawings: Sequence[Drawing],
    scripts: Sequence[str],
    values: Mapping[str, Any],
) -> str:
    """Return a page of a template, with the style and the scripts that it alone may use, its table and its figures."""
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("ehfl.report", "templates"),
        autoescape=True,  # names, specs and facts are the user's
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    look = Markup(_template("page.css") + _arm_rules(looks))
    script = Markup("".join(map(_template, scripts)))
    return environment.get_template(template).render(
        groups=[(group, list(of_group)) for group, of_group in groupby(lines, key=lambda line: line.group)],
        figures=[
            (topic, [(drawing, _data_uri(drawing)) for drawing in mine])
            for topic, mine in groupby(drawings, key=lambda drawing: drawing.topic)
        ],
        look=look,
        script=script,
        look_hash=_hash(look),
        script_hash=_hash(script),
        **values,
    )


def _template(name: str) -> str:
    return (files("ehfl.report") / "templates" / name).read_text(encoding="utf-8")


def _arm_rules(looks: Sequence[Look]) -> str:
    """Return a rule for each arm: `--arm` is its colour, by day and by night, `--dash` the dashes of its line."""
    day = "".join(f".arm-{i} {{ --arm: {look.colour}; --dash: {_dash(look)}; }}\n" for i, look in enumerate(looks))
    night = "".join(f"  .arm-{i} {{ --arm: {look.night}; }}\n" for i, look in enumerate(looks))
    table = f".sideways table {{ max-width: {14 + 11 * len(looks)}rem; }}\n"  # few columns stay near their labels
    return f"{day}@media screen and (prefers-color-scheme: dark) {{\n{night}}}\n{table}"


def _dash(look: Look) -> str:
    """Return the dashes in pixels; round ends make a stroke longer by one line width, which gaps must make up for."""
    pixels = [_LINE_WIDTH * (length + at % 2) for at, length in enumerate(look.dash)]
    return " ".join(f"{length:g}" for length in pixels) or "none"


def _hash(text: str) -> str:
    """Return what the content security policy knows the page's own script and style by: no other one runs."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _data_uri(drawing: Drawing) -> str:
    """Return the figure itself as an address: as an image of its own, so that ids of two figures do not clash."""
    small = drawing.svg.stat().st_size <= _LARGE
    kind, path = ("svg+xml", drawing.svg) if small else ("png", drawing.png)
    return f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
