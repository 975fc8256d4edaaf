"""What records say of devices, worked out by hand; runs in one process have none."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from ehfl.analysis.devices import Device, DeviceState, device_log
from ehfl.analysis.trials import Trial
from ehfl.runs import Devices
from made_devices import NAN, SILENT, device_trial
from made_trials import made_trial

ROUNDS = ["T.oS", "TNo.", "o.T.", "To.."]


def test_every_device_is_followed_through_the_rounds() -> None:
    log = device_trial(ROUNDS).devices

    assert log is not None
    assert log.devices == (
        Device(0, online=4, took_part=3, lost={}, last_heard=3, level=1, lowest=1, mean=1.75),
        Device(1, online=2, took_part=0, lost={NAN: 1}, last_heard=3, level=2, lowest=2, mean=2.5),
        Device(2, online=3, took_part=1, lost={}, last_heard=2, level=3, lowest=3, mean=3.0),
        Device(3, online=1, took_part=0, lost={SILENT: 1}, last_heard=0, level=3, lowest=3, mean=3.0),
    )


def test_all_devices_together() -> None:
    log = device_trial(ROUNDS).devices

    assert log is not None
    assert (log.online, log.possible, log.asked, log.lost) == (10, 16, 6, 2)
    assert log.reasons == {NAN: 1, SILENT: 1}
    letters = np.array([list(letters) for letters in ROUNDS])
    for state, letter in ((DeviceState.DARK, "."), (DeviceState.ONLINE, "o"), (DeviceState.TOOK_PART, "T")):
        assert np.array_equal(log.states == state, letters == letter)
    assert np.array_equal(log.states == DeviceState.LOST, np.isin(letters, ["S", "N"]))
    assert np.array_equal(np.isnan(log.levels), letters == ".")


def test_lost_work_costs_what_clients_have_said_that_they_paid_beyond_their_turns() -> None:
    """Client 3 paid for its lost update too, and was never heard of again."""
    log = device_trial(ROUNDS).devices
    heard = device_trial([*ROUNDS, "ooTo"]).devices

    assert log is not None and heard is not None
    assert log.wasted_energy == 1
    assert heard.wasted_energy == 2


def test_reasons_are_counted_the_most_frequent_first() -> None:
    log = device_trial(["NS", "SN", "SS"]).devices

    assert log is not None
    assert list(log.reasons.items()) == [(SILENT, 4), (NAN, 2)]
    assert [list(device.lost) for device in log.devices] == [[SILENT, NAN], [SILENT, NAN]]
    assert [device.losses for device in log.devices] == [3, 3]


def test_of_a_device_that_never_answered_nothing_is_known() -> None:
    log = device_trial(["T.", "o."]).devices

    assert log is not None
    assert log.devices[1] == Device(1, 0, 0, {}, last_heard=None, level=None, lowest=None, mean=None)


def test_a_level_that_changed_after_the_last_round_was_heard_of_then() -> None:
    trial = device_trial(["To", "oo", ".."])
    after = replace(trial.participation, final_energy=np.array([1, 3], np.int32))
    log = replace(trial, participation=after).devices

    assert log is not None
    assert [(device.last_heard, device.level, device.lowest) for device in log.devices] == [(3, 1, 1), (1, 3, 3)]


def test_runs_in_one_process_have_no_devices() -> None:
    assert made_trial("greedy", 0, [0.1, 0.2], [1, 2]).devices is None


def test_records_of_which_some_saw_no_devices_are_not_taken_for_a_run_on_devices() -> None:
    trial = device_trial(ROUNDS)
    records = [replace(trial.records[0], devices=None), *trial.records[1:]]

    assert device_log(records, trial.participation) is None


def test_a_client_that_asks_for_nothing_and_pays_nothing_wastes_nothing() -> None:
    seen = Devices(energy=(1, 1), asked=(0,), lost={0: SILENT}, spent=(0, 0))
    trial = device_trial(["So"])
    played: Trial = replace(trial, records=[replace(trial.records[0], devices=seen)])

    assert played.devices is not None
    assert played.devices.wasted_energy == 0


@pytest.mark.parametrize("name", ["online", "possible", "asked", "lost", "wasted_energy"])
def test_facts_are_the_figures(name: str) -> None:
    log = device_trial(ROUNDS).devices

    assert log is not None
    assert log.as_facts()[name] == getattr(log, name)
    assert log.as_facts()["devices"][1]["lost"] == {NAN: 1}
