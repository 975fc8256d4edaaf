"""The documentation site: built by `make docs` offline without a warning, with every public name, and searchable."""

from __future__ import annotations

import doctest
import importlib
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import ehfl

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


@pytest.fixture
def site(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    monkeypatch.syspath_prepend(DOCS)
    yield importlib.import_module("_site.reference")
    for name in [name for name in sys.modules if name.partition(".")[0] == "_site"]:
        del sys.modules[name]


def test_every_public_name_has_one_entry_in_the_reference(site: ModuleType) -> None:
    pages = site.pages()
    entries = re.findall(r"^\.\. (?:auto\w+|py:data):: (\S+)$", "\n".join(pages.values()), re.MULTILINE)
    assert len(set(entries)) == len(entries)
    public = set(dir(ehfl))
    rooms = {name for name in public if hasattr(getattr(ehfl, name), "__path__")}
    assert {f"ehfl.{name}" for name in public - rooms} <= set(entries)
    last_parts = {entry.rpartition(".")[2] for entry in entries}
    for room in site.ROOMS:
        assert set(getattr(importlib.import_module(f"ehfl.{room}"), "__all__", ())) <= last_parts, room


def test_docstrings_become_restructured_text(site: ModuleType) -> None:
    docstrings = importlib.import_module("_site.docstrings")
    assert doctest.testmod(docstrings).failed == 0
    text = ["A list:", "- one", "  more", "and x_i", "    y = x_i"]
    assert docstrings.as_rst(text) == [
        "A list:", "", "- one", "  more", "", r"and x\_i", "", "::", "", "    y = x_i", "",
    ]  # fmt: skip


@pytest.fixture(scope="module")
def html(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", str(DOCS), str(built)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-5000:]
    return built


@pytest.mark.slow
def test_the_site_is_built_without_a_warning_and_loads_nothing_from_elsewhere(html: Path) -> None:
    pages = list(html.rglob("*.html"))
    assert len(pages) > 50
    for page in pages:
        loaded = re.findall(r"<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=\"(https?:[^\"]*)", page.read_text())
        assert not loaded, f"{page.name}: {loaded}"
    for example in (ROOT / "examples").glob("*.py"):
        assert list((html / "_images").glob(f"sphx_glr_{example.stem}_001*")), f"{example.name} has no picture"


@pytest.mark.slow
def test_the_search_finds_a_name_and_a_word(html: Path) -> None:
    from playwright.sync_api import sync_playwright

    with sync_playwright() as drive:
        browser = drive.chromium.launch(executable_path="/usr/bin/chromium", args=["--no-sandbox"])
        page = browser.new_page()
        for word, found in (
            ("check_scheduler", "reference/scheduling.html"),
            ("battery", "gallery/07_bought_battery.html"),
        ):
            page.goto(f"{(html / 'search.html').as_uri()}?q={word}")
            page.wait_for_selector("ul.search li a", timeout=20_000)
            page.wait_for_function("() => document.querySelector('.search-summary')?.innerText.includes('found')")
            links = page.eval_on_selector_all("ul.search li a", "all => all.map(one => one.href)")
            assert any(found in link for link in links), (word, links)
        browser.close()
