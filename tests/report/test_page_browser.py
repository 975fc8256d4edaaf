"""The page in a real browser: nothing fails, nothing is fetched, and what can be clicked does what it says."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from ehfl.analysis import compare
from ehfl.report import Drawing
from ehfl.report.figures import style
from ehfl.report.pages.comparison import write_page
from made_devices import device_trial
from made_joules import hours_and_joules, two_lengths
from made_served import served
from made_trials import ACCURACY, GAP, arms_ending_at, made_trial, two_arms

pytest.importorskip("playwright.sync_api", reason="no playwright: pip install 'ehfl[dev]'")
from playwright import sync_api as api

_STROKE = "e => [getComputedStyle(e).stroke, getComputedStyle(e).strokeDasharray]"
EVIL = "</script><script>document.title = 'run'</script>"
FINALS = {"myopic": [0.90, 0.92, 0.94], "greedy": [0.40, 0.421, 0.439], EVIL: [0.70, 0.71, 0.75]}


@pytest.fixture(scope="module")
def browser() -> Iterator[api.Browser]:
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("no chromium: apt-get install chromium")
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("page")
    figure = style.new_figure(3, 2)
    figure.subplots().plot([1, 2])
    for kind in ("svg", "png"):
        style.save(figure, folder / f"curve.{kind}")
    drawing = Drawing("curve", "A curve", "It rises.", folder / "curve.png", folder / "curve.svg")
    comparison = arms_ending_at(FINALS, counts={"greedy": [1] * 8}, goal=0.6)
    wide = "x" * 300  # a line that must not widen the page
    write_page(comparison, [drawing], folder / "page.html", spec=wide, facts={"host": wide}, commands=[wide])
    return (folder / "page.html").as_uri()


@pytest.fixture
def page(browser: api.Browser, address: str) -> Iterator[api.Page]:
    """The page at desktop width; whatever it did in the test, it neither failed nor fetched."""
    context = browser.new_context(viewport={"width": 1200, "height": 800})
    opened = context.new_page()
    wrong: list[str] = []
    opened.on("console", lambda message: wrong.append(message.text))
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    asked: list[str] = []
    opened.on("request", lambda request: asked.append(request.url))
    opened.goto(address)
    yield opened
    context.close()
    assert wrong == []
    assert [url for url in asked if not url.startswith("data:")] == [address]


def names(page: api.Page) -> list[str]:
    return [text.strip() for text in page.locator(".sideways:not(.compact) thead th").all_inner_texts()]


def tick_labels(page: api.Page) -> list[float]:
    return [float(text) for text in page.locator(".tick-y").all_text_contents()]


def label(page: api.Page, axis: str) -> str:
    return page.locator(f".label-{axis}").text_content() or ""


def point_at(page: api.Page, share: float) -> str:
    """Move the mouse to this share of the chart's width; return what the tooltip says."""
    chart = page.locator(".plot > svg")
    chart.scroll_into_view_if_needed()
    box = chart.bounding_box()
    assert box
    page.mouse.move(box["x"] + share * box["width"], box["y"] + box["height"] / 2)
    return page.locator(".tip").inner_text()


def test_every_arm_is_drawn_and_no_name_is_run(page: api.Page) -> None:
    assert page.title() == "small"
    assert page.locator("path.line").count() == page.locator("path.band").count() == 3
    assert page.locator(".legend button").all_inner_texts() == list(FINALS)
    assert page.evaluate("document.querySelector('figure img').naturalWidth") > 0


def test_the_table_of_eight_arms_is_whole_on_a_desktop(browser: api.Browser, tmp_path: Path) -> None:
    finals = {f"uniform-random:{n}": [0.9123 + n / 99, 0.9254, 0.9333] for n in range(8)}
    write_page(arms_ending_at(finals), [], tmp_path / "eight.html", spec="", facts={}, commands=[])
    with browser.new_context(viewport={"width": 1280, "height": 800}) as context:
        opened = context.new_page()
        opened.goto((tmp_path / "eight.html").as_uri())
        assert opened.locator(".sideways:not(.compact)").evaluate("e => e.scrollWidth <= e.clientWidth")


def test_the_table_is_whole_on_a_desktop(page: api.Page) -> None:
    page.set_viewport_size({"width": 1280, "height": 800})
    box = page.locator(".sideways:not(.compact)")

    assert names(page) == list(FINALS)
    assert box.evaluate("e => e.scrollWidth <= e.clientWidth")
    assert page.locator(".cue").last.is_hidden()
    labels = box.locator("tbody th").all_inner_texts()
    assert {"final accuracy", "harvest wasted", "fairness (Jain)", "slowdown, measured"} <= set(labels)


