"""The page stands alone, shows the comparison's numbers, and takes no text for markup."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from ehfl.analysis import Comparison, compare
from ehfl.report import Drawing
from ehfl.report.figures import style
from ehfl.report.pages.comparison import write_page
from ehfl.report.tables import cells
from ehfl.report.verdict import verdict_of
from made_trials import ACCURACY, arms_ending_at, made_trial, two_worlds

FINALS = {"myopic": [0.90, 0.92, 0.94], "greedy": [0.80, 0.821, 0.839], "always-on": [0.91, 0.91, 0.96]}
EVIL = "</script><script>alert('1')</script>\"'><img src=x onerror=alert(1)>&amp;"


class Parsed(HTMLParser):
    """Elements with attributes, and the text of the JSON element."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str]]] = []
        self.text: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, {name: found or "" for name, found in attrs}))

    def handle_data(self, data: str) -> None:
        self.text.append(data)

    def count(self, tag: str) -> int:
        return sum(found == tag for found, _ in self.elements)

    @property
    def data(self) -> Any:
        return json.loads(next(text for text in self.text if text.startswith('{"metric":')))


@pytest.fixture(scope="module")
def drawing(tmp_path_factory: pytest.TempPathFactory) -> Drawing:
    folder = tmp_path_factory.mktemp("drawing")
    figure = style.new_figure(2, 1)
    figure.subplots().plot([1, 2])
    for kind in ("svg", "png"):
        style.save(figure, folder / f"curve.{kind}")
    return Drawing("curve", "A curve", "It rises.", folder / "curve.png", folder / "curve.svg")


def page_of(
    folder: Path, comparison: Comparison, *drawings: Drawing, spec: str = "rounds = 8", fact: str = "3.12"
) -> str:
    write_page(comparison, drawings, folder / "page.html", spec=spec, facts={"Python": fact}, commands=["ehfl run a"])
    return (folder / "page.html").read_text(encoding="utf-8")


def test_nothing_is_loaded_from_anywhere(tmp_path: Path, drawing: Drawing) -> None:
    parsed = Parsed(page_of(tmp_path, arms_ending_at(FINALS), drawing))

    addresses = [found[name] for _, found in parsed.elements for name in ("src", "href", "srcset") if name in found]
    assert len(addresses) == 1
    assert addresses[0].startswith("data:image/svg+xml;base64,")
    assert not {"link", "iframe", "object", "embed", "base"} & {tag for tag, _ in parsed.elements}
    policy = next(found["content"] for tag, found in parsed.elements if found.get("http-equiv"))
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy
    assert "http" not in policy


def test_style_and_script_name_no_address(tmp_path: Path) -> None:
    page = page_of(tmp_path, arms_ending_at(FINALS))

    assert set(re.findall(r"https?://[^\"'\s]+", page)) == {"http://www.w3.org/2000/svg"}  # a name, never fetched
    assert not re.findall(r"@import|url\((?!#)", page)


def test_names_specs_and_facts_stay_text(tmp_path: Path, drawing: Drawing) -> None:
    hostile = Drawing(EVIL, EVIL, EVIL, drawing.png, drawing.svg)
    comparison = arms_ending_at({EVIL: [0.9, 0.8], f"{EVIL}2": [0.7, 0.9]}, name=EVIL)
    page = page_of(tmp_path, comparison, hostile, spec=EVIL, fact=EVIL)
    parsed = Parsed(page)

    plain = Parsed(page_of(tmp_path, arms_ending_at({"a": [0.9, 0.8], "b": [0.7, 0.9]}), drawing))
    assert [tag for tag, _ in parsed.elements] == [tag for tag, _ in plain.elements]
    assert parsed.count("script") == 2
    assert [arm["name"] for arm in parsed.data["arms"]] == [EVIL, f"{EVIL}2"]
    assert not any(name.startswith("on") for _, found in parsed.elements for name in found)


def test_a_distinguishable_difference_is_bold_and_no_other(tmp_path: Path) -> None:
    comparison = arms_ending_at(FINALS)
    page = page_of(tmp_path, comparison)

    clear = [row.difference for row in comparison.rows if row.difference and row.difference.distinguishable]
    assert re.findall(r"<strong>(.*?)</strong>", page) == [cells.gap(comparison.metric, found).text for found in clear]
    assert len(clear) == 1


def test_missing_figures_are_dashes(tmp_path: Path) -> None:
    page = page_of(tmp_path, arms_ending_at(FINALS, goal=0.99))

    assert re.search(r"<td[^>]*>–</td>", page)  # noqa: RUF001
    assert "nan" not in page.lower().partition("<tbody>")[2].partition("</table>")[0]


def test_the_chart_has_every_evaluation(tmp_path: Path) -> None:
    comparison = arms_ending_at(FINALS)
    data = Parsed(page_of(tmp_path, comparison)).data

    for arm, drawn in zip(comparison.arms, data["arms"], strict=True):
        assert drawn["rounds"] == arm.evaluated.tolist()
        assert drawn["energy"] == arm.energy.mean(axis=0).tolist()
        assert drawn["metric"]["mean"] == pytest.approx(arm.metric.mean(axis=0), rel=1e-5)
        assert drawn["loss"]["mean"] == pytest.approx(arm.loss.mean(axis=0), rel=1e-5)
    final = comparison.rows[0].final
    assert data["arms"][0]["metric"]["low"][-1] == pytest.approx(final.low, rel=1e-5)
    assert data["arms"][0]["metric"]["text"][-1] == "92.0 % (87.0 to 97.0)"


