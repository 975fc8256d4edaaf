"""The page of `ehfl view` in chromium: filter, runs, report."""

from __future__ import annotations

import shutil
from pathlib import Path
from threading import Thread

import pytest

import ehfl
from ehfl.experiment import make_spec, run_all
from ehfl.report.pages.comparison import write_page
from ehfl.view.server import Server

pytest.importorskip("playwright.sync_api", reason="no playwright: pip install 'ehfl[dev]'")
from playwright import sync_api as api

EVIL = "<img src=x>"


def test_runs_are_listed_filtered_and_opened(tmp_path: Path) -> None:
    fields = {"rounds": 3, "fleet": {"clients": 3}, "learning": {"task": "quadratic"}, "seeds": 1}
    spec = make_spec({**fields, "name": "first", "arms": [{"label": EVIL, "scheduler": "greedy"}]})
    run_all(spec, tmp_path / "first", jobs=1)
    page_path = tmp_path / "first" / "report.html"
    write_page(ehfl.read(tmp_path / "first"), [], page_path, spec="", facts={}, commands=[])
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "plan.html").write_text("<title>a plan</title>")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("no chromium: apt-get install chromium")
    with Server(tmp_path, 0) as server, api.sync_playwright() as playwright:
        Thread(target=server.serve_forever, daemon=True).start()
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        wrong: list[str] = []
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(server.address)
        rows = page.locator("#entries tbody tr")

        api.expect(rows).to_have_count(2)
        page.get_by_label("filter by name").fill("FIR")
        api.expect(rows).to_have_count(1)
        page.get_by_role("button", name="first").click()
        api.expect(page.locator("#runs tbody")).to_contain_text(f"{EVIL}, seed 0")  # a label is text, never markup
        api.expect(page.locator("#batteries rect")).to_have_count(3)
        api.expect(page.locator("#curves path")).to_have_count(2)  # the axes and one run
        with page.expect_popup() as opened:
            page.get_by_role("link", name="report").click()
        api.expect(opened.value.locator("h1")).to_have_text("first")
        assert opened.value.locator(".plot svg").count() == 1  # drawn by its script, in its sandbox
        page.get_by_label("kind").select_option("plan")
        api.expect(rows).to_have_count(0)
        with (tmp_path / "first" / "spec.toml").open("a") as spec_file:
            spec_file.write("rounds = 4\n")
        page.reload()
        api.expect(rows.filter(has_text="first")).to_contain_text("damaged")
        api.expect(rows.get_by_text("checksum mismatch").or_(rows.get_by_text("is damaged"))).to_be_visible()
        browser.close()
        server.shutdown()
        assert wrong == []
