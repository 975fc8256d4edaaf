from __future__ import annotations

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "learning.md"


def test_the_pages_examples_run_from_top_to_bottom() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    namespace: dict[str, object] = {"__name__": "docs"}

    assert len(blocks) >= 5
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), namespace)
