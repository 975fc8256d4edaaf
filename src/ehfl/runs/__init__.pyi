"""The public names of the room."""

from .folder import (
    CHECKPOINT as CHECKPOINT,
    SPEC as SPEC,
    InUse as InUse,
    RunFolder as RunFolder,
    holds_runs as holds_runs,
    read_comparison as read_comparison,
    read_facts as read_facts,
    read_own as read_own,
    sole_use as sole_use,
    write_sealed as write_sealed,
)
from .identity import (
    Facts as Facts,
    OtherRun as OtherRun,
    check_same as check_same,
    files_named_in as files_named_in,
    folder_name as folder_name,
    identity_of as identity_of,
    inside as inside,
    point_name as point_name,
    slug as slug,
)
from .records import (
    LARGEST as LARGEST,
    STOP as STOP,
    Accuracies as Accuracies,
    Devices as Devices,
    Evaluation as Evaluation,
    History as History,
    Metric as Metric,
    Record as Record,
    Traffic as Traffic,
    as_reason as as_reason,
    evaluations_of as evaluations_of,
)
from .rounds_file import (
    ROUNDS as ROUNDS,
    HistoryFile as HistoryFile,
    Tail as Tail,
    read_history as read_history,
    rewind as rewind,
    rounds_digest as rounds_digest,
)
