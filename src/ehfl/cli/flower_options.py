"""What the commands of `ehfl flower` take, and the spec that comes of it."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from ehfl.cli.options import RUNS, named_by_option, with_data
from ehfl.cli.output import check_folder
from ehfl.cli.streams import own_prints_aside
from ehfl.cli.usage import whole
from ehfl.validation import InvalidValue, UserError, whole_number

if TYPE_CHECKING:
    from ehfl.experiment import Spec

Nodes = Annotated[
    int | None, Option("--nodes", "-n", metavar="N", parser=whole, help="Nodes, one a client [the spec's clients].")
]
ArmLabel = Annotated[str | None, Option("--arm", metavar="LABEL", help="Which arm of the spec [the first].")]
SeedOfSpec = Annotated[
    int | None, Option("--seed", metavar="SEED", parser=whole, help="Seed of the run [the spec's first].")
]

MAX_NODES = 1000  # processes that a machine could be asked for


@dataclass(frozen=True, slots=True)
class Given:
    """What the user said of the spec, and where its runs are kept."""

    spec: Path | None
    nodes: int | None
    override: Sequence[str]
    data: Path | None
    runs: Path

    def read(self) -> tuple[Spec, str]:
        """Return the spec with as many clients as there are nodes, and what to say where it says another number."""
        from ehfl.experiment import read_spec

        check_folder("--runs", self.runs)
        changes, names = with_data(self.override, self.data)
        if self.nodes is not None:
            whole_number("--nodes", self.nodes, low=1, high=MAX_NODES)
            if any(text.split("=")[0].strip() == "fleet.clients" for text in self.override):
                raise InvalidValue("--nodes", "left out where -o fleet.clients is given", self.nodes)
            changes.append(f"fleet.clients={self.nodes}")
            names["fleet.clients"] = "--nodes"
        with own_prints_aside(), named_by_option(names):
            read = read_spec(self.spec or {}, changes)
        return read, self._notice(read)

    def _notice(self, read: Spec) -> str:
        """Return what to say where the spec says another number of clients than there are nodes."""
        from ehfl.experiment import read_spec

        if self.nodes is None:
            return ""
        for arm in read.arms:
            if (clients := arm.setting.fleet.clients) != self.nodes:
                raise InvalidValue("--nodes", f"{clients}, as {arm.label} itself says", self.nodes)
        with own_prints_aside():
            try:
                others = {arm.setting.fleet.clients for arm in read_spec(self.spec or {}).arms} - {self.nodes}
            except UserError:  # without what the user has changed it says nothing
                return ""
        told = " or ".join(map(str, sorted(others)))
        said = f"a node is a client: the fleet has {self.nodes} here, not the {told} that the spec says"
        return said if others else ""

    def again(self, command: str, arm: str | None = None, seed: int | None = None) -> str:
        """Return the command that does it all again."""
        options = {"--nodes": self.nodes, "--arm": arm, "--seed": seed, "--data": self.data}
        options["--runs"] = None if self.runs == RUNS else self.runs
        given = [word for name, value in options.items() if value is not None for word in (name, str(value))]
        changes = [word for text in self.override for word in ("-o", text)]
        return shlex.join(["ehfl", "flower", command, *([str(self.spec)] if self.spec else []), *given, *changes])
