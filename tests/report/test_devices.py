"""Runs on devices in figures, sentences and on the page: only what the server saw is shown, and only where it did."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from ehfl.analysis import Comparison, Trial, compare
from ehfl.analysis.devices import DeviceState
from ehfl.analysis.units import Scale
from ehfl.report import Drawing
from ehfl.report.figures import style
from ehfl.report.figures.comparison import draw_all
from ehfl.report.figures.rasters import COLOURS, NAMES, batteries_figure, devices_figure, levels, on_devices
from ehfl.report.folder import as_facts, table_text
from ehfl.report.pages.comparison import MOST_DEVICES, device_parts, write_page
from ehfl.report.verdict import device_line, verdict_of
from ehfl.runs import Devices
from made_devices import NAN, SILENT, device_trial
from made_trials import ACCURACY, made_trial, two_arms

ROUNDS = ["T.oS", "TNo.", "o.T.", "To.."]


def compared(*trials: Trial) -> Comparison:
    return compare("devices", trials, ACCURACY, 2)


def beside() -> Comparison:
    """Return an arm on devices beside one in process."""
    return compared(device_trial(ROUNDS, "a"), made_trial("b", 0, [0.1, 0.2, 0.3, 0.4], clients=4, recorded=True))


# figures


def test_each_client_has_a_line_of_its_states() -> None:
    comparison = beside()
    figure = devices_figure(comparison)

    assert figure is not None
    (axes,) = figure.axes
    assert axes.get_title(loc="left") == "a"
    found = {
        "T": DeviceState.TOOK_PART,
        "S": DeviceState.LOST,
        "N": DeviceState.LOST,
        "o": DeviceState.ONLINE,
        ".": DeviceState.DARK,
    }
    wanted = [[to_rgb(COLOURS[found[letters[client]]]) for letters in ROUNDS] for client in range(4)]
    assert np.asarray(axes.images[0].get_array()) == pytest.approx(np.array(wanted))
    assert [text.get_text() for text in figure.legends[0].get_texts()] == list(NAMES.values())


def test_more_clients_than_a_panel_has_lines_for_are_counted() -> None:
    comparison = compared(device_trial(["T" * 100 + "S" * 50 + "o" * 30 + "." * 70, "o" * 250]))
    figure = devices_figure(comparison)

    assert figure is not None
    (axes,) = figure.axes
    middles = [[(0, height) for height in (50, 125, 165, 215)], [(1, height) for height in (50, 125, 165, 215)]]
    inside = [
        [[area.get_paths()[0].contains_point(point) for area in axes.collections].index(True) for point in points]
        for points in middles
    ]
    assert inside == [[0, 1, 2, 3], [2, 2, 2, 2]]
    assert figure.get_supylabel() == "clients"


# What is left of red, green and blue without one kind of cones: Machado, Oliveira and Fernandes, 2009, table 1.
BLIND = {
    "red": [[0.152, 1.053, -0.205], [0.115, 0.786, 0.099], [-0.004, -0.048, 1.052]],
    "green": [[0.367, 0.861, -0.228], [0.280, 0.673, 0.047], [-0.012, 0.043, 0.969]],
    "blue": [[1.256, -0.077, -0.179], [-0.078, 0.931, 0.148], [0.005, 0.691, 0.304]],
    "all but brightness": [[0.299, 0.587, 0.114]],
}


@pytest.mark.parametrize("lacking", BLIND)
def test_states_are_told_apart_by_colour_blind_readers_and_in_grey(lacking: str) -> None:
    seen = [np.array(BLIND[lacking]) @ to_rgb(colour) for colour in COLOURS.values()]

    assert min(np.linalg.norm(one - other) for one, other in combinations(seen, 2)) > 0.15


def test_where_a_device_was_dark_its_battery_is_not_known() -> None:
    comparison = beside()
    image = levels(comparison.arms[0])
    figure = batteries_figure(comparison)

    nan = np.nan
    wanted = [[3, 2, 1, 1, 1], [nan, 3, nan, 2, 2], [3, 3, 3, nan, nan], [3, nan, nan, nan, nan]]
    np.testing.assert_array_equal(image, wanted)
    assert not np.isnan(levels(comparison.arms[1])).any()
    assert figure is not None
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["no answer: level unknown"]


def test_a_level_that_was_heard_of_after_the_last_round_is_shown() -> None:
    trial = device_trial(["To", "..", ".."])
    energy = np.array([[3, 3], [3, 3], [3, 3], [2, 3]], np.int32)
    played = replace(trial.participation, energy=energy, final_energy=energy[-1])

    (arm,) = compared(replace(trial, participation=played)).arms
    np.testing.assert_array_equal(levels(arm)[:, 1:], [[np.nan, np.nan, 2], [np.nan, np.nan, np.nan]])


def test_batteries_of_devices_that_never_answered_are_drawn_without_a_warning(tmp_path: Path) -> None:
    figure = batteries_figure(compared(device_trial(["...", "..."])))

    assert figure is not None
    style.save(figure, tmp_path / "dark.png")  # pytest: a warning is an error


def test_figures_of_runs_in_process_are_what_they_were(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(style, "save", lambda figure, path: None)
    figure = batteries_figure(two_arms())
    drawings = {drawing.name: drawing.caption for drawing in draw_all(two_arms(), tmp_path)}

    assert devices_figure(two_arms()) is None and "devices" not in drawings
    assert figure is not None and not figure.legends


def test_captions_say_which_arms_had_no_devices(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(style, "save", lambda figure, path: None)
    drawings = {drawing.name: drawing.caption for drawing in draw_all(beside(), tmp_path)}

    assert drawings["devices"].endswith("Not shown (no devices): b.")
    figure = batteries_figure(beside())
    assert figure is not None
    assert [text.get_text() for text in figure.legends[0].get_texts()] == ["no answer: level unknown"]
    assert [arm.name for arm in on_devices(beside())] == ["a"]


# what is said of them


def said(rounds: list[str]) -> str:
    log = device_trial(rounds).devices
    assert log is not None
    return device_line(log, Scale("mJ"))


def test_a_line_says_who_answered_and_what_was_lost() -> None:
    lost = f"2 of 6 updates asked for were lost: {NAN} (1); {SILENT} (1); lost work cost at least 1 mJ."
    assert said(ROUNDS) == f"Online in 10 of 16 device-rounds (62.5 %); {lost}"
    assert said(["To", "oT"]) == "Online in 4 of 4 device-rounds (100.0 %); 0 of 2 updates asked for were lost."
    assert said(["T..", "o.."]).startswith("Online in 2 of 6 device-rounds (33.3 %); 2 devices never answered; ")
    assert said(["oo"]).endswith("; no update was asked for.")
    assert said(["S"]).endswith(f"; 1 of 1 update asked for was lost: {SILENT} (1).")


def test_the_summary_has_a_line_where_work_was_lost_over_all_seeds() -> None:
    alone = verdict_of(compared(device_trial(ROUNDS), device_trial(["NToo", "oooo", "oooo", "oooo"], seed=1)))
    several = verdict_of(compared(device_trial(ROUNDS, "a"), device_trial(["To", "oT"], "b")))

    assert f"3 of 8 updates asked for were lost: {NAN} (2); {SILENT} (1)." in alone
    assert f"2 of 6 updates asked for were lost under a: {NAN} (1); {SILENT} (1)." in several
    assert not [sentence for sentence in several if "under b" in sentence]
    assert not [sentence for sentence in verdict_of(two_arms()) if "asked for" in sentence]


def test_the_text_beside_the_page_has_the_line_and_the_facts_have_each_device() -> None:
    comparison = beside()

    assert "2 of 6 updates asked for were lost under a" in table_text(comparison)
    (run,) = as_facts(comparison)["devices"]
    assert (run["arm"], run["seed"], run["online"], run["lost"]) == ("a", 0, 10, 2)
    assert "devices" not in as_facts(two_arms())


# the page


class Tables(HTMLParser):
    """The cells of tables, row by row, and all elements."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.tags: list[str] = []
        self.inside = False
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")
            self.inside = True

    def handle_endtag(self, tag: str) -> None:
        self.inside = self.inside and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.rows[-1][-1] += data


