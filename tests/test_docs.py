"""Every Python block, every ehfl command of an `sh` block and every spec in README and docs is run.

What takes minutes (`ehfl flower`) or machines of one's own stands in `bash` blocks, and has tests in tests/flower.

A block that begins with a file's name, `# reserve.py`, is also put into that file, in the folder where its page's
blocks and commands run: what a page names as the reader's own is there.
"""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent

import pytest

from ehfl.cli import main
from ehfl.experiment import read_spec

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "docs/guides").glob("*.md"))]
_FILE_NAME = re.compile(r"# ([\w-]+\.(?:py|toml|csv|txt))\n")


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[str]:
    found = re.findall(rf"^( *)```{language}\n(.*?)^\1```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return [dedent(block) for _, block in found]


def commands(page: Path) -> list[str]:
    lines = [line for block in blocks(page, "sh") for line in block.replace("\\\n", "").splitlines()]
    return [line.partition("#")[0].strip() for line in lines if line.startswith("ehfl ")]


@pytest.fixture
def folder(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A current folder with the page's files, whose modules are forgotten afterwards: pages may use a name alike."""
    for block in blocks(page, r"\w+"):
        if named := _FILE_NAME.match(block):
            (tmp_path / named[1]).write_text(block, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    path = list(sys.path)
    yield tmp_path
    sys.path[:] = path
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=name_of)
def test_python_blocks_of_a_page_run_from_top_to_bottom(
    page: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(folder)  # as for a script that lies there
    namespace: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(page, "python"):
        exec(compile(block, str(page), "exec", dont_inherit=True), namespace)  # the pages are ours


# Those that train and draw for a quarter of a minute: CI runs them among the slow tests.
SLOW = ("README.md", "docs/experiments.md", "docs/guides/compare.md", "docs/guides/sweeps.md")
WITH_COMMANDS = [
    pytest.param(page, marks=[pytest.mark.slow] if name_of(page) in SLOW else [], id=name_of(page))
    for page in PAGES
    if commands(page)
]


@pytest.mark.parametrize("page", WITH_COMMANDS)
def test_commands_of_a_page_run_one_after_another(page: Path, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for command in commands(page):
        with pytest.raises(SystemExit) as stop:
            main(shlex.split(command)[1:])
        assert stop.value.code == 0, f"{command}\n{capsys.readouterr().err}"


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "toml")], ids=name_of)
def test_specs_of_a_page_can_be_read(page: Path, folder: Path) -> None:
    for block in blocks(page, "toml"):
        path = folder / "read.toml"
        path.write_text(block, encoding="utf-8")
        assert read_spec(path).runs()


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in headings}


def test_links_between_pages_lead_somewhere() -> None:
    for page in [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md"]:
        for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
            name, _, anchor = link.partition("#")
            target = page.parent / name if name else page
            if name.endswith(".rst"):  # written when the site is built, which checks it
                continue
            assert link.startswith("http") or target.exists(), f"{page.name}: {link}"
            assert not anchor or link.startswith("http") or anchor in anchors(target), f"{page.name}: {link}"


def test_every_page_is_in_the_contents_of_the_site() -> None:
    listed = (ROOT / "docs/index.md").read_text(encoding="utf-8").splitlines()
    for page in PAGES[1:]:
        name = page.relative_to(ROOT / "docs").with_suffix("").as_posix()
        assert name == "index" or name in listed, f"add {name} to a toctree of docs/index.md"