def test_the_legend_hides_an_arm_and_the_axis_follows(page: api.Page) -> None:
    before = tick_labels(page)
    for name in ("myopic", EVIL):
        page.locator(".legend button").nth(list(FINALS).index(name)).click()

    assert page.locator("path.line").count() == page.locator("path.band").count() == 1
    assert page.locator("path.line").get_attribute("data-arm") == "1"
    assert page.locator(".legend button").first.get_attribute("aria-pressed") == "false"
    assert max(tick_labels(page)) < max(before)
    page.locator(".legend button").nth(1).click()  # none is left: nothing to draw, nothing fails
    assert point_at(page, 0.5) == ""
    for button in page.locator(".legend button").all():
        button.click()
    assert tick_labels(page) == before


def test_pointing_shows_the_round_and_each_value(page: api.Page) -> None:
    shown = point_at(page, 0.99)

    assert "after 8 rounds" in shown
    assert re.search(r"myopic\s+92\.0 % \(87\.0 to 97\.0\)", shown)
    assert re.search(r"greedy\s+42\.0 % \(", shown)
    assert "after 4 rounds" in point_at(page, 0.52)
    assert re.search(r"myopic\s+46\.0 %", point_at(page, 0.52))
    page.mouse.move(5, 5)
    assert page.locator(".tip").is_hidden()


def test_the_arrow_keys_go_from_evaluation_to_evaluation(page: api.Page) -> None:
    chart = page.locator(".plot > svg")
    for key, expected in (("Home", 2), ("ArrowRight", 4), ("End", 8), ("ArrowRight", 8), ("ArrowLeft", 6)):
        chart.press(key)
        assert f"after {expected} rounds" in page.locator(".tip").inner_text()
    chart.press("Escape")
    assert page.locator(".tip").is_hidden()


def test_both_axes_can_be_changed(page: api.Page) -> None:
    assert (label(page, "y"), label(page, "x")) == ("test accuracy [%]", "rounds")

    page.get_by_role("button", name="loss").click()
    page.get_by_role("button", name="energy spent").click()
    assert (label(page, "y"), label(page, "x")) == ("test loss", "energy spent [units]")
    assert page.get_by_role("button", name="loss").get_attribute("aria-pressed") == "true"
    shown = point_at(page, 0.99)
    assert "24 units" in shown
    assert re.search(r"myopic\s+0\.080 \(", shown)  # 1 - 0.92
    assert "round 8, 24 units" in shown
    assert re.search(r"greedy\s+0\.580 \(.*round 8, 8 units", shown)  # has long ended, and says where


def test_amounts_of_energy_have_the_fleets_unit(browser: api.Browser, tmp_path: Path) -> None:
    write_page(two_arms(unit="mJ <b>"), [], tmp_path / "unit.html", spec="", facts={}, commands=[])
    with browser.new_context() as context:
        opened = context.new_page()
        opened.goto((tmp_path / "unit.html").as_uri())
        opened.get_by_role("button", name="energy spent").click()
        assert label(opened, "x") == "energy spent [mJ <b>]"
        shown = point_at(opened, 0.99)
        assert "at about 6 mJ <b> spent" in shown
        assert "round 3, 6 mJ <b>" in shown
        assert opened.locator("tbody th", has_text="energy to goal [mJ <b>]").count() == 1


def test_a_fleet_in_joules_has_time_as_a_third_axis(browser: api.Browser, tmp_path: Path) -> None:
    write_page(hours_and_joules(), [], tmp_path / "joules.html", spec="", facts={}, commands=[])
    with browser.new_context() as context:
        opened = context.new_page()
        opened.goto((tmp_path / "joules.html").as_uri())
        choices = opened.locator('[data-axis="x"]')
        assert choices.all_inner_texts() == ["rounds", "time", "energy spent"]
        opened.get_by_role("button", name="time").click()
        assert label(opened, "x") == "time [h]"
        shown = point_at(opened, 0.99)
        assert "after 3 h" in shown
        assert "round 3" in shown
        opened.get_by_role("button", name="difference to greedy").click()  # time stays, energy cannot be chosen
        assert label(opened, "x") == "time [h]"
        assert opened.locator('[data-value="energy"]').is_disabled()
        opened.get_by_role("button", name="accuracy").click()
        opened.get_by_role("button", name="energy spent").click()
        assert label(opened, "x") == "energy spent [Wh]"
        assert "at about 3.06 Wh spent" in point_at(opened, 0.99)


def test_rounds_of_other_lengths_begin_with_time(browser: api.Browser, tmp_path: Path) -> None:
    write_page(two_lengths(), [], tmp_path / "lengths.html", spec="", facts={}, commands=[])
    with browser.new_context() as context:
        opened = context.new_page()
        opened.goto((tmp_path / "lengths.html").as_uri())
        assert label(opened, "x") == "time [h]"
        assert opened.locator('[data-value="time"]').get_attribute("aria-pressed") == "true"
        shown = point_at(opened, 0.99)
        assert "round 4" in shown and "round 2" in shown


