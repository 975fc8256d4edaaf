"""What any scheduler could have reached with the fleets of a spec, and how much of it arms did reach."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ehfl.experiment.building import fleet_of
from ehfl.experiment.spec import Setting, Spec
from ehfl.planning import Optimum, Share, clairvoyant, share
from ehfl.planning.clairvoyant import check_size

if TYPE_CHECKING:  # SciPy, behind comparisons, takes longer to load than `ehfl simulate` to print its table
    from ehfl.analysis import Comparison, Trial


def check_possible(*specs: Spec) -> None:
    """Refuse fleets and rounds that a clairvoyant has no memory or time for."""
    for arm in (arm for spec in specs for arm in spec.arms):
        check_size(fleet_of(arm.setting), arm.setting.rounds)


def optimum_of(setting: Setting, seed: int, known: dict[str, Optimum]) -> Optimum:
    """Return what any scheduler could reach with a setting's fleet; `known` keeps it for other arms."""
    world = repr((setting.fleet, setting.learning, setting.rounds, seed))  # what a round costs may come from learning
    if world not in known:
        known[world] = clairvoyant(fleet_of(setting), setting.rounds, seed)
    return known[world]


def shares_of(specs: Sequence[Spec], comparison: Comparison) -> dict[str, list[Share | None]]:
    """Return how much of what was possible each arm of these specs reached, a seed each, by its name.

    None stands for runs on mains power, with turns of fewer steps, or on devices, whose energy is their own.
    """
    known: dict[str, Optimum] = {}
    several = len({spec.name for spec in specs}) > 1  # then arms are named after both, as `read_results` does
    settings = {
        f"{spec.name}: {arm.label}" if several else arm.label: arm.setting for spec in specs for arm in spec.arms
    }
    return {arm.name: [_share(settings[arm.name], trial, known) for trial in arm.trials] for arm in comparison.arms}


def _share(setting: Setting, trial: Trial, known: dict[str, Optimum]) -> Share | None:
    if trial.devices is not None:
        return None
    return share(trial.participation, optimum_of(setting, trial.seed, known))