def test_verdict_tables_spec_facts_and_commands_are_there_in_order(tmp_path: Path, drawing: Drawing) -> None:
    comparison = arms_ending_at(FINALS)
    text = " ".join(Parsed(page_of(tmp_path, comparison, drawing)).text)

    parts = [
        comparison.name,
        *verdict_of(comparison),
        "baseline",
        "It rises.",
        "final accuracy",
        "rounds = 8",
        "3.12",
        "ehfl run a",
    ]
    places = [text.find(part) for part in parts]
    assert min(places) >= 0
    assert places == sorted(places)


def test_the_first_line_gives_ranges_where_arms_differ(tmp_path: Path) -> None:
    shapes = [("small", 0, 8, 6), ("large", 0, 20, 1000), ("large", 1, 20, 1000)]
    trials = [
        replace(made_trial(arm, seed, {8: 0.5}, [1] * rounds, clients=n), weather=f"of {n} clients")
        for arm, seed, rounds, n in shapes
    ]
    mixed = Parsed(page_of(tmp_path, compare("both", trials, ACCURACY, 3))).text
    alike = Parsed(page_of(tmp_path, arms_ending_at(FINALS))).text

    wanted = "3 of 6 to 1,000 clients wanted a round"
    assert f"accuracy, 8 to 20 rounds, 1 to 2 seeds, {wanted}; scheduler user class" in mixed
    assert "accuracy, 8 rounds, 3 seeds, 3 of 6 clients wanted a round; schedulers myopic" in " ".join(alike)


def test_with_two_worlds_differences_are_to_each_arms_baseline(tmp_path: Path) -> None:
    page = Parsed(page_of(tmp_path, two_worlds()))
    gaps = [arm["difference"] and arm["difference"]["mean"][-1] for arm in page.data["arms"]]

    assert gaps == [None, pytest.approx(0, abs=1e-12), None, pytest.approx(0, abs=1e-12), pytest.approx(0.1)]
    assert page.data["difference"]["label"] == "difference to its baseline [points]"
    text = " ".join(page.text)
    assert "between runs with the same weather" in text
    assert "3 to 4 of 6 clients wanted a round" in text


def test_the_verdict_comes_first_and_every_figure_last(tmp_path: Path) -> None:
    page = page_of(tmp_path, two_worlds())

    assert re.findall(r'<p class="headline">(.*?)</p>', page) == verdict_of(two_worlds())
    places = [page.index(f">{part}<") for part in ("Verdict", "Curves", "Results", "Full table", "Specification")]
    assert places == sorted(places)


def test_one_seed_has_no_band(tmp_path: Path) -> None:
    arms = Parsed(page_of(tmp_path, arms_ending_at({"myopic": [0.9], "mine": [0.8]}))).data["arms"]

    assert arms[0]["metric"]["low"] == arms[1]["difference"]["high"] == [None] * 4


def test_a_page_that_fails_leaves_the_old_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    comparison = arms_ending_at(FINALS)
    before = page_of(tmp_path, comparison)

    def fail(*_: object) -> None:
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="disk full"):
        page_of(tmp_path, comparison, spec="another")
    assert (tmp_path / "page.html").read_text(encoding="utf-8") == before
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]


def test_a_huge_figure_goes_in_as_pixels(tmp_path: Path, drawing: Drawing) -> None:
    large = tmp_path / "large.svg"
    large.write_text(drawing.svg.read_text(encoding="utf-8") + " " * 1_000_001, encoding="utf-8")
    page = page_of(tmp_path, arms_ending_at(FINALS), Drawing("a", "A", "B", drawing.png, large))

    assert "data:image/png;base64," in page


def test_the_chart_has_differences_where_there_are_pairs(tmp_path: Path) -> None:
    data = Parsed(page_of(tmp_path, arms_ending_at(FINALS))).data

    assert data["difference"]["label"] == "difference to myopic [points]"
    assert (data["difference"]["goal"], data["difference"]["goalText"]) == (0, "myopic")
    assert data["arms"][0]["difference"] is None
    assert data["arms"][1]["difference"]["mean"][-1] == pytest.approx(-0.1, rel=1e-5)
    assert data["arms"][1]["difference"]["text"][-1] == "-10.00 (-10.25 to -9.75)"


@pytest.mark.parametrize(("finals", "button"), [(FINALS, True), ({"myopic": [0.9, 0.8]}, False)])
def test_differences_can_be_chosen_where_there_are_some(
    tmp_path: Path, finals: dict[str, list[float]], button: bool
) -> None:
    assert ('data-value="difference"' in page_of(tmp_path, arms_ending_at(finals))) == button


def test_nothing_speaks_of_intervals_where_there_is_one_seed(tmp_path: Path) -> None:
    one, many = (
        page_of(tmp_path, arms_ending_at({"myopic": finals, "mine": finals})) for finals in ([0.9], [0.9, 0.8])
    )

    assert "bands 95 %" in many and "Small print" in many
    assert "bands 95 %" not in one and "Small print" not in one
