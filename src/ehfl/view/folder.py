"""What lies in a folder of runs: comparisons, single runs, plans and reports; what of it a browser may read."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from threading import Lock

from ehfl.runs import SPEC, Facts, RunFolder, folder_name, read_comparison
from ehfl.validation import UserError, one_line
from ehfl.view.progress import UNREADABLE, Progress

PAGES = {"report.html": "report", "plan.html": "plan"}  # and what a folder that only has a page is called
TYPES = {
    ".html": "text/html; charset=utf-8", ".png": "image/png", ".svg": "image/svg+xml", ".pdf": "application/pdf",
    ".csv": "text/csv; charset=utf-8", ".json": "application/json", ".txt": "text/plain; charset=utf-8",
    ".toml": "text/plain; charset=utf-8",
}  # fmt: skip
_DEPTH = 4  # of folders in folders
_ORDER = ("damaged", "failed", "running", "stopped", "waiting", "finished")  # what a comparison's status is named after


class Folder:
    """A folder of runs. Nothing in it is ever written."""

    def __init__(self, root: Path) -> None:
        self.root = root.resolve()
        self._followed: dict[Path, dict[str, Progress]] = {}
        self._lock = Lock()  # requests come in threads

    def entries(self) -> list[Facts]:
        """Return what the folder holds, the latest change first."""
        with self._lock:
            found = [self._entry(path, kind) for path, kind in self._found()]
        return sorted(found, key=lambda one: -one["changed"])

    def runs(self, path: str, chosen: str = "") -> Facts:
        """Return the state of every run of a comparison, and the batteries of the chosen one."""
        place = self._inside(path)
        if place is None or not place.is_dir():
            raise FileNotFoundError(path)
        with self._lock:
            try:
                followed = self._follow(place)
            except UNREADABLE as error:
                return {"runs": [], "fault": one_line(error)}
            states = [one.read() for one in followed.values()]
            return {"runs": states, "batteries": followed[chosen].batteries() if chosen in followed else None}

    def file(self, path: str) -> Path | None:
        """Return a file that a browser may read: a page, a figure or a table in the folder, by its real path."""
        place = self._inside(path)
        return place if place is not None and place.suffix in TYPES and place.is_file() else None

    def _inside(self, path: str) -> Path | None:
        """Return a path below the root; None for any other, by "..", by an absolute path or by a link."""
        try:
            place = (self.root / path).resolve()
            parts = place.relative_to(self.root).parts
        except (OSError, ValueError, RuntimeError):  # outside, a null byte, a circle of links
            return None
        return None if any(part.startswith(".") for part in parts) else place

    def _found(self) -> Iterator[tuple[Path, str]]:
        """Yield the folders of comparisons, runs and plans; what is in a comparison's folder belongs to it."""
        for name, folders, files in os.walk(self.root):
            place = Path(name)
            folders[:] = sorted(one for one in folders if not one.startswith("."))
            if "meta.json" in files:
                yield place, "run"
                folders.clear()
            elif SPEC in files:
                yield place, "comparison"
                folders.clear()
            else:
                yield from ((place, kind) for page, kind in PAGES.items() if page in files)
                if len(place.relative_to(self.root).parts) == _DEPTH:
                    folders.clear()

    def _entry(self, place: Path, kind: str) -> Facts:
        path = place.relative_to(self.root).as_posix()
        pages = [page for page in PAGES if (place / page).is_file()]
        entry: Facts = {"path": path, "name": place.name, "kind": kind, "status": "finished", "why": "", "runs": {},
                 "page": f"{path}/{pages[0]}" if pages else None, "changed": _changed(place)}  # fmt: skip
        if kind in PAGES.values():
            return entry
        try:
            found = [one.status()[:2] for one in self._follow(place).values()]
        except UNREADABLE as error:
            return entry | {"status": "damaged", "why": one_line(error)}
        counts = Counter(status for status, _ in found)
        status = next((one for one in _ORDER if counts[one]), "waiting")
        why = next((why for one, why in found if one == status), "")
        return entry | {"status": status, "why": why, "runs": dict(counts)}

    def _follow(self, place: Path) -> dict[str, Progress]:
        """Return the runs that a folder's spec names, by the names of their folders."""
        run = RunFolder(place)
        single = (place / "meta.json").exists()
        spec = run.facts() if single else read_comparison(place)[0]
        if spec is None:
            raise UserError(f"{place} has no {SPEC}")
        before, found = self._followed.get(place, {}), {}
        for arm in spec["arms"]:
            for seed in spec["seeds"]:
                folder = run if single else RunFolder(place / folder_name(arm["label"], seed))
                rounds = int(arm.get("rounds", spec["rounds"]))
                name = folder.path.name
                found[name] = before.get(name) or Progress(arm["label"], int(seed), rounds, folder)
        self._followed[place] = found
        return found


def _changed(place: Path) -> float:
    """Return when something was last written in a folder or in those of its runs [s]."""
    places = [place, *place.glob("*.html"), *place.glob("rounds.jsonl"), *place.glob("*/rounds.jsonl")]
    return max((one.stat().st_mtime for one in places if one.exists()), default=0.0)
