"""`ehfl flower simulate`: the runs of a spec in Flower's simulation."""

from __future__ import annotations

from ehfl.cli.flower_options import Given, Nodes
from ehfl.cli.live import live
from ehfl.cli.options import RUNS, AsJson, Data, Override, Runs, SpecOrDefaults
from ehfl.cli.outcomes import resumable, show_outcomes
from ehfl.cli.output import say
from ehfl.cli.streams import own_prints_aside

# The \b in it keeps the lines that follow as they are.
HELP = """Play every arm and seed of a spec in Flower's simulation: its messages, its nodes in processes of Ray's.

For the same seed, participants and energies are those of ehfl compare, and models agree to rounding. Runs lie in
RUNS/<name>-flower; stopped or killed, the same command goes on where it was. Step sizes must look at past rounds alone.
Needs pip install 'ehfl[flower-simulation]'.

\b
Examples:
  ehfl flower simulate experiments/devices.toml
  ehfl flower simulate experiments/devices.toml -n 4 -o seeds=1 -o rounds=10
  ehfl flower simulate -o learning.step_size=nominal-causal -o seeds=1
"""


def simulate(
    spec: SpecOrDefaults = None,
    nodes: Nodes = None,
    override: Override = None,
    data: Data = None,
    runs: Runs = RUNS,
    as_json: AsJson = False,
) -> None:
    """Play every arm and seed of a spec in Flower's simulation."""
    from ehfl import flower
    from ehfl.report import check_place

    flower.check_simulation()
    given = Given(spec, nodes, override or (), data, runs)
    told, notice = given.read()
    read = flower.for_flower(told)
    folder = runs / read.name
    check_place(folder)
    say(notice)
    totals = {arm.label: len(read.seeds) * arm.setting.rounds for arm in read.arms}
    with resumable(), own_prints_aside(), live(totals) as show:
        outcomes = flower.simulate(read, runs, on_look=show)
    show_outcomes(read, folder, outcomes, given.again("simulate"), as_json)
