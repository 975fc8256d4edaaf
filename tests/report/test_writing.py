"""A report is a folder with everything in it."""

from __future__ import annotations

from pathlib import Path

from ehfl.analysis import Results
from ehfl.report import write_report
from made_trials import two_arms


def test_a_report_holds_figures_page_and_numbers(tmp_path: Path) -> None:
    specs = ('name = "one"\n', 'name = "<two>"\n')
    found = Results(two_arms(), specs, ({"version": "1", "started": "noon"}, {"version": "1", "started": "dawn"}, {}))

    page = write_report(found, tmp_path / "new", ["ehfl compare one.toml"])

    assert page == tmp_path / "new" / "report.html"
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == [
        "figures", "report.html", "rounds.csv", "summary.json", "table.txt"
    ]  # fmt: skip
    text = page.read_text(encoding="utf-8")
    assert "name = &#34;one&#34;\n\nname = &#34;&lt;two&gt;&#34;" in text
    assert "<dt>version</dt><dd>1</dd>" in text
    assert "<dt>first run started</dt><dd>dawn</dd>" in text
    assert "ehfl compare one.toml" in text
