"""What a run leaves in its folder, and whose the folder is. Plain files: reading them needs neither torch nor pydantic.

spec.toml               the run's spec, every value spelled out; `ehfl compare` runs it again from there
meta.json               version, commit, host, status, fingerprints of data and code, the metric; at the end digests
rounds.jsonl            one line a round (history)
participation.npz       who took part when (scheduling)
checkpoint.safetensors  the model (learning)

No file is trusted: spec.toml and meta.json say what they themselves are known by, a checkpoint what its rounds are, and
a finished run's meta.json what its other files are.

identity  what decides a run's numbers      specs  spec.toml, of a run or a comparison      folder  `RunFolder`

May enter: `ehfl.files`, `history`, `validation`. Leaves: the names below.
"""

from ehfl.run_folder.folder import RunFolder
from ehfl.run_folder.identity import (
    Facts,
    OtherRun,
    check_same,
    files_named_in,
    folder_name,
    identity_of,
    inside,
    slug,
)
from ehfl.run_folder.specs import CHECKPOINT, SPEC, holds_runs, read_comparison, read_facts, read_own, write_sealed

__all__ = [
    "CHECKPOINT",
    "SPEC",
    "Facts",
    "OtherRun",
    "RunFolder",
    "check_same",
    "files_named_in",
    "folder_name",
    "holds_runs",
    "identity_of",
    "inside",
    "read_comparison",
    "read_facts",
    "read_own",
    "slug",
    "write_sealed",
]
