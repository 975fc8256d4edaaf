"""What a comparison comes to, in a few sentences that claim no more than its seeds allow.

Who won by what, what is not shown, who pays for it, and cautions that matter. All else is in the tables.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from ehfl.analysis import Comparison, Difference, Row
from ehfl.analysis.comparison import World
from ehfl.analysis.devices import DeviceLog, alike
from ehfl.analysis.served import worst_tenth_differences
from ehfl.analysis.sweep import Sweep, is_apart
from ehfl.analysis.units import Scale
from ehfl.report.tables import cells
from ehfl.report.write import counted, listed, p_value, percent, with_unit
from ehfl.runs import Metric

FEW_SEEDS = 5  # Student's t makes an interval wide with fewer: half of it is 4.3 standard errors with three
_MOST_NAMES = 3  # arms that a sentence lists
_MOST_PLACES = 4  # points or lines of a sweep that a sentence lists


def verdict_of(comparison: Comparison) -> list[str]:
    """Return the verdict: a sentence for each world, or for each line of a sweep, and cautions."""
    sweep = Sweep.of(comparison)
    if sweep is not None and len(sweep.points) > _MOST_NAMES:
        return [*_sweep(comparison, sweep), *_cautions(comparison)]
    clients = worst_tenth_differences(comparison)
    found = []
    for world in comparison.worlds:
        parts = list(_world(comparison, world, clients))
        if world.name:
            found += [f"{world.name}: {'; '.join(parts)}."] if parts else []
        else:  # sentences of their own; a label at their beginning stays as it is
            found += [f"No{part[2:]}." if part.startswith("no difference") else f"{part}." for part in parts]
    return [*found, *_cautions(comparison)]


def _world(comparison: Comparison, world: World, clients: Mapping[str, Difference]) -> Iterator[str]:
    metric, (first, *others) = comparison.metric, comparison.rows_of(world)
    if not others:
        name = "" if metric.is_share else f"{metric.name} "
        reached = "ended at" if metric.lower_is_better else "reached"
        yield f"{_names(world, [first])} {reached} {name}{cells.metric(metric, first.final).sentence}"
        return
    tested = [row for row in others if row.difference is not None and row.difference.p_value is not None]
    yield from _shown(metric, world, first, tested, clients)
    yield from _only_by_class(metric, world, first, tested)
    yield from _not_shown(metric, world, first, tested)
    yield from _untested(metric, world, first, [row for row in others if row not in tested])


def _shown(
    metric: Metric, world: World, first: Row, tested: Sequence[Row], clients: Mapping[str, Difference]
) -> Iterator[str]:
    """Say who beats the baseline, the best one by how much, and who ends below it."""
    shown = sorted((row for row in tested if _is_shown(row.difference)), key=lambda row: -metric.sign * _gap(row).mean)
    better = [row for row in shown if metric.sign * _gap(row).mean > 0]
    worse = [row for row in reversed(shown) if row not in better]
    baseline = _names(world, [first])
    if better:
        gap, ends = _gap(better[0]), cells.gap(metric, _gap(better[0]), metric.sign).ends
        won = f"{_names(world, better[:1])} beats {baseline} by {_size(metric, gap)} ({ends})"
        yield f"{won}{_served(better[0], first, clients)}{_also(world, better[1:])}"
    if worse:
        gap, ends = _gap(worse[0]), cells.gap(metric, _gap(worse[0]), -metric.sign).ends
        lost = f"{_names(world, worse[:1])} ends {_apart(metric, gap)} {baseline} ({ends})"
        yield f"{lost}{_served(worse[0], first, clients)}{_also(world, worse[1:])}"


def _also(world: World, rows: Sequence[Row]) -> str:
    return f", and so {'does' if len(rows) == 1 else 'do'} {_names(world, rows)}" if rows else ""


def _served(row: Row, first: Row, clients: Mapping[str, Difference]) -> str:
    """Return how the worst class fares where that is shown to differ, else the worst clients where theirs is."""
    by_class, by_client = row.worst_class_difference, clients.get(row.arm)
    if _is_shown(by_class):
        gap, fared = by_class, f"gets {_classes(row, first)}"
    elif _is_shown(by_client) and row.worst_tenth and first.worst_tenth:
        mine, theirs = (f"{100 * found.mean:.0f} %" for found in (row.worst_tenth, first.worst_tenth))
        gap, fared = by_client, f"gets {mine} right for the worst tenth of clients instead of {theirs}"
    else:
        return ""
    assert gap is not None
    return f" {'and' if (gap.mean > 0) == (_gap(row).mean > 0) else 'but'} {fared}"


def _classes(row: Row, first: Row) -> str:
    mine, theirs = (f"{100 * one.worst_class.mean:.0f} %" if one.worst_class else "" for one in (row, first))
    return f"{mine} of the worst class right instead of {theirs}"


def _only_by_class(metric: Metric, world: World, first: Row, tested: Sequence[Row]) -> Iterator[str]:
    """Say who differs most in the worst class alone: averages hide it."""
    hidden = {
        row.arm: (abs(row.worst_class_difference.mean), row)
        for row in tested
        if row.worst_class_difference and row.worst_class_difference.distinguishable and not _is_shown(row.difference)
    }
    if hidden:
        _, row = max(hidden.values(), key=lambda one: one[0])
        yield f"{_names(world, [row])} gets {_classes(row, first)}, though {metric.name} shows no difference"


def _not_shown(metric: Metric, world: World, first: Row, tested: Sequence[Row]) -> Iterator[str]:
    same = [row for row in tested if not _is_shown(row.difference)]
    if not same:
        return
    largest = max(same, key=lambda row: abs(_gap(row).mean))
    gap = _gap(largest)
    among = f" between {_names(world, [first])} and {_names(world, same)}" if len(same) < len(tested) else ""
    which = f"{'largest: ' if len(same) > 1 else ''}{_names(world, [largest])}"
    p = p_value(gap.p_value if gap.holm_p_value is None else gap.holm_p_value)
    yield f"no difference shown{among} ({which} {cells.gap(metric, gap).text}{_points(metric)}, p = {p})"


def _untested(metric: Metric, world: World, first: Row, rows: Sequence[Row]) -> Iterator[str]:
    """Say where chance cannot be judged: one seed, every seed alike, or runs that are no pairs."""
    baseline = _names(world, [first])
    unpaired = [row for row in rows if row.difference is None]
    if paired := [row for row in rows if row.difference]:
        best = max(paired, key=lambda row: metric.sign * _gap(row).mean)
        alone = "one seed" if _gap(best).n == 1 else "every seed alike"
        where = f"{_apart(metric, _gap(best))} {baseline}"
        yield f"{_names(world, [best])} ended {where} ({alone}: chance cannot be judged)"
    if unpaired:
        yield f"{_names(world, unpaired)} cannot be compared pair by pair with {baseline}: trained for another time"


def _sweep(comparison: Comparison, sweep: Sweep) -> Iterator[str]:
    """Say at which points each line differs from the first one, and where the metric is best."""
    metric = comparison.metric
    first, *others = sweep.lines
    alike = []
    for line in others:
        rows = {point: row for point in sweep.points if (row := sweep.rows.get((line, point))) and row.difference}
        if not rows:
            continue
        better, worse = (
            {point: row for point, row in rows.items() if is_apart(row) and sign * _gap(row).mean > 0}
            for sign in (metric.sign, -metric.sign)
        )
        parts = [f"{word} at {_places(found)}{_most(comparison, found)}"
                 for word, found in (("better", better), ("worse", worse)) if found]  # fmt: skip
        if not parts:
            alike.append(line)
        elif same := len(rows) - len(better) - len(worse):
            parts.append(f"no difference shown at {same} of {counted(len(rows), 'point')}")
        if parts:
            yield f"{line} against {first}: {', '.join(parts)}."
    if alike:
        more = len(alike) - _MOST_PLACES
        names = [*alike[:_MOST_PLACES], f"{more} others"] if more > 0 else alike
        yield f"No difference to {first} is shown at any point for {listed(names)}."
    (line, point), best = max(sweep.rows.items(), key=lambda one: metric.sign * one[1].final.mean)
    among = f"{line} at {point}" if others else point
    yield f"The best {metric.name}, {cells.metric(metric, best.final).sentence}, is that of {among}."


def _places(rows: dict[str, Row]) -> str:
    names = list(rows)
    return listed(names) if len(names) <= _MOST_PLACES else counted(len(names), "point")


def _most(comparison: Comparison, rows: dict[str, Row]) -> str:
    point, row = max(rows.items(), key=lambda one: abs(_gap(one[1]).mean))
    where = f"most at {point}: " if len(rows) > 1 else ""
    return f" ({where}{cells.gap(comparison.metric, _gap(row)).text}{_points(comparison.metric)})"


def _cautions(comparison: Comparison) -> Iterator[str]:
    idle = [row.arm for row in comparison.rows if not row.participants]
    if idle:
        yield f"No client took part under {listed(idle)}: no model was trained."
    for arm in comparison.arms:
        logs = [trial.devices for trial in arm.trials if trial.devices is not None]
        if lost := sum(log.lost for log in logs):
            reasons: Counter[str] = sum((Counter(log.reasons) for log in logs), Counter())
            under = f" under {arm.name}" if len(comparison.arms) > 1 else ""
            yield f"{_lost(sum(log.asked for log in logs), lost)}{under}: {say_reasons(alike(reasons))}."
    if comparison.missing:
        shown = ", ".join(map(str, comparison.missing[:_MOST_NAMES]))
        more = len(comparison.missing) - _MOST_NAMES
        yield f"Left out: {shown}{f' and {more} more' if more > 0 else ''}."
    gaps = [row.difference for row in comparison.rows if row.difference and row.difference.p_value is not None]
    fewest = min((gap.n for gap in gaps), default=FEW_SEEDS)
    if fewest < FEW_SEEDS and not all(gap.distinguishable for gap in gaps):
        yield f"{fewest} seeds are few: with more, smaller differences can be shown."


def device_line(log: DeviceLog, scale: Scale) -> str:
    """Return how often the devices of a run answered, and what work was lost."""
    never = sum(device.last_heard is None for device in log.devices)
    lost = f"{_lost(log.asked, log.lost)}{f': {say_reasons(log.reasons)}' if log.lost else ''}"
    parts = [
        f"Online in {log.online:,} of {log.possible:,} device-rounds ({percent(log.online / log.possible)})",
        f"{counted(never, 'device')} never answered" if never else "",
        lost if log.asked else "no update was asked for",
        f"lost work cost at least {with_unit(scale, log.wasted_energy)}" if log.wasted_energy else "",
    ]
    return f"{'; '.join(filter(None, parts))}."


def say_reasons(reasons: Mapping[str, int], most: int = 3) -> str:
    """Return the `most` most frequent reasons, with how often each was given.

    >>> say_reasons({"no reply in 30 s": 8, "NaN, not a number": 3, "late": 1, "stale": 1}, most=2)
    'no reply in 30 s (8); NaN, not a number (3); others (2)'
    """
    found = list(reasons.items())
    rest = sum(n for _, n in found[most:])
    return "; ".join(f"{why} ({n:,})" for why, n in [*found[:most], *([("others", rest)] if rest else [])])


def _lost(asked: int, lost: int) -> str:
    return f"{lost:,} of {counted(asked, 'update')} asked for {'was' if lost == 1 else 'were'} lost"


def _gap(row: Row) -> Difference:
    assert row.difference is not None
    return row.difference


def _is_shown(gap: Difference | None) -> bool:
    return gap is not None and gap.distinguishable


def _names(world: World, rows: Sequence[Row]) -> str:
    """Return arms as a sentence has them that has named their world, at most three by name."""
    names = [world.short(row.arm) for row in rows]
    more = len(names) - _MOST_NAMES + 1
    return listed(names if more < 2 else [*names[: _MOST_NAMES - 1], f"{more} others"])


def _apart(metric: Metric, found: Difference) -> str:
    """Return how far above or below something is.

    >>> _apart(Metric("accuracy", bounds=(0, 1)), Difference(-0.013, -0.02, -0.006, 3, 0.01))
    '1.30 points below'
    """
    return f"{_size(metric, found)} {'above' if found.mean > 0 else 'below'}" if found.mean else "level with"


def _size(metric: Metric, found: Difference) -> str:
    """Return how large a difference is, without its sign."""
    written = cells.gap(metric, found, 1 if found.mean > 0 else -1)
    return written.text.removeprefix("+") + _points(metric)


def _points(metric: Metric) -> str:
    """Return the unit of differences, which only shares have."""
    return " points" if metric.is_share else ""
