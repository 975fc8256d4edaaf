"""Docstrings as reStructuredText: they are plain text, in which `name` is code and indented lines are equations."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import io
import re
import tokenize
from collections.abc import Iterator, Sequence
from itertools import groupby
from textwrap import dedent
from typing import Any

_CODE = re.compile(r"(`+)(.+?)\1")


def as_rst(lines: Sequence[str]) -> list[str]:
    r"""Return the lines of a docstring as reStructuredText, block by block.

    >>> as_rst(["Sum of x_i * 2 for `n` clients:", "", "    y = x_", "", ">>> f(1)", "2"])
    ['Sum of x\\_i \\* 2 for ``n`` clients:', '', '::', '', '    y = x_', '', '>>> f(1)', '2', '']
    """
    found: list[str] = []
    for blank, group in groupby(lines, key=lambda line: not line.strip()):
        if blank:
            continue
        block = list(group)
        if block[0].lstrip().startswith(">>>"):
            found += block
        elif all(line.startswith("  ") for line in block) and not block[0].lstrip().startswith("- "):
            found += ["::", "", *block]
        else:
            found += _paragraph(block)
        found.append("")
    return found


def _paragraph(block: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a paragraph or list with a blank line where a list begins or an equation follows."""
    before = "text"
    for line in block:
        kind = "item" if line.lstrip().startswith("- ") else "rest" if line.startswith("  ") else "text"
        if kind == "item" and before == "text":
            yield ""
        if kind == "rest" and before == "text":  # an equation directly below its sentence
            kind = "equation"
            yield from ("", "::", "")
        elif kind == "rest" and before == "equation":
            kind = "equation"
        elif kind == "text" and before != "text":
            yield ""
        yield line if kind == "equation" else escape(line)
        before = kind


def escape(text: str) -> str:
    r"""Return plain text with code in backticks as reStructuredText.

    >>> escape("a_ and `b_`, |c|")
    'a\\_ and ``b_``, \\|c\\|'
    """
    parts, end = [], 0
    for match in _CODE.finditer(text):
        parts += [re.sub(r"([\\*_|`])", r"\\\1", text[end : match.start()]), f"``{match[2]}``"]
        end = match.end()
    return "".join([*parts, re.sub(r"([\\*_|`])", r"\\\1", text[end:])])


def fields_of(found: Any) -> list[str]:
    """Return a description list of a dataclass's fields: their types and the comments beside them."""
    if not (inspect.isclass(found) and dataclasses.is_dataclass(found)):
        return []
    try:
        source = dedent(inspect.getsource(found))
    except (OSError, TypeError):
        return []
    names = {field.name for field in dataclasses.fields(found) if not field.name.startswith("_")}
    comments = {
        token.start[0]: token.string.lstrip("# ")
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.COMMENT and token.line.split("#")[0].strip()
    }
    described = []
    body = next(node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef)).body
    for node in body:
        if not (isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.target.id in names):
            continue
        said = comments.get(node.end_lineno or node.lineno)
        if said and not said.startswith(("type:", "noqa", "fmt:")):
            described += [f"``{node.target.id}``", f"    {escape(said)}"]
    return described and ["", *described, ""]