def test_a_line_and_its_swatches_have_the_same_dashes(browser: api.Browser, tmp_path: Path) -> None:
    finals = {f"mine {n}": [0.5 + n / 10] for n in range(4)}  # three spare colours: the last repeats the first
    write_page(arms_ending_at(finals), [], tmp_path / "dashes.html", spec="", facts={}, commands=[])
    with browser.new_context() as context:
        opened = context.new_page()
        opened.goto((tmp_path / "dashes.html").as_uri())
        for place, dashed in ((0, False), (3, True)):
            drawn = [f".plot .line.arm-{place}", f".legend .arm-{place} .swatch path", f"thead .arm-{place} path"]
            # Found and asked in one go: a locator's line may be drawn anew, for another width, before it is asked.
            ask = f"path => ({_STROKE})(document.querySelector(path))"
            styles = [opened.evaluate(ask, path) for path in drawn]
            assert styles[0] == styles[1] == styles[2]
            assert (styles[0][1] != "none") == dashed


def test_a_phone_shows_it_without_sideways_scrolling(page: api.Page) -> None:
    page.set_viewport_size({"width": 375, "height": 700})
    assert "after 4 rounds" in point_at(page, 0.5)
    page.get_by_role("button", name="energy spent").click()
    assert "units" in point_at(page, 0.5)
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    assert page.evaluate("document.querySelector('.plot svg').viewBox.baseVal.width") < 375  # drawn anew
    for legend in page.locator(".legend button").all():
        box = legend.bounding_box()
        assert box and box["x"] >= 0 and box["x"] + box["width"] <= 375


def test_a_table_that_is_wider_than_a_phone_says_so_until_its_end(page: api.Page) -> None:
    page.set_viewport_size({"width": 375, "height": 700})
    box = page.locator(".sideways:not(.compact)")

    assert box.evaluate("e => e.scrollWidth > e.clientWidth")
    page.wait_for_selector(".sideways.more")
    assert page.locator(".cue").last.is_visible()
    box.evaluate("e => { e.scrollLeft = 9999; }")
    page.wait_for_selector(".sideways:not(.more)")
    label = box.locator("tbody th", has_text="final accuracy").bounding_box()
    assert label and label["x"] >= 0  # stays where it can be read


def test_every_table_of_devices_says_whether_there_is_more_of_it(browser: api.Browser, tmp_path: Path) -> None:
    trials = [device_trial(["S" * 3, "o" * 3], "a long name of an arm on devices"), device_trial(["T.", "o."], "b")]
    write_page(compare("d", trials, ACCURACY, 2), [], tmp_path / "d.html", spec="", facts={}, commands=[])
    with browser.new_context(viewport={"width": 375, "height": 700}) as context:
        opened = context.new_page()
        opened.goto((tmp_path / "d.html").as_uri())
        opened.wait_for_selector("[aria-labelledby=devices-0] table")
        assert opened.evaluate("document.documentElement.scrollWidth") == 375
        wide, narrow = (opened.locator(f"[aria-labelledby=devices-{place}]") for place in (0, 1))
        assert wide.evaluate("e => [e.classList.contains('more'), e.previousElementSibling.hidden]") == [True, False]
        opened.set_viewport_size({"width": 1280, "height": 700})
        for box in (wide, narrow):
            opened.wait_for_function("e => e.previousElementSibling.hidden", arg=box.element_handle())
            assert not box.evaluate("e => e.classList.contains('more')")


def test_a_phone_shows_figures_whole_and_enlarges_them(page: api.Page) -> None:
    page.set_viewport_size({"width": 375, "height": 700})
    picture = page.get_by_role("group", name="A curve")
    image = picture.locator("img")

    assert image.evaluate("e => e.getBoundingClientRect().right") <= 375
    page.locator(".enlarge").click()
    assert image.evaluate("e => e.clientWidth") >= 640
    assert picture.evaluate("e => { e.scrollLeft = 9999; return e.scrollLeft > 0 && e.clientWidth < 375; }")
    assert page.evaluate("document.documentElement.scrollWidth") == 375
    page.locator(".enlarge").click()
    assert image.evaluate("e => e.getBoundingClientRect().right") <= 375
    page.set_viewport_size({"width": 1280, "height": 700})
    assert page.locator(".enlarge").is_hidden()


def test_figures_fit_a_sheet_of_paper(page: api.Page) -> None:
    page.emulate_media(media="print")
    page.set_viewport_size({"width": 500, "height": 700})

    assert page.evaluate("document.querySelector('figure img').clientWidth") <= 500


