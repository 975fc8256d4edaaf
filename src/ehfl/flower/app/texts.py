"""The content of the files in a Flower App project."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from string import Template

PACKAGE = "ehfl_app"  # the app's package; user modules are beside it

INIT = '"""A Flower App that ehfl wrote: README.md says how to run it."""\n'

SERVER = '''"""The server: asks nodes for their energy, lets the scheduler select clients, averages their models."""

from pathlib import Path

from ehfl.flower import server_app

app = server_app(Path(__file__).parents[1] / "spec.toml")
'''

CLIENT = '''"""A node: keeps its energy account, and trains on request if it has enough energy."""

from pathlib import Path

from ehfl.flower import client_app

app = client_app(Path(__file__).parents[1] / "arms.toml")
'''

_README = Template("""# $name: $arm
Written by `ehfl flower app`. It is a complete Flower App: ehfl's server and nodes, and the spec that they play.

| file | what it is |
| --- | --- |
| spec.toml | the experiment, every value spelled out |
| arms.toml | the same for nodes, arm by arm: a node builds what it needs of this file alone |
| pyproject.toml | what Flower knows of the app, and its settings: `runs`, `arm`, `seed` |
| $package/ | the server and the node, one line each |

## Before
Each machine, the server's and every node's, needs the same ehfl: `pip install 'ehfl[flower]'`, or
`pip install '.[flower]'` in a clone of it.$needs

## Try it on this machine
Everything on loopback and without TLS. Flower reports its use to its makers and installs packages while it runs unless
told not to, so begin in every terminal with

    export FLWR_TELEMETRY_ENABLED=0 FLWR_DISABLE_UPDATE_CHECK=1 FLWR_DISABLE_RUNTIME_DEPENDENCY_INSTALLATION=1

Then each line in a terminal of its own, in this folder:

    flower-superlink --insecure --host 127.0.0.1 --port 9000
$nodes

A node is a client, and the spec has $clients: `client-id` goes from 0 to $last. `state` is the folder in which a node
keeps its energy; it must survive restarts. Flower knows the SuperLink by a name, in `~/.flwr/config.toml`:

    [superlink.here]
    address = "127.0.0.1:9000"
    insecure = true

Then, in this folder, which shows a line a round (Ctrl-C ends the watching, not the run):

    flwr run . here --stream

`ehfl flower up` does all this with one command. With machines of your own use TLS, node keys and `--database`:
docs/deploy.md of ehfl takes you through it.

## Settings
`flwr run . here --run-config "seed=1"` changes one for a run.

- `runs`: a folder on the server's machine; the run lies in it, and goes on from there when it is started again
- `arm`: which of the spec's arms is played: $arms
- `seed`: a whole number; the spec's are $seeds

When it is over, `ehfl report RUNS/$name`, with the folder that `runs` names, writes table, figures and page.
""")


_NODE = (
    "    flower-supernode --insecure --superlink 127.0.0.1:9000 --port {port} "
    "--node-config \"client-id={client} state='ledgers-{client}'\""
)
_SHOWN_NODES = 2


def readme(
    name: str, arms: Sequence[str], arm: str, seeds: Sequence[int], clients: int, files: Sequence[Path],
    modules: Sequence[str],
) -> str:  # fmt: skip
    """Return how to run the app."""
    named = [f"the file or folder `{file}`, which the spec names" for file in files]
    installed = [f"the module `{module}`, which is installed here" for module in modules]
    needs = "".join(f"\n- {one}" for one in (*named, *installed))
    return _README.substitute(
        nodes="\n".join(_NODE.format(client=one, port=9100 + one) for one in range(min(clients, _SHOWN_NODES))),
        name=name, arm=arm, package=PACKAGE, clients=clients, last=clients - 1,
        needs=f"\nEach needs besides, in the same place:\n{needs}" if needs else "",
        arms=", ".join(f'"{one}"' for one in arms), seeds=", ".join(map(str, seeds)),
    )  # fmt: skip
