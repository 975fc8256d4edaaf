"""The Flower App project of an experiment: what is in the bundle that Flower makes of it, and where it is written."""

from __future__ import annotations

import sys
import tomllib
import zipfile
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from flwr.cli.build import build_fab_from_disk
from flwr.cli.config_utils import load_and_validate

from ehfl.experiment import Spec, read_spec
from ehfl.flower.app.project import write_app
from ehfl.validation import InvalidValue, UserError

pytestmark = pytest.mark.filterwarnings("ignore:GitWildMatchPattern:DeprecationWarning")  # in Flower's own code

RESERVE = """from {helper} import least
class Reserve:
    def select(self, view):
        import numpy as np
        return np.flatnonzero(view.energy >= view.cost + least)
"""


def spec_with(folder: Path, module: str, helper: str, **files: str) -> Spec:
    """Return a spec whose scheduler is the user's own, in a module that imports another one."""
    folder.mkdir()
    code = {f"{module}.py": RESERVE.format(helper=helper.replace("/", ".")), f"{helper}.py": "least = 2\n"}
    for name, text in {**code, "own.toml": f'scheduler = "{module}:Reserve"\nseeds = [7]\n', **files}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return read_spec(folder / "own.toml")


def bundled(folder: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(BytesIO(build_fab_from_disk(folder))) as inside:
        return {name: inside.read(name) for name in inside.namelist()}


def config(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text())["tool"]["flwr"]["app"]["config"]
    return found


def test_flower_takes_the_project_without_a_word_and_bundles_all_of_it(tmp_path: Path) -> None:
    write_app(tmp_path / "app", read_spec(None, ["fleet.clients=3"]), Path("runs"))

    facts, warnings = load_and_validate(tmp_path / "app" / "pyproject.toml")  # looks for the modules, too
    sys.modules.pop("ehfl_app", None)

    assert warnings == []
    assert facts["tool"]["flwr"]["app"]["publisher"] == "ehfl"
    assert set(bundled(tmp_path / "app")) == {
        "pyproject.toml", "README.md", "spec.toml", "arms.toml", "ehfl_app/__init__.py", "ehfl_app/server_app.py",
        "ehfl_app/client_app.py", ".info/CONTENT",
    }  # fmt: skip
    assert config(tmp_path / "app") == {"runs": str(Path("runs").absolute()), "arm": "myopic", "seed": 0}


def test_the_bundled_spec_is_the_one_that_was_given_with_paths_that_hold_elsewhere(tmp_path: Path) -> None:
    (tmp_path / "rates.csv").write_text("0.1\n0.9\n")
    (tmp_path / "sun.csv").write_text("1,0\n0,1\n")
    (tmp_path / "mine.toml").write_text(
        'rounds = 2\ntarget = 1\nfleet.harvest = "replay:sun.csv"\nlearning.data = "here"\nseeds = 2\n'
    )
    spec = read_spec(tmp_path / "mine.toml")
    write_app(tmp_path / "app", spec, tmp_path / "runs", arm="greedy", seed=1)

    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "spec.toml").write_bytes(bundled(tmp_path / "app")["spec.toml"])
    again = read_spec(tmp_path / "elsewhere" / "spec.toml")

    assert again.facts() == spec.facts()
    assert config(tmp_path / "app") == {"runs": str(tmp_path / "runs"), "arm": "greedy", "seed": 1}
    told = (tmp_path / "app" / "README.md").read_text()
    assert f"`{tmp_path / 'sun.csv'}`, which the spec names" in told
    assert f"`{tmp_path / 'here'}`, which the spec names" in told


def test_code_of_the_users_own_comes_along_and_is_found_beside_the_spec(tmp_path: Path) -> None:
    spec = spec_with(tmp_path / "mine", "own_reserve_a", "deep/own_least_a")
    write_app(tmp_path / "app", spec, tmp_path / "runs")

    inside = bundled(tmp_path / "app")
    assert inside["own_reserve_a.py"] == (tmp_path / "mine" / "own_reserve_a.py").read_bytes()
    assert inside["deep/own_least_a.py"] == b"least = 2\n"
    assert "code" not in tomllib.loads(inside["spec.toml"].decode())
    assert "license" not in tomllib.loads(inside["pyproject.toml"].decode())["project"]


