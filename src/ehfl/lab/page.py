"""The lab's page, made with NiceGUI: all scripts come with the package, and the browser talks to 127.0.0.1 alone."""

from __future__ import annotations

import asyncio
import datetime
import socket
from collections.abc import Callable
from dataclasses import fields
from typing import Any

from nicegui import app, run, ui
from starlette.middleware.trustedhost import TrustedHostMiddleware

from ehfl.lab.year import SCHEDULERS, SITES, Nodes, Year, play_year
from ehfl.planning.budget import MONTHS
from ehfl.validation import UserError

HOST = "127.0.0.1"
# What a slider is called, its unit, and the values that it stops at.
SLIDERS: dict[str, tuple[str, str, tuple[float, ...]]] = {
    "watts": ("Panel", "W", (0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.5, 0.75, 1, 1.5, 2, 3, 5)),
    "battery": ("Battery", "Wh", (0.1, 0.2, 0.5, 1, 2, 3, 5, 10, 20, 50)),
    "cost": ("Cost of a turn", "J", (10, 20, 50, 100, 200, 300, 500, 1000, 2000, 5000)),
    "clients": ("Clients", "", (5, 10, 20, 50, 100, 150, 200, 300, 500)),
    "target": ("Target", "a round", (1, 2, 3, 5, 8, 10, 15, 20, 30, 50, 100)),
}
_NUMBERS: dict[str, tuple[str, Callable[[Year], str]]] = {
    "on-target": ("rounds on target", lambda year: f"{100 * year.on_target:.1f} %"),
    "mean": ("clients a round", lambda year: f"{year.mean:.2f}"),
    "empty": ("empty rounds", lambda year: f"{year.empty:,}"),
    "wasted": ("harvest wasted", lambda year: f"{100 * year.wasted:.1f} %"),
}
_BLUE, _SCALE = "#0072B2", ["#00204d", "#7c7b78", "#ffea46"]  # cividis, as in the reports


def serve(port: int, *, show: bool, say: Callable[[str], object]) -> None:
    """Serve the page until it is stopped; port 0 is any free one."""
    port = _free(port)
    for site in SITES:  # whose weather is made now, so that answers come at once
        play_year(Nodes(site=site))
    # A site that binds its name to 127.0.0.1 sends that name as Host.
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"])

    async def announce() -> None:
        """Name the address once it answers: NiceGUI starts its handlers before it listens."""
        while not await _answers(port):
            await asyncio.sleep(0.05)
        say(f"http://{HOST}:{port}/ is the lab; Ctrl-C stops")

    app.on_startup(announce)
    ui.page("/")(_Page)
    ui.run(host=HOST, port=port, show=show, reload=False, title="ehfl lab", show_welcome_message=False)


