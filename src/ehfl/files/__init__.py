"""Files and folders that can be trusted: whole or absent, known by a digest, and written by one process at a time.

whole    files that take their place when all of them is on the disk; what killed processes left is swept away
locks    folders that one process at a time works in
facts    JSON that says one thing, and texts that notice a change of a single letter
numbers  files of numbers, whose size is looked at before their memory is taken

May enter: `ehfl.validation`, NumPy where numbers are read, filelock where folders cannot be locked. Leaves: the names
below.
"""

from ehfl.files.facts import (
    check_seal,
    digest_of_file,
    digest_of_text,
    fingerprint,
    finite,
    json_text,
    parse_json,
    sealed,
    spread_json,
)
from ehfl.files.locks import InUse, sole_use
from ehfl.files.numbers import read_npy, read_numbers
from ehfl.files.whole import naming, refuse_pipe, sweep, write_text, written_whole

__all__ = [
    "InUse",
    "check_seal",
    "digest_of_file",
    "digest_of_text",
    "fingerprint",
    "finite",
    "json_text",
    "naming",
    "parse_json",
    "read_npy",
    "read_numbers",
    "refuse_pipe",
    "sealed",
    "sole_use",
    "spread_json",
    "sweep",
    "write_text",
    "written_whole",
]
