"""The lab's page in chromium: a slider moved, a number changed, and nothing came from elsewhere."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator

import pytest

from ehfl import extras
from ehfl.cli import main


def test_without_the_extra_it_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda module: None)
    with pytest.raises(SystemExit) as stop:
        main(["lab"])

    assert stop.value.code == 2
    assert capsys.readouterr().err == "ehfl: error: ehfl lab needs nicegui: pip install 'ehfl[lab]'\n"


def test_a_port_in_use_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("nicegui")
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(SystemExit) as stop:
            main(["lab", "--port", str(port)])

    assert stop.value.code == 2
    expected = f"ehfl: error: --port {port} cannot be used (Address already in use): --port 0 takes a free one\n"
    assert capsys.readouterr().err == expected


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    pytest.importorskip("nicegui")
    folder = tmp_path_factory.mktemp("lab")
    settings = {name: value for name, value in os.environ.items() if name != "PYTEST_CURRENT_TEST"}  # NiceGUI reads it
    lab = subprocess.Popen(
        [sys.executable, "-m", "ehfl", "lab", "--port", "0"],
        cwd=folder, env=settings, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert lab.stdout is not None
    with lab, lab.stdout:
        try:
            yield lab.stdout.readline().split()[0]
        finally:
            lab.terminate()
            lab.wait(20)
    assert not list(folder.iterdir())


def test_a_slider_changes_the_numbers_and_the_spec(address: str) -> None:
    api = pytest.importorskip("playwright.sync_api", reason="no playwright: pip install 'ehfl[dev]'")
    chromium = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if chromium is None:
        pytest.skip("no chromium: apt-get install chromium")
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        asked: set[str] = set()
        wrong: list[str] = []
        page.on("request", lambda request: asked.add(request.url.split("/")[2]))
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(address)
        share = page.locator(".on-target")

        api.expect(share).to_have_text(re.compile(r"^\d+\.\d %$"), timeout=30_000)
        before = share.inner_text()
        page.get_by_role("slider", name="Panel").locator("[tabindex]").press("ArrowLeft")
        api.expect(page.get_by_text("Panel: 0.1 W")).to_be_visible()
        api.expect(share).not_to_have_text(before, timeout=30_000)
        assert float(share.inner_text().removesuffix(" %")) < float(before.removesuffix(" %"))
        api.expect(page.locator(".spec")).to_contain_text("watts = 0.1")
        clients = page.get_by_role("slider", name="Clients").locator("[tabindex]")
        for count in (20, 10, 5):  # of which 10 are wanted; a press while the answer comes back would be lost
            clients.press("ArrowLeft")
            api.expect(page.get_by_text(f"Clients: {count}", exact=True)).to_be_visible()
        api.expect(page.get_by_role("alert")).to_contain_text("target must be", timeout=30_000)
        browser.close()
    assert asked == {address.split("/")[2]} and wrong == []


def test_other_names_for_this_machine_are_refused(address: str) -> None:
    request = urllib.request.Request(address, headers={"Host": "evil.example"})
    with pytest.raises(urllib.error.HTTPError, match="400") as caught:
        urllib.request.urlopen(request)
    caught.value.close()
