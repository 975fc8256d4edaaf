"""The table in docs/architecture.md is true: rooms, their order, the libraries and rooms that each imports."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "ehfl"
FILES = [path for path in sorted(SOURCE.rglob("*.py")) if path != SOURCE / "__init__.py"]


@dataclass(frozen=True)
class Room:
    name: str
    libraries: frozenset[str]
    rooms: frozenset[str]


def table() -> list[Room]:
    """Return the rooms that the document lists, in its order."""
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    rows = re.findall(r"^\| `(\w+)` \| [^|]* \|([^|]*)\|([^|]*)\|$", page, re.MULTILINE)
    return [Room(name, *(frozenset(re.findall(r"\w+", cell)) for cell in cells)) for name, *cells in rows]


ROOMS = {room.name: room for room in table()}


def imports(path: Path) -> Iterator[str]:
    """Yield the modules that a file imports, inside functions and for type checkers too."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "ehfl":
            yield from (f"ehfl.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def found(room: str) -> tuple[set[str], set[str]]:
    """Return the libraries and the other rooms that the files of a room import."""
    modules = [module.split(".") for path in FILES if room_of(path) == room for module in imports(path)]
    everywhere = {*sys.stdlib_module_names, "ehfl", "lazy_loader"}  # any room may import its public names lazily
    libraries = {parts[0] for parts in modules if parts[0] not in everywhere}
    inside = {parts[1] for parts in modules if parts[0] == "ehfl" and len(parts) > 1}
    return libraries, inside & ROOMS.keys() - {room}


def test_every_room_is_in_the_table() -> None:
    assert {room_of(path) for path in FILES} == set(ROOMS)


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_what_the_table_says(room: str) -> None:
    libraries, rooms = found(room)

    assert libraries == ROOMS[room].libraries
    assert rooms == ROOMS[room].rooms


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_from_rooms_above_it(room: str) -> None:
    above = list(ROOMS)[: list(ROOMS).index(room)]

    assert ROOMS[room].rooms <= set(above)


HEAVY = ["numpy", "numba", "torch", "matplotlib", "pydantic", "flwr"]


@pytest.mark.parametrize(
    ("code", "absent"),
    [
        ("import ehfl", HEAVY),
        ("import ehfl; ehfl.Sun, ehfl.Wind", ["pvlib", "windpowerlib", "pandas", "numba", "torch"]),
        ("import ehfl; ehfl.Sun(2).watts(0, range(9), range(3), 3600)", ["windpowerlib", "numba", "torch", "pydantic"]),
        ("import ehfl.flower", HEAVY),
        ("from ehfl.cli import app", HEAVY),
        ("import ehfl.analysis; ehfl.analysis.read", ["torch", "numba", "pydantic", "joblib", "matplotlib"]),
        ("from ehfl.experiment import read_spec; read_spec()", ["torch", "numba", "scipy.stats", "scipy.optimize"]),
        ("from ehfl.report import write_report, simulate_output", ["torch", "numba", "pydantic", "joblib"]),
        ("from ehfl.report import simulate_output, comparison_table", ["matplotlib", "jinja2"]),
        (
            "import ehfl, numpy; ehfl.load_task('digits').model(numpy.random.default_rng(0))",
            ["numba", "sklearn", "sympy"],
        ),
        (
            "import ehfl; f = ehfl.Fleet(10, ehfl.Bernoulli(0.5)); ehfl.simulate(f, ehfl.Myopic(), 10)",
            ["numba", "torch", "pydantic"],
        ),
        ("from ehfl.cli import main\ntry: main(['simulate', '--rounds', '3', '--json'])\nexcept SystemExit: print()",
         ["numba", "torch", "joblib", "matplotlib", "scipy.special"]),
    ],
)  # fmt: skip
def test_start_up_leaves_heavy_libraries_alone(code: str, absent: list[str]) -> None:
    check = f"{code}\nimport sys; print([m for m in {absent} if m in sys.modules])"

    out = subprocess.run([sys.executable, "-c", check], capture_output=True, text=True, check=True)

    assert out.stdout.splitlines()[-1] == "[]"


LAZY = ("analysis", "experiment", "flower", "learning", "planning", "report", "runs", "scheduling", "theory")


@pytest.mark.parametrize("package", ["ehfl", *(f"ehfl.{room}" for room in LAZY)])
def test_names_that_are_imported_lazily_are_all_there(package: str) -> None:
    module = __import__(package, fromlist=["x"])

    assert all(getattr(module, name) is not None for name in module.__all__)
    assert set(module.__all__) <= set(dir(module))
    with pytest.raises(AttributeError, match="nothing"):
        _ = module.nothing


def test_no_two_files_of_a_folder_differ_by_one_letter() -> None:
    names = {path.parent: [other.stem for other in path.parent.iterdir()] for path in FILES}
    for folder, stems in names.items():
        twins = [(a, b) for a in stems for b in stems if b == f"{a}s"]
        assert not twins, f"{folder.name}: {twins}"


def test_one_file_imports_what_is_not_public_in_flower() -> None:
    public = ("flwr", "flwr.app", "flwr.clientapp", "flwr.serverapp", "flwr.simulation")
    hidden = {
        path.name for path in FILES for module in imports(path) if module.startswith("flwr") and module not in public
    }

    assert hidden == {"internals.py"}
