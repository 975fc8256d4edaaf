"""The package as users install it: wheel and sdist, built and tried in an environment that holds nothing else."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PLAN = "plan --clients 4 --harvest sun:0.5 --capacity 1Wh --cost 300J --round-length 6h --seeds 1 --json"
SMALL = [
    "--version",
    "simulate --rounds 20",
    PLAN,
    "bound",
    "audit --energy-only",
    "devices",
    "harvest show bernoulli:0.5",
]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    subprocess.run(
        [sys.executable, "-m", "build", "--outdir", folder, ROOT], check=True, capture_output=True, timeout=300
    )
    return folder


@pytest.mark.slow
def test_the_sdist_has_what_the_tests_read(built: Path) -> None:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert {
        "README.md",
        "CITATION.cff",
        "LICENSE",
        "Makefile",
        "src/ehfl/energy/profiles.toml",
        "docs/conf.py",
    } <= names
    assert not any(name.startswith((".ci", "runs", "docs/_build")) for name in names)


@pytest.mark.slow
def test_the_wheel_alone_simulates_plans_audits_and_bounds(built: Path, tmp_path: Path) -> None:
    (wheel,) = built.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--quiet", str(wheel)]
    subprocess.run(install, check=True, capture_output=True, timeout=600)

    def run(command: str) -> subprocess.CompletedProcess[str]:
        words = [str(python.with_name("ehfl")), *command.split()]
        return subprocess.run(words, capture_output=True, text=True, check=False, cwd=tmp_path, timeout=120)

    for command in SMALL:
        ended = run(command)
        assert ended.returncode == 0, f"{command}: {ended.stderr}"
        assert ended.stdout, command
    heavy = "import importlib.util as u; print([n for n in ('torch', 'numba') if u.find_spec(n)])"
    found = subprocess.run([str(python), "-c", heavy], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
    for command, extra in (("train", "learn"), ("compare", "learn"), ("simulate --clients 5000", "fast")):
        ended = run(command)
        assert (ended.returncode, ended.stderr.count("\n")) == (2, 1)
        assert f"pip install 'ehfl[{extra}]'" in ended.stderr
    ended = subprocess.run([str(python), "-c", "import ehfl; ehfl.train"], capture_output=True, text=True, check=False)
    assert "MissingExtra: training needs torch, safetensors and pooch: pip install 'ehfl[learn]'" in ended.stderr