@pytest.mark.parametrize("rounds", [1, 2, 3])
def test_rounds_are_counted_in_whole_numbers(browser: api.Browser, tmp_path: Path, rounds: int) -> None:
    trials = [made_trial("a", seed, {rounds: 0.5}, [1] * rounds) for seed in range(2)]
    comparison = compare("short", trials, ACCURACY, 1)
    write_page(comparison, [], tmp_path / "short.html", spec="", facts={}, commands=[])
    with browser.new_context() as context:
        opened = context.new_page()
        opened.goto((tmp_path / "short.html").as_uri())
        assert opened.locator(".tick-x").all_text_contents() == [str(n) for n in range(rounds + 1)]


def test_a_single_evaluation_is_a_dot(browser: api.Browser, tmp_path: Path) -> None:
    comparison = arms_ending_at({"myopic": [0.9], "greedy": [0.8]}, counts={"myopic": [3, 3], "greedy": [3, 3]})
    write_page(comparison, [], tmp_path / "one.html", spec="", facts={}, commands=[])
    with browser.new_context() as context:
        opened = context.new_page()
        opened.goto((tmp_path / "one.html").as_uri())
        drawn = [line.get_attribute("d") or "" for line in opened.locator("path.line").all()]
        assert len(drawn) == 2
        assert all(re.fullmatch(r"M[\d.]+,[\d.]+h0", path) for path in drawn)
        assert "after 2 rounds" in point_at(opened, 0.5)


def test_without_scripts_table_and_figures_remain(browser: api.Browser, address: str) -> None:
    with browser.new_context(java_script_enabled=False) as context:
        opened = context.new_page()
        opened.goto(address)
        assert opened.locator("noscript p").is_visible()
        assert opened.locator("#chart").is_hidden()
        assert names(opened) == list(FINALS)


def test_dark_pages_have_lines_of_their_own(browser: api.Browser, address: str) -> None:
    colours = []
    schemes: tuple[Literal["light", "dark"], ...] = ("light", "dark")
    for scheme in schemes:
        with browser.new_context(color_scheme=scheme) as context:
            opened = context.new_page()
            opened.goto(address)
            colours.append(opened.evaluate("getComputedStyle(document.querySelector('path.line')).stroke"))
    assert colours[0] == "rgb(0, 114, 178)"
    assert colours[1].startswith("oklch(0.68")  # as light as page.css asks for on dark paper


def test_differences_are_drawn_around_the_first_arm_and_against_rounds_only(page: api.Page) -> None:
    page.get_by_role("button", name="energy spent").click()
    page.get_by_role("button", name="difference to myopic").click()

    assert (label(page, "y"), label(page, "x")) == ("difference to myopic [points]", "rounds")
    assert page.get_by_role("button", name="energy spent").is_disabled()
    assert page.locator("path.line").count() == 2
    assert page.locator(".halo").text_content() == "myopic"
    assert min(tick_labels(page)) < 0 <= max(tick_labels(page))
    shown = point_at(page, 0.99)
    assert re.search(r"greedy\s+-50\.0+ \(", shown)
    assert "myopic" not in shown
    page.get_by_role("button", name="loss").click()
    assert page.get_by_role("button", name="energy spent").is_enabled()
    assert page.locator("path.line").count() == 3


def test_a_metric_that_falls_by_powers_of_ten_has_a_logarithmic_axis(browser: api.Browser, tmp_path: Path) -> None:
    trials = [
        made_trial(arm, seed, [1.0, 0.1 * at, 1e-3 * at], [1] * 3) for at, arm in enumerate("ab", 1) for seed in (0, 1)
    ]
    comparison = compare("falls", trials, GAP, 1)
    write_page(comparison, [], tmp_path / "log.html", spec="", facts={}, commands=[])
    with browser.new_context() as context:
        opened = context.new_page()
        opened.goto((tmp_path / "log.html").as_uri())
        assert tick_labels(opened) == [0.001, 0.01, 0.1, 1]


def test_the_worst_class_is_a_choice_where_tasks_have_classes(browser: api.Browser, tmp_path: Path) -> None:
    compared = served({"greedy": [(0.9, 0.3), (0.9, 0.4)], "mifa": [(0.9, 0.7), (0.9, 0.8)]})
    write_page(compared, [], tmp_path / "served.html", spec="", facts={}, commands=[])
    with browser.new_context(viewport={"width": 1200, "height": 800}) as context:
        opened = context.new_page()
        opened.goto((tmp_path / "served.html").as_uri())
        opened.click('[data-value="worst"]')

        assert label(opened, "y") == "test accuracy of the worst class [%]"
        assert opened.locator("path.line").count() == 2
        assert "35 % (0 to 99)" in point_at(opened, 0.99)
        opened.click('[data-value="energy"]')
        assert label(opened, "y") == "test accuracy of the worst class [%]"
