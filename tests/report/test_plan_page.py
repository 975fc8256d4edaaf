"""The page of a plan stands alone, says what the plan says, and takes no text for markup."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from ehfl.planning import Plan
from ehfl.report import verdict_of_plan, write_plan
from ehfl.report.tables.output import unbroken
from made_plans import answered, sun_plan, unit_plan

EVIL = "</script><script>alert('1')</script>\"'><img src=x onerror=alert(1)>&amp;"


class Parsed(HTMLParser):
    """Elements with attributes, and all text."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: found or "" for name, found in attrs}))

    def handle_data(self, data: str) -> None:
        self.text.append(data)


def page_of(plan: Plan, folder: Path, spec: str = "rounds = 8", fact: str = "3.12") -> str:
    path = write_plan(plan, folder, spec=spec, facts={"python": fact}, commands=["ehfl plan farm.toml"])
    assert path == folder / "plan.html"
    return path.read_text(encoding="utf-8")


def test_nothing_is_loaded_from_anywhere(tmp_path: Path) -> None:
    page = page_of(answered(sun_plan()), tmp_path / "plan")
    parsed = Parsed(page)

    addresses = [found[name] for _, found in parsed.elements for name in ("src", "href", "srcset") if name in found]
    assert len(addresses) == 4
    assert all(address.startswith("data:image/svg+xml;base64,") for address in addresses)
    assert not {"link", "iframe", "object", "embed", "base"} & {tag for tag, _ in parsed.elements}
    policy = next(found["content"] for tag, found in parsed.elements if found.get("http-equiv"))
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert not re.search(
        r"https?:|//[a-z]",
        re.sub(r"data:image[^\"]*", "", page).replace("// ", "").replace("http://www.w3.org/2000/svg", ""),
    )


@pytest.mark.parametrize("plan", [unit_plan(), answered(sun_plan())], ids=["units", "answered"])
def test_every_sentence_is_there_once(plan: Plan, tmp_path: Path) -> None:
    text = Parsed(page_of(plan, tmp_path)).text

    for sentence in verdict_of_plan(plan):
        assert text.count(unbroken(sentence)) == 1


def test_the_answer_stands_first(tmp_path: Path) -> None:
    page = page_of(answered(sun_plan()), tmp_path)
    first = re.findall(r'<p class="headline">(.*)</p>', page)[0]

    assert first.startswith("2 clients in 95\u00a0% of rounds in 9 of 10 years: battery 2.52\u00a0Wh, 2.5\u00a0Wh to")


def test_spec_facts_commands_and_schedulers_are_shown(tmp_path: Path) -> None:
    text = Parsed(page_of(unit_plan(), tmp_path)).text

    for shown in ("rounds = 8", "3.12", "ehfl plan farm.toml", "myopic", "greedy", "units", "fairness (Jain)"):
        assert shown in text


def test_figures_lie_beside_the_page(tmp_path: Path) -> None:
    page_of(sun_plan(), tmp_path)

    names = sorted(path.name for path in (tmp_path / "figures").iterdir())
    assert names == [f"{name}.{kind}" for name in ("hours", "months", "year") for kind in ("pdf", "png", "svg")]


def test_text_is_no_markup(tmp_path: Path) -> None:
    plan = unit_plan()
    outlooks = (replace(plan.outlooks[0], label=EVIL), plan.outlooks[1])
    evil = replace(plan, name=EVIL, outlooks=outlooks, schedulers={EVIL: "", "greedy": "greedy"})
    parsed = Parsed(page_of(evil, tmp_path, spec=EVIL, fact=EVIL))

    assert sum(tag == "script" for tag, _ in parsed.elements) == 1
    assert all(found["src"].startswith("data:") for tag, found in parsed.elements if tag == "img")
    assert not any("onerror" in found for _, found in parsed.elements)
