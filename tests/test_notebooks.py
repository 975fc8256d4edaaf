"""The notebooks open as notebooks, with text and code cells, and run from top to bottom."""

from __future__ import annotations

from pathlib import Path

import jupytext
import matplotlib
import pytest

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.py"))


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    matplotlib.use("agg")
    cells = jupytext.read(path, fmt="py:percent").cells
    assert cells[0].cell_type == "markdown" and cells[0].source.splitlines()[1].startswith("===")
    code = [cell.source for cell in cells if cell.cell_type == "code"]
    assert len(code) >= 4 and len(cells) - len(code) >= 4
    namespace: dict[str, object] = {"__name__": "__main__"}
    for source in code:
        exec(compile(source, str(path), "exec", dont_inherit=True), namespace)
