"""Code of the user's own: what it is made of, without running it, and that it is run as it is now."""

from __future__ import annotations

import importlib
import itertools
import os
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

from ehfl import user_code
from ehfl.user_code import needed_by, place_of
from ehfl.validation import UserError

NUMBERS = itertools.count()


class Tree:
    """A folder of modules, to be named {0} in their code: a name that no other test has imported."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.name = f"mine_{next(NUMBERS)}"

    def write(self, file: str, code: str = "") -> Path:
        path = self.folder / file.format(self.name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(code.format(self.name)))
        return path


@pytest.fixture
def tree(tmp_path: Path) -> Iterator[Tree]:
    with user_code.held(str(tmp_path)):  # found there from now on
        pass
    yield Tree(tmp_path)
    with user_code.held("/nowhere"):
        pass


def files(tree: Tree, module: str = "{}") -> set[str]:
    with user_code.held(None):
        found = needed_by([module.format(tree.name)])
    return {place_of(name, file).replace(tree.name, "X") for name, file in found.items()}


@pytest.mark.parametrize(
    ("code", "found"),
    [
        ("import numpy, os, ehfl", {"X.py"}),  # neither installed things, nor Python's, nor ehfl's
        ("import {0}_a", {"X.py", "X_a.py", "X_b.py"}),  # which imports X_b
        ("from {0}_a import LIMIT", {"X.py", "X_a.py", "X_b.py"}),
        ("def f():\n    import {0}_b", {"X.py", "X_b.py"}),
        ("try:\n    import {0}_b\nexcept ImportError:\n    pass", {"X.py", "X_b.py"}),
        ("import {0}_pack.one", {"X.py", "X_pack/__init__.py", "X_pack/one.py", "X_pack/two.py",
                                 "X_pack/deep/x.py"}),
        ("from {0}_pack import two", {"X.py", "X_pack/__init__.py", "X_pack/two.py"}),
        ("from {0}_loose import one", {"X.py", "X_loose/one.py"}),  # a folder without __init__.py
        ("from {0}_loose.inner.one import x", {"X.py", "X_loose/inner/one.py"}),
        ("import {0}_gone, {0}_b.nothing", {"X.py", "X_b.py"}),
        ("from ...beyond import x", {"X.py"}),
    ],
)  # fmt: skip
def test_a_module_is_made_of_what_it_imports_in_turn_from_the_users_tree(
    code: str, found: set[str], tree: Tree
) -> None:
    tree.write("{}.py", code)
    tree.write("{}_a.py", "import {0}_b\nraise RuntimeError('nothing is run')")
    tree.write("{}_b.py")
    tree.write("{}_pack/__init__.py", "raise RuntimeError('nothing is run')")
    tree.write("{}_pack/one.py", "from . import two\nfrom .deep.x import y")
    tree.write("{}_pack/two.py")
    tree.write("{}_pack/deep/x.py", "from .. import two\nimport {0}")
    tree.write("{}_loose/one.py")
    tree.write("{}_loose/inner/one.py")

    assert files(tree) == found


def test_an_edit_is_seen_though_it_is_of_the_same_second_and_length(tree: Tree) -> None:
    tree.write("{}.py", "from {0}_pack.helper import LIMIT")
    tree.write("{}_pack/helper.py", "LIMIT = 3")
    before = user_code.versions(tree.name)
    assert user_code.imported(tree.name).LIMIT == 3
    assert user_code.imported(tree.name) is user_code.imported(tree.name)

    tree.write("{}_pack/helper.py", "LIMIT = 4")

    assert user_code.imported(tree.name).LIMIT == 4
    after = user_code.versions(tree.name)
    assert [name for name in after if after[name] != before[name]] == [f"{tree.name}_pack/helper.py"]


def test_what_was_imported_by_others_is_imported_anew_if_it_may_have_changed_since(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A notebook that has imported its own module and then edits it; but a program's modules stay what they are."""
    monkeypatch.syspath_prepend(tree.folder)
    tree.write("{}.py", "from {0}_helper import LIMIT")
    helper = tree.write("{}_helper.py", "LIMIT = 3")
    os.utime(tree.folder / f"{tree.name}.py", (1e9, 1e9))
    os.utime(helper, (1e9, 1e9))
    first = importlib.import_module(tree.name)

    assert user_code.imported(tree.name) is first

    user_code._loaded.clear()  # as if it had been the program alone that imported it
    tree.write("{}_helper.py", "LIMIT = 4")

    assert user_code.imported(tree.name).LIMIT == 4
    assert first.LIMIT == 3


