"""A room imports only from rooms above it; heavy libraries stay where they belong."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "ehfl"
# From the ground up: a room may import itself and what stands before it.
ROOMS = [
    "validation",
    "files",
    "randomness",
    "compiled",
    "energy",
    "scheduling",
    "theory",
    "history",
    "partition",
    "learning",
    "experiment",
    "report",
    "cli",
    "__main__",
]
HOMES = {
    "numba": {"compiled", "energy", "scheduling"},
    "matplotlib": {"report"},
    "typer": {"cli"},
    "torch": {"learning"},
}


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" if node.module == "ehfl" else node.module for alias in node.names}
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


FILES = [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "__init__.py"]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_a_room_imports_only_from_rooms_below_it(path: Path) -> None:
    room = room_of(path)
    for module in imports(path):
        parts = module.split(".")
        if parts[0] == "ehfl" and len(parts) > 1 and parts[1] in ROOMS:
            assert ROOMS.index(parts[1]) <= ROOMS.index(room), f"{room} imports {module}"
        if parts[0] in HOMES:
            assert room in HOMES[parts[0]], f"{room} imports {module}"


def test_every_room_is_known() -> None:
    assert {room_of(path) for path in FILES} == set(ROOMS)


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import ehfl", ["numpy", "numba", "torch", "matplotlib"]),
        ("from ehfl.cli import app", ["numpy", "numba", "torch", "matplotlib"]),
        ("import ehfl.experiment, ehfl.report.writing", ["torch", "numba", "scipy.stats", "scipy.optimize"]),
        (
            "import ehfl, numpy; ehfl.load_task('digits').model(numpy.random.default_rng(0))",
            ["numba", "sklearn", "sympy"],
        ),
        (
            "import ehfl; f = ehfl.Fleet(10, ehfl.Bernoulli(0.5)); ehfl.simulate(f, ehfl.Myopic(), 10)",
            ["numba", "torch"],
        ),
    ],
)
def test_start_up_leaves_heavy_libraries_alone(code: str, absent: list[str]) -> None:
    check = f"{code}\nimport sys; print([m for m in {absent} if m in sys.modules])"

    out = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)

    assert out.stdout.strip() == "[]"


def test_public_names_are_all_there() -> None:
    import ehfl

    assert all(getattr(ehfl, name) is not None for name in ehfl.__all__)
    assert set(ehfl.__all__) <= set(dir(ehfl))
    with pytest.raises(AttributeError, match="nothing"):
        _ = ehfl.nothing