@pytest.mark.parametrize(("clients", "shown"), [(1, [0]), (3, [0, 1])])
def test_the_readme_starts_nodes_that_the_spec_has(clients: int, shown: list[int], tmp_path: Path) -> None:
    write_app(tmp_path / "app", read_spec(None, [f"fleet.clients={clients}", "target=1"]), tmp_path / "runs")

    told = (tmp_path / "app" / "README.md").read_text()
    assert [client for client in range(4) if f"client-id={client} state='ledgers-{client}'" in told] == shown
    assert f"from 0 to {clients - 1}" in told


def test_modules_that_are_installed_are_named_and_not_copied(tmp_path: Path) -> None:
    write_app(tmp_path / "app", read_spec(None, ["scheduler=ehfl.scheduling:Greedy"]), tmp_path / "runs")

    assert "the module `ehfl.scheduling`, which is installed here" in (tmp_path / "app" / "README.md").read_text()
    assert not (tmp_path / "app" / "ehfl").exists()


@pytest.mark.parametrize("helper", ["test_own_b", "parts/own_b"])
def test_code_that_flower_would_leave_out_is_refused_and_nothing_is_written(tmp_path: Path, helper: str) -> None:
    module = f"own_reserve_{helper.replace('/', '_')}"
    spec = spec_with(tmp_path / "mine", module, helper)

    with pytest.raises(UserError, match=rf"{helper}\.py would be left out of a Flower App"):
        write_app(tmp_path / "app", spec, tmp_path / "runs")

    assert not (tmp_path / "app").exists()


def test_an_app_that_is_too_large_for_flower_is_refused_in_its_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("flwr.cli.build.FAB_MAX_SIZE", 10)

    with pytest.raises(UserError, match="Flower does not take this app: FAB size exceeds maximum allowed size of 10"):
        write_app(tmp_path / "app", read_spec(), tmp_path / "runs")

    assert not (tmp_path / "app").exists()


def test_code_by_the_name_of_the_apps_package_is_refused(tmp_path: Path) -> None:
    spec = spec_with(tmp_path / "mine", "ehfl_app", "own_least_c")

    with pytest.raises(UserError, match="has the name of the app's own package"):
        write_app(tmp_path / "app", spec, tmp_path / "runs")
    sys.modules.pop("ehfl_app")  # Flower's check of other tests' apps would find it


def test_an_app_is_written_anew_and_keeps_what_the_user_added(tmp_path: Path) -> None:
    app = tmp_path / "app"
    write_app(app, spec_with(tmp_path / "mine", "own_reserve_d", "own_least_d"), tmp_path / "runs")
    (app / "notes.md").write_text("mine")

    write_app(app, read_spec(), tmp_path / "elsewhere")

    assert not (app / "own_reserve_d.py").exists()
    assert (app / "notes.md").read_text() == "mine"
    assert config(app)["runs"] == str(tmp_path / "elsewhere")


def test_what_the_user_changed_is_never_overwritten(tmp_path: Path) -> None:
    write_app(tmp_path, read_spec(), tmp_path / "runs")
    (tmp_path / "ehfl_app" / "client_app.py").write_text("mine")

    with pytest.raises(UserError, match=r"client_app\.py was changed since ehfl wrote it"):
        write_app(tmp_path, read_spec(None, ["rounds=3"]), tmp_path / "runs")

    assert (tmp_path / "ehfl_app" / "client_app.py").read_text() == "mine"


@pytest.mark.parametrize("name", ["notes.txt", "pyproject.toml"])
def test_a_folder_of_somebody_elses_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("[project]\n")

    with pytest.raises(InvalidValue, match="folder must be empty, or an app that ehfl wrote, unedited"):
        write_app(tmp_path, read_spec(), tmp_path / "runs")

    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_arms_that_the_spec_does_not_have_and_seeds_that_are_none_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidValue, match="arm must be one of myopic, round-robin, greedy, always-on, got mypoic"):
        write_app(tmp_path, read_spec({}), tmp_path / "runs", arm="mypoic")
    with pytest.raises(InvalidValue, match="seed must be a whole number >= 0, got -1"):
        write_app(tmp_path, read_spec(), tmp_path / "runs", seed=-1)


def test_long_and_strange_names_of_experiments_become_names_that_flower_takes(tmp_path: Path) -> None:
    write_app(tmp_path, read_spec(None, ["name=9_solar.panels-and-a-name-of-many-letters_"]), tmp_path / "runs")

    assert load_and_validate(tmp_path / "pyproject.toml")[0]["project"]["name"] == "ehfl-9-solar-panels-and-a-name-o"
    assert bundled(tmp_path)