def page_of(folder: Path, comparison: Comparison, *drawings: Drawing) -> str:
    write_page(comparison, drawings, folder / "page.html", spec="", facts={}, commands=[])
    return (folder / "page.html").read_text(encoding="utf-8")


def section(page: str) -> str:
    return page.partition('<h2 id="devices">')[2].partition("</section>")[0]


def test_the_page_has_a_line_for_each_device(tmp_path: Path) -> None:
    page = section(page_of(tmp_path, beside()))

    assert Tables(page).rows == [
        ["", "rounds onlineof 4", "tookpart", "battery, lastheard of [units]", "lowest[units]", "worklost", "why"],
        ["client 0", "4", "3", "1", "1", "0", ""],
        ["client 1", "2", "0", "2", "2", "1", NAN],
        ["client 2", "3", "1", "3 (round 2)", "3", "0", ""],
        ["client 3", "1", "0", "3 (round 0)", "3", "1", SILENT],
    ]
    assert page.count("<h3") == 1
    assert "Online in 10 of 16 device-rounds (62.5 %); " in page


def test_where_nothing_was_lost_there_is_no_column_for_reasons(tmp_path: Path) -> None:
    page = section(page_of(tmp_path, compared(device_trial(["To.", "oT."]))))

    assert [row[-1] for row in Tables(page).rows] == ["worklost", "0", "0", "0"]
    assert Tables(page).rows[-1] == ["client 2", "0", "0", "–", "–", "0"]  # noqa: RUF001


