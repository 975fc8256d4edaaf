"""Code of the user's own that raises, returns the wrong things, prints, leaves or changes what it was given."""

from __future__ import annotations

import ast
import re
import shlex
import warnings
from collections.abc import Iterator
from pathlib import Path
from random import Random
from textwrap import indent

from .judging import Outcome, call, files_in, judge

EXAMPLES = Path(__file__).parents[1] / "experiment" / "own_things.py"

# What may stand at the beginning of a method, or of the module.
RESULTS = (
    "None", "0", "1", "-1", "0.5", "float('nan')", "float('inf')", "'text'", "b''", "[]", "{}", "()", "[0, 0]", "[5]",
    "[-1]", "[0.5]", "[True]", "['a']", "[None]", "[[0]]", "[[0, 1], [2]]", "(1, 2, 3)", "object", "object()", "...",
    "np.array(0)", "np.array([])", "np.array([0.0])", "np.array([True, False, True])", "np.array([0, 1, 2])",
    "np.array([[0, 1, 2]])", "np.full(3, np.nan)", "np.full(3, -1)", "np.full(3, 2**40)", "np.full((3, 3), 1 << 62)",
    "np.array([2, 1, 0])", "np.array([0, 0, 1])", "np.ones(3)", "np.ones((3, 3))", "np.ones((2, 3), int)", "iter([])",
    "torch.tensor(float('nan'))", "torch.tensor(1.0)", "torch.zeros(0)", "torch.ones(3)", "torch.ones(2, 2)",
    "torch.nn.Linear(1, 1)", "torch.nn.BatchNorm1d(1)", "torch.nn.Dropout()", "torch.nn.Identity()", "torch",
    "{'a': 1}", "{'a': torch.ones(1)}", "{1: torch.ones(1)}", "(torch.ones(1), {})",
    "(torch.full((1,), float('nan')), {})", "(None, None)", "np.random.default_rng().integers(3, size=(3, 3))",
    "np.random.default_rng().random(3)",
)  # fmt: skip
STATEMENTS = (
    "raise ValueError('mine')", "raise ValueError", "raise KeyError('a\\nb')", "raise Exception('x' * 5000)",
    "raise SystemExit", "raise SystemExit(3)", "import sys; sys.exit('gone')", "raise StopIteration", "assert False",
    "raise RuntimeError('\\x1b[31m')", "raise MemoryError", "raise RecursionError", "1 / 0", "[][1]", "None.a",
    "import warnings; warnings.warn('mine')", "print('mine')", "import sys; print('mine', file=sys.stderr)",
    "import nowhere", "def f(): f()\nf()", "raise OSError(28, 'No space left on device')", "raise FileNotFoundError",
    "raise UnicodeDecodeError('a', b'', 0, 1, 'x')",
)  # fmt: skip
CHANGES = (
    "view.energy[:] = 0", "view.energy = None", "labels[:] = 0", "x.zero_()", "x.fill_(float('nan'))", "x.resize_(0)",
    "counts[0] = 3", "state.clear()", "next(iter(updates)).weights.zero_()", "outputs.zero_()",
    "outputs.requires_grad_()", "list(updates)", "rng.random()", "del self", "self.__class__ = int",
    "torch.manual_seed(0)", "np.random.seed(0)",
    "targets.zero_()", "object.__setattr__(self, 'first', 'x')", "torch.set_num_threads(1)", "np.seterr(all='raise')",
)  # fmt: skip
SMALL = ["--rounds", "3", "--clients", "3"]
TRAIN = ["train", *SMALL, "--local-steps", "1"]
# The ways in which each class is used.
USES = {
    "EveryOther": (["simulate", *SMALL, "--harvest"], [*TRAIN, "--task", "quadratic", "--harvest"]),
    "FirstFew": (["simulate", *SMALL, "-s"], ["bound", *SMALL, "-s"], [*TRAIN, "--task", "quadratic", "-s"]),
    "FirstHas": ([*TRAIN, "--task", "quadratic", "--partition"],),
    "Halving": ([*TRAIN, "--task", "quadratic", "--step-size"],),
    "Damped": ([*TRAIN, "--task", "quadratic", "--aggregation"],),
    "Line": ([*TRAIN, "--batch-size", "2", "--task"],),
}


def try_own_code(chance: Random, place: Path) -> Iterator[str]:
    """Try a thing of the user's own with a line of it made wrong."""
    kind = chance.choice(list(USES))
    module = f"own_{chance.randrange(10**9)}"
    code, change = _changed(chance, kind)
    words = [*chance.choice(USES[kind]), f"{module}:{kind}", *(["--json"] if chance.random() < 0.5 else [])]
    yield f"{change} in own_things.{kind}; ehfl {shlex.join(words)}"
    (place / f"{module}.py").write_text(code)
    before = files_in(place)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module=r"own_\d+")  # the user's own, who may warn as they like
        outcome = call(words)
    yield from judge(words, _without_prints(outcome, as_json="--json" in words), files_in(place) - before)


def _without_prints(outcome: Outcome, *, as_json: bool) -> Outcome:
    """Return what is left when the user's own prints are taken away; among JSON they have no place."""
    printed = re.compile(r"^mine\n", re.MULTILINE)
    return Outcome(outcome.code, outcome.out if as_json else printed.sub("", outcome.out), printed.sub("", outcome.err))


def _changed(chance: Random, kind: str) -> tuple[str, str]:
    """Return the examples with a line more in a method of one class, or in the module, and what was done."""
    tree = ast.parse(EXAMPLES.read_text())
    if chance.random() < 0.2:
        line = chance.choice((*STATEMENTS, "x = = 1", f"del {kind}", f"{kind} = 3"))
        return f"{ast.unparse(tree)}\n{line}\n", f"{line} in the module"
    made = next(node for node in tree.body if isinstance(node, ast.ClassDef) and node.name == kind)
    method = chance.choice([node for node in made.body if isinstance(node, ast.FunctionDef)])
    line = _line(chance, {argument.arg for argument in method.args.args})
    added = ast.parse(f"def _():\n{indent(line, '    ')}").body[0]
    assert isinstance(added, ast.FunctionDef)
    method.body[:0] = added.body
    return ast.unparse(ast.fix_missing_locations(tree)), f"{line} in {method.name}"


def _line(chance: Random, arguments: set[str]) -> str:
    """Return a line for a method with these arguments."""
    changes = [one for one in CHANGES if ({"np", "torch"} | arguments) & set(re.findall(r"\w+", one))]
    drawn = chance.random()
    if drawn < 0.6:
        return f"return {chance.choice(RESULTS)}"
    return chance.choice(STATEMENTS if drawn < 0.85 else changes)
