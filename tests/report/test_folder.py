"""A report is a folder with everything in it."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

from ehfl.report import write_report
from ehfl.report.folder import make_ready
from made_trials import two_arms


def test_a_report_holds_figures_page_and_numbers(tmp_path: Path) -> None:
    specs = ('name = "one"\n', 'name = "<two>"\n')
    metas = [{"version": "1", "commit": "a", "started": "noon"}, {"version": "1", "commit": "b", "started": "dawn"}]
    found = replace(two_arms(), specs=specs, metas=(*metas, {}))

    page = write_report(found, tmp_path / "new", ["ehfl compare one.toml"])

    assert page == tmp_path / "new" / "report.html"
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "figures", "report.html", "rounds.csv", "summary.json", "table.txt"
    ]  # fmt: skip
    text = page.read_text(encoding="utf-8")
    assert "name = &#34;one&#34;\n\nname = &#34;&lt;two&gt;&#34;" in text
    assert "<dt>version</dt><dd>1</dd>" in text
    assert "<dt>commit</dt><dd>a, b (not the same for all runs)</dd>" in text
    assert "<dt>first run started</dt><dd>dawn</dd>" in text
    assert "ehfl compare one.toml" in text


def test_trials_that_no_spec_ran_have_a_report_too(tmp_path: Path) -> None:
    assert "<dt>time of all runs</dt>" in write_report(two_arms(), str(tmp_path)).read_text(encoding="utf-8")


def test_what_a_killed_report_left_is_swept(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-S", "-c", ""]) as gone:
        pass
    (tmp_path / "figures").mkdir()
    for folder in (tmp_path, tmp_path / "figures"):
        for process in (gone.pid, os.getpid()):
            (folder / f".part-{platform.node()}-{process}-x.png").write_text("half")

    make_ready(tmp_path)

    parts = [path.parent.name for path in tmp_path.rglob(f".part-{platform.node()}-{os.getpid()}-*")]
    assert len(list(tmp_path.rglob(".part-*"))) == len(parts) == 2
