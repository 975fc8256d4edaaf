"""How fast commands are against an earlier commit of ehfl: both measured in one run, on this machine, in turns.

    make bench                      or  python -m benchmarks.earlier [--commit bd39278] [--repeats 5] [--only simulate]

The earlier sources are taken out of git into a temporary folder and run by the same Python with the same libraries. A
command is measured from its start to its end, imports included, as a user waits for it. These machines are noisy, so
only the ratio of the medians means something.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from io import BytesIO
from pathlib import Path

from benchmarks.fleet import seconds

ROOT = Path(__file__).parents[1]
SUN = ["--harvest", "sun:0.5", "--round-length", "1 h", "--capacity", "1 Wh", "--cost", "300 J"]
COMMANDS = {
    "simulate": ("3 schedulers, 10 clients", ["simulate", "-s", "myopic", "-s", "greedy", "-s", "round-robin:1"]),
    "year": (
        "a year of 1,000 nodes, 3 schedulers, 3 seeds",
        ["plan", "--clients", "1000", *SUN, "-s", "myopic", "-s", "greedy", "-s", "threshold", "--seeds", "3"],
    ),
}


def sources_of(commit: str, place: Path) -> Path:
    """Write the sources of a commit into a folder, and return the folder to import from."""
    packed = subprocess.run(["git", "archive", commit, "src"], cwd=ROOT, capture_output=True, check=True).stdout
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        archive.extractall(place, filter="data")
    return place / "src"


def run(source: Path, arguments: list[str]) -> None:
    environment = os.environ | {"PYTHONPATH": str(source)}
    command = [sys.executable, "-m", "ehfl", *arguments, "--json"]
    # In a folder without modules, so that nothing but `source` is imported.
    subprocess.run(command, cwd=source.parent, env=environment, check=True, capture_output=True)


def main() -> None:
    parser = argparse.ArgumentParser(description="Commands against an earlier commit of ehfl.")
    parser.add_argument("--commit", default="bd39278")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", choices=COMMANDS, nargs="+", default=list(COMMANDS))
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        try:
            earlier = sources_of(asked.commit, Path(folder))
        except (OSError, subprocess.CalledProcessError):
            print(f"left out: git does not know {asked.commit} here")
            return
        for name in asked.only:
            about, arguments = COMMANDS[name]
            turns = []
            for _ in range(asked.repeats + 1):  # the first compiles and fills caches, and is not counted
                turns.append([seconds(lambda: run(source, arguments)) for source in (earlier, ROOT / "src")])  # noqa: B023
            before, after = (statistics.median(turn) for turn in zip(*turns[1:], strict=True))
            print(
                f"{name:<10} {about:<46} {before:6.2f} s at {asked.commit}, {after:6.2f} s now: {before / after:.2f}x"
            )


if __name__ == "__main__":
    main()
