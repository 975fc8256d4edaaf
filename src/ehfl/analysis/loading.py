"""Finished runs as trials: what their files say, if it is what the runs left."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from ehfl.analysis.served_facts import served_facts
from ehfl.analysis.sources import Source
from ehfl.analysis.trials import Trial
from ehfl.history import Metric, Record, Traffic, read_history
from ehfl.run_folder import Facts, identity_of
from ehfl.scheduling import SCHEDULERS, Participation
from ehfl.validation import UserError, one_line


def load_trial(source: Source) -> Trial:
    """Return a finished run, or refuse it where one of its files is not what the run left."""
    facts, inputs = source.facts, _inputs(source)
    source.folder.check_untouched(source.meta)
    try:
        records, played = _recorded(source)
        classes, labels = served_facts(source.meta, records, played.n_clients)
        traffic = Traffic.read(source.meta)
    except (UserError, OSError) as error:
        raise UserError(f"{one_line(error)}: {source.folder.remedy}") from error
    name = facts["scheduler"]["name"]
    return Trial(
        source.label,
        source.seed,
        played,
        records,
        local_steps=facts["learning"]["local_steps"],
        aggregation=facts["learning"]["aggregation"]["name"],
        partition=facts["learning"]["partition"]["name"],
        scheduler=name if name in SCHEDULERS.members else "",
        fingerprint=_text(identity_of(facts) | {"seeds": None}, inputs),
        **_met(facts, inputs),
        classes=classes,
        labels=labels,
        traffic=traffic,
        spec=facts,
    )


def common_metric(sources: Sequence[Source]) -> Metric:
    """Return what all these finished runs are judged by."""
    metrics = {_metric(source) for source in sources}
    if len(metrics) > 1:
        raise UserError(f"runs with different metrics cannot be put together: {', '.join(_told_apart(metrics))}")
    return metrics.pop()


def _told_apart(metrics: Collection[Metric]) -> list[str]:
    """Return the names of metrics; where one has several, what they mean by it."""
    names = sorted(metric.name for metric in metrics)
    if len(set(names)) == len(names):
        return names
    return sorted(
        f"{m.name} ({'lower' if m.lower_is_better else 'higher'} is better, bounds {m.bounds})" for m in metrics
    )


def _metric(source: Source) -> Metric:
    folder, found = source.folder, source.meta.get("metric")
    try:
        facts: Facts = dict(found or {})
        return Metric(**facts | {"bounds": tuple(facts["bounds"])})
    except (LookupError, TypeError, ValueError) as error:
        raise UserError(f"{folder.path}/meta.json does not say what its metric is ({error}): {folder.remedy}") from None


def _inputs(source: Source) -> Facts:
    inputs = source.meta.get("inputs")
    if not isinstance(inputs, dict):
        folder = source.folder
        raise UserError(f"{folder.path}/meta.json does not say what the run was made from: {folder.remedy}")
    return inputs


def _recorded(source: Source) -> tuple[list[Record], Participation]:
    """Return the rounds of a finished run and who took part in them."""
    folder, rounds = source.folder, source.facts["rounds"]
    records, played = read_history(folder.rounds, _metric(source)), Participation.load(folder.participation)
    if len(records) != rounds:
        raise UserError(f"{folder.rounds} has {len(records)} rounds, its spec {rounds}")
    if played.counts.tolist() != [record.participants for record in records] or not _fit_devices(records, played):
        raise UserError(f"{folder.participation} does not fit {folder.rounds}")
    return records, played


def _fit_devices(records: Sequence[Record], played: Participation) -> bool:
    """Return whether all rounds or none saw devices, as many as there are clients, and those who took part."""
    seen = [record.devices for record in records]
    if all(one is None for one in seen):
        return True
    return all(
        one is not None and len(one.energy) == played.n_clients and played.clients(t).tolist() == list(one.took_part)
        for t, one in enumerate(seen)
    )


def _met(facts: Facts, inputs: Mapping[str, Any]) -> dict[str, str]:
    """Return what decides, given the seed, which weather, data and first model a run meets."""
    identity = identity_of(facts)
    fleet, learning = identity["fleet"], identity["learning"]

    def code(table: Facts) -> Any:
        return inputs.get(table["name"])

    def files(key: str) -> Any:
        return {name: value for name, value in inputs.items() if name.startswith(f"{key}.")}

    harvest, task, partition = fleet["harvest"], learning["task"], learning["partition"]
    dealt = _text(partition, code(partition), files("learning.partition"), learning["order"])
    # What a unit brings; one comes a round, so that longer rounds have other weather. Watts come whatever a round is.
    portions = [fleet["arrival"], fleet["round_length"]] if fleet.get("arrival") is not None else []
    return {
        "weather": _text(fleet["clients"], harvest, code(harvest), files("fleet.harvest"), *portions),
        "data": _text(fleet["clients"], inputs.get("data"), dealt),
        "first_model": _text(task, code(task), files("learning.task")),
    }


def _text(*parts: Any) -> str:
    return json.dumps(parts, sort_keys=True)