def test_an_edited_comment_or_docstring_is_no_other_version(tree: Tree) -> None:
    tree.write("{}.py", '"""Old."""\nclass A:\n    """Old."""\n    LIMIT = 3  # old')
    before = user_code.versions(tree.name)

    tree.write("{}.py", '"""New."""\n\n# new\nclass A:\n    LIMIT = 3')
    assert user_code.versions(tree.name) == before
    tree.write("{}.py", '"""New."""\n\n# new\nclass A:\n    LIMIT = 4')
    assert user_code.versions(tree.name) != before
    assert user_code.imported(tree.name).A.LIMIT == 4


def test_modules_that_share_what_has_changed_are_all_imported_anew(tree: Tree) -> None:
    for one in ("{}_a.py", "{}_b.py"):
        tree.write(one, "from {0}_helper import LIMIT")
    tree.write("{}_helper.py", "LIMIT = 3")
    names = [f"{tree.name}_a", f"{tree.name}_b"]
    assert [user_code.imported(name).LIMIT for name in names] == [3, 3]
    tree.write("{}_helper.py", "LIMIT = 4")

    assert [user_code.imported(name).LIMIT for name in names] == [4, 4]


def test_nothing_changes_while_code_is_held(tree: Tree) -> None:
    tree.write("{}.py", "LIMIT = 3")
    with user_code.held(str(tree.folder)):
        before = user_code.versions(tree.name)
        tree.write("{}.py", "LIMIT = 4")

        assert user_code.imported(tree.name).LIMIT == 3
        assert user_code.versions(tree.name) == before
    assert user_code.imported(tree.name).LIMIT == 4


def test_two_folders_may_have_modules_of_one_name(tree: Tree) -> None:
    for folder in ("one", "two"):
        tree.write(f"{folder}/{{}}.py", "from {0}_helper import PLACE")
        tree.write(f"{folder}/{{}}_helper.py", f"PLACE = '{folder}'")
    found = []
    for folder in ("one", "two", "one"):
        with user_code.held(str(tree.folder / folder)):
            found.append(user_code.imported(tree.name).PLACE)

    assert found == ["one", "two", "one"]


def test_what_a_program_has_imported_is_not_taken_for_the_module_beside_a_spec(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.write("{}.py", "from {0}_helper import PLACE")
    tree.write("{}_helper.py", "PLACE = 'beside'")
    tree.write("other/{}_helper.py", "PLACE = 'other'")
    monkeypatch.syspath_prepend(tree.folder / "other")
    helper = f"{tree.name}_helper"

    assert importlib.import_module(helper).PLACE == "other"
    assert user_code.imported(tree.name).PLACE == "beside"


def test_the_folder_comes_before_other_places_but_never_before_python_or_what_is_installed(
    tree: Tree, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree.write("{}.py", "PLACE = 'beside'")
    tree.write("other/{}.py", "PLACE = 'other'")
    tree.write("colorsys.py", "raise RuntimeError")
    tree.write("numpy.py", "raise RuntimeError")
    monkeypatch.syspath_prepend(tree.folder / "other")

    assert user_code.imported(tree.name).PLACE == "beside"
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    assert user_code.imported("colorsys").hls_to_rgb
    assert "site-packages" in str(needed_by(["numpy"])["numpy"])


def test_a_class_without_a_file_cannot_be_watched() -> None:
    with pytest.raises(UserError, match="sys has no file: put the class into one"):
        user_code.versions("sys")
