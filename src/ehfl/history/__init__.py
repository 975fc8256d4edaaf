"""What a model is judged by, and what happened in each round: in memory, and as JSON lines that survive a kill.

devices      `Devices`: a round as a server with real devices saw it
records      `Metric`, `Record`, `Evaluation` and `History`
rounds_file  rounds.jsonl, one line a round: the only file that knows how it is written and read
traffic      `Traffic`: what a turn sends between server and client

May enter: NumPy, `ehfl.files`, `scheduling`, `validation`. Leaves: the names below.
"""

from ehfl.history.devices import Devices, as_reason
from ehfl.history.records import LARGEST, Accuracies, Evaluation, History, Metric, Record, evaluations_of
from ehfl.history.rounds_file import NAME, HistoryFile, Tail, lines_digest, read_history, rewind, rounds_digest
from ehfl.history.traffic import Traffic

__all__ = [
    "LARGEST",
    "NAME",
    "Accuracies",
    "Devices",
    "Evaluation",
    "History",
    "HistoryFile",
    "Metric",
    "Record",
    "Tail",
    "Traffic",
    "as_reason",
    "evaluations_of",
    "lines_digest",
    "read_history",
    "rewind",
    "rounds_digest",
]
