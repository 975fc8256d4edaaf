"""`compare`: the main job from Python."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from ehfl.analysis import Comparison, read
from ehfl.experiment.changing import by_key, collected
from ehfl.experiment.reading import read_spec
from ehfl.experiment.runner import OnLook, Place, run_all
from ehfl.experiment.spec import Spec
from ehfl.validation import UserError, path_of

Source = Spec | str | os.PathLike[str] | Mapping[str, Any] | None


def compare(
    spec: Source = None,
    *,
    runs: str | os.PathLike[str] = "runs",
    jobs: int | None = None,
    on: Place = "local",
    on_look: OnLook | None = None,
    **overrides: Any,
) -> Comparison:
    """Train every arm of a spec under every seed, and return them side by side.

    `spec` is a TOML file, a dict with the same keys, or None for the demo; overrides change it by key: `rounds=20`,
    `fleet={"capacity": 3}` (only what is named in a table changes), `**{"learning.local_steps": 1}`. Instances are
    taken wherever a name is: `schedulers=[Myopic(3), Reserve()]`. Runs lie in a folder of the spec's name under `runs`,
    survive kills, and are not run again once they are finished. The result shows as a table in a notebook; `frame()`
    and `rounds()` are pandas DataFrames, `missing` has runs that failed and why, `write_report` writes the page.
    """
    place = path_of("runs", runs)
    changes = collected(pair for name, given in overrides.items() for pair in by_key(name, given))
    ready = spec if isinstance(spec, Spec) and not changes else read_spec(_facts(spec), changes)
    folder = place / ready.name
    outcomes = run_all(ready, folder, jobs=jobs, on=on, on_look=on_look)
    # Some failures are part of a result, and are named in it; without any finished run there is none.
    errors = [outcome for outcome in outcomes if outcome.error]
    if len(errors) == len(outcomes):
        first = errors[0]
        raise UserError(f"no run came to its end: {first.arm} seed {first.seed} failed: {first.error}")
    return read(folder)


def _facts(spec: Source) -> str | os.PathLike[str] | Mapping[str, Any] | None:
    return spec.facts() if isinstance(spec, Spec) else spec
