"""The examples of "What you can bring" in docs/learning.md, as a module of their own."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[3] / "docs" / "learning.md"


def brought(folder: Path) -> dict[str, Any]:
    """Return each example's task and how it is trained; the page's brought.py is written into the folder."""
    found = re.search(r"```python\n(# brought\.py\n.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    file = folder / "brought.py"
    file.write_text(found[1])
    spec = importlib.util.spec_from_file_location("brought", file)
    assert spec is not None and spec.loader is not None
    module = sys.modules["brought"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tasks: dict[str, Any] = module.BROUGHT
    return tasks