def _free(port: int) -> int:
    """Return the port, or a free one for 0; refuse one that is in use."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise UserError(f"--port {port} cannot be used ({error.strerror}): --port 0 takes a free one") from None
        return int(probe.getsockname()[1])


async def _answers(port: int) -> bool:
    try:
        _, writer = await asyncio.open_connection(HOST, port)
    except OSError:
        return False
    writer.close()
    return True


class _Page:
    """One reader's page: what is asked, and the answer to it."""

    def __init__(self) -> None:
        self._asked: dict[str, Any] = {one.name: one.default for one in fields(Nodes)}
        self._busy = self._again = False
        with ui.element("main").classes("w-full max-w-6xl mx-auto p-2"):
            ui.label("A year of a fleet on the sun").classes("text-2xl").props("role=heading aria-level=1")
            with ui.element("div").classes("grid grid-cols-1 md:grid-cols-[18rem_1fr] gap-6 w-full mt-4"):
                with ui.column().classes("w-full gap-1"):
                    for name in SLIDERS:
                        self._add_slider(name)
                    self._add_choice("scheduler", "Scheduler", SCHEDULERS)
                    self._add_choice("site", "Site", SITES)
                with ui.column().classes("w-full min-w-0 gap-2"):
                    self._fault = ui.label().classes("fault text-red-700").props("role=alert")
                    with ui.row().classes("gap-8"):
                        self._numbers = {name: _number(name, said) for name, (said, _) in _NUMBERS.items()}
                    self._days = ui.echart(_days_chart()).classes("w-full h-56")
                    self._hours = ui.echart(_hours_chart()).classes("w-full h-72")
                    ui.label("The spec: save it as lab.toml, then run ehfl plan lab.toml").classes("mt-2")
                    self._spec = ui.code("", language="toml").classes("spec w-full")
        ui.timer(0, self._update, once=True)

    def _add_slider(self, name: str) -> None:
        said, unit, stops = SLIDERS[name]
        label = ui.label(f"{said}: {self._asked[name]:g} {unit}").classes("mt-2")

        async def change(place: float) -> None:
            self._asked[name] = stops[int(place)]
            label.text = f"{said}: {self._asked[name]:,g} {unit}"
            await self._update()

        first = stops.index(self._asked[name])
        slider = ui.slider(min=0, max=len(stops) - 1, step=1, value=first, on_change=lambda event: change(event.value))
        slider.props(f'aria-label="{said}" snap markers').classes("px-2")

    def _add_choice(self, name: str, said: str, choices: tuple[str, ...]) -> None:
        async def change(value: str) -> None:
            self._asked[name] = value
            await self._update()

        ui.select(list(choices), value=self._asked[name], label=said, on_change=lambda event: change(event.value)) \
            .classes("w-full")  # fmt: skip

    async def _update(self) -> None:
        """Play what is asked now; what was asked meanwhile is played next, and only the last of it."""
        self._again = True
        if self._busy:
            return
        self._busy = True
        try:
            while self._again:
                self._again = False
                self._show(await run.io_bound(_played, Nodes(**self._asked)))
        finally:
            self._busy = False

    def _show(self, found: Year | str | None) -> None:
        self._fault.text = found if isinstance(found, str) else ""
        if not isinstance(found, Year):
            return
        for name, (_, text) in _NUMBERS.items():
            self._numbers[name].text = text(found)
        days, hours = self._days.options["series"][0], self._hours.options["series"][0]
        days["data"] = [round(float(x), 2) for x in found.by_day]
        days["markLine"]["data"] = [{"yAxis": self._asked["target"], "name": "target"}]
        hours["data"] = [[hour, month, round(100 * float(found.by_hour[month, hour]), 1)]
                         for month in range(12) for hour in range(24)]  # fmt: skip
        self._days.update()
        self._hours.update()
        self._spec.content = found.spec


def _played(nodes: Nodes) -> Year | str:
    try:
        return play_year(nodes)
    except UserError as error:
        return str(error)


def _number(name: str, said: str) -> ui.label:
    with ui.column().classes("gap-0"):
        shown = ui.label("...").classes(f"{name} text-3xl")
        ui.label(said).classes("text-sm")
    return shown


def _days_chart() -> dict[str, Any]:
    names = [""] * 365
    for month in range(0, 12, 2):  # a small screen has no room for all twelve
        names[datetime.date(2001, month + 1, 1).timetuple().tm_yday - 1] = MONTHS[month][:3].capitalize()
    target = {"symbol": "none", "lineStyle": {"color": "#444"}, "label": {"formatter": "target"}, "data": []}
    line = {"type": "line", "data": [], "showSymbol": False, "lineStyle": {"width": 1}, "color": _BLUE}
    return {
        "animation": False,
        "title": {"text": "Clients a round, mean of each day", "textStyle": {"fontSize": 13}},
        "grid": {"left": 40, "right": 50, "top": 36, "bottom": 24},
        "xAxis": {"type": "category", "data": names, "axisLabel": {"interval": 0}, "axisTick": {"show": False}},
        "yAxis": {"type": "value", "min": 0},
        "series": [line | {"markLine": target}],
    }


def _hours_chart() -> dict[str, Any]:
    return {
        "animation": False,
        "title": {"text": "Rounds on target [%], by month and hour", "textStyle": {"fontSize": 13}},
        "grid": {"left": 40, "right": 70, "top": 36, "bottom": 24},
        "tooltip": {},
        "xAxis": {"type": "category", "data": list(range(24))},
        "yAxis": {"type": "category", "data": [month[:3].capitalize() for month in MONTHS], "inverse": True},
        "visualMap": {
            "min": 0,
            "max": 100,
            "text": ["100", "0"],
            "right": 0,
            "top": "middle",
            "inRange": {"color": _SCALE},
        },
        "series": [{"type": "heatmap", "data": []}],
    }
