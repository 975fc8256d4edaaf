"""What is said of devices: how often they answered, how much of their work was lost, and why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from ehfl.analysis import Arm, Comparison
from ehfl.analysis.devices import DeviceLog, alike
from ehfl.analysis.numbers import percent
from ehfl.analysis.scales import Scale
from ehfl.report.phrases import counted, spoken


def lost_sentences(comparison: Comparison) -> Iterator[str]:
    """Say how many updates of devices were lost, over all seeds; nothing where none was."""
    for arm in comparison.arms:
        asked, lost, why = _lost(arm)
        if lost:
            where = f" under {spoken(arm.name)}" if len(comparison.arms) > 1 else ""
            yield f"{_of(asked, lost)}{where}: {why}."


def _lost(arm: Arm) -> tuple[int, int, str]:
    """Return how many updates were asked for, how many of them were lost, and why, over all seeds."""
    logs = [trial.devices for trial in arm.trials if trial.devices is not None]
    reasons: Counter[str] = sum((Counter(log.reasons) for log in logs), Counter())
    return sum(log.asked for log in logs), sum(log.lost for log in logs), say_reasons(alike(reasons))


def log_sentences(log: DeviceLog, scale: Scale) -> list[str]:
    """Return what is to be said of one run's devices."""
    return [_say_online(log), _say_lost(log, scale)]


def _say_online(log: DeviceLog) -> str:
    if log.online == log.possible:
        return "All devices answered in every round."
    never = sum(device.last_heard is None for device in log.devices)
    silent = f"; {counted(never, 'device')} never answered" if never else ""
    devices, share = counted(len(log.devices), "device"), percent(log.online / log.possible)
    online = f"online in {log.online:,} of {log.possible:,} device-rounds ({share})"
    return f"{devices} {_were(len(log.devices))} {online}{silent}."


def _say_lost(log: DeviceLog, scale: Scale) -> str:
    if not log.asked:
        return "No update was asked for."
    if not log.lost:
        return f"{counted(log.asked, 'update')} {_were(log.asked)} asked for, and none was lost."
    wasted = scale.text(log.wasted_energy)
    cost = f" Lost work cost at least {wasted}." if log.wasted_energy else ""
    return f"{_of(log.asked, log.lost)}: {say_reasons(log.reasons)}.{cost}"


def _of(asked: int, lost: int) -> str:
    return f"{lost:,} of {counted(asked, 'update')} asked for {_were(lost)} lost"


def _were(n: int) -> str:
    return "was" if n == 1 else "were"


def say_reasons(reasons: Mapping[str, int], most: int = 3) -> str:
    """Return so many reasons, the most frequent ones, with how often they were given.

    >>> say_reasons({"no reply in 30 s": 8, "NaN, not a number": 3, "late": 1, "stale": 1}, most=2)
    'no reply in 30 s (8); NaN, not a number (3); others (2)'
    """
    found = list(reasons.items())
    rest = sum(n for _, n in found[most:])
    return "; ".join(f"{why} ({n:,})" for why, n in [*found[:most], *([("others", rest)] if rest else [])])