def test_a_page_of_runs_in_process_has_no_devices(tmp_path: Path) -> None:
    page = page_of(tmp_path, two_arms())

    assert 'id="devices"' not in page and "<h3" not in page


def test_the_seed_is_named_where_there_are_several(tmp_path: Path) -> None:
    page = section(page_of(tmp_path, compared(device_trial(ROUNDS, seed=4), device_trial(ROUNDS, seed=7))))

    assert re.findall(r"</svg>(.*)</h3>", page) == ["greedy, seed 4"]


def test_of_a_large_fleet_the_devices_are_shown_with_which_most_went_wrong() -> None:
    letters = ["o"] * (MOST_DEVICES + 10)
    letters[55], letters[58] = "S", "."
    (part,) = device_parts(compared(device_trial(["".join(letters)])))

    shown = [line.label.removeprefix("client ") for line in part.table.lines]
    assert len(shown) == MOST_DEVICES
    assert shown[:2] == ["0", "1"] and shown[-2:] == ["55", "58"]
    assert part.table.caption.startswith(f"{MOST_DEVICES} of {MOST_DEVICES + 10} devices: those that lost the most")


def test_reasons_are_shown_with_how_often_where_there_are_several() -> None:
    (part,) = device_parts(compared(device_trial(["S", "N", "S"])))

    assert part.table.lines[0].cells[-1].text == f"{SILENT} (2); {NAN} (1)"


def test_what_nodes_say_stays_text(tmp_path: Path) -> None:
    evil = "</td><script>alert(1)</script><img src=x onerror=alert(1)>&amp;"
    trial = device_trial(["SS", "oo"])
    facts: dict[str, Any] = {"energy": (3, 3), "asked": (0, 1), "spent": (0, 0)}
    records = [replace(trial.records[0], devices=Devices(**facts, lost={0: evil, 1: SILENT})), trial.records[1]]
    hostile, plain = (page_of(tmp_path, compared(one)) for one in (replace(trial, records=records), trial))

    assert Tables(hostile).tags == Tables(plain).tags
    assert Tables(section(hostile)).rows[1][-1] == evil
