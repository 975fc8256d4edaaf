"""How much memory is free, and the refusal of work that would need more.

Estimates are lower bounds: what is refused could not have worked.
"""

from __future__ import annotations

import math
import os
from contextlib import suppress
from pathlib import Path

from ehfl.quantities import as_bytes
from ehfl.validation import InvalidValue

_SMALL = 1e6  # bytes; for less, reading the free memory would take longer than a small fleet
_NO_LIMIT = 2**60  # what old control groups give as a limit where there is none


def check_memory(name: str, given: object, needed: float) -> None:
    """Refuse a value whose work takes more memory than is free [bytes].

    >>> check_memory("clients", 10**18, needed=4e18)  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ehfl.validation.InvalidValue: clients must be small enough for the memory that is free (...), got ... GB)
    """
    if needed > _SMALL and needed > (free := free_memory()):
        allowed = f"small enough for the memory that is free ({as_bytes(free)})"
        raise InvalidValue(name, allowed, f"{given} ({as_bytes(needed)})")


def free_memory() -> float:
    """Return how much memory this process may still take [bytes], infinity where the system does not say."""
    return min(_of_system(), _of_control_group(), _of_process())


def _of_system() -> float:
    """Return what the system could give, swap included."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        kilobytes = {line.split(":")[0]: float(line.split()[1]) for line in lines}
        return 1024 * (kilobytes["MemAvailable"] + kilobytes["SwapFree"])
    except (OSError, LookupError, ValueError):  # no Linux
        with suppress(AttributeError, OSError, ValueError):
            return float(os.sysconf("SC_PHYS_PAGES")) * os.sysconf("SC_PAGE_SIZE")
        return math.inf


def _of_control_group(root: Path = Path("/sys/fs/cgroup")) -> float:
    """Return what a container may still take; files that the system has read ahead do not count as taken."""
    for folder, limit, taken, cached in (
        (root, "memory.max", "memory.current", "inactive_file"),
        (root / "memory", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file"),
    ):
        with suppress(OSError, LookupError, ValueError):  # not this kind of group, or no limit
            most = float((folder / limit).read_text(encoding="ascii"))
            pairs = (line.split() for line in (folder / "memory.stat").read_text(encoding="ascii").splitlines())
            spare = float(dict(pairs)[cached])
            if most < _NO_LIMIT:
                return max(0.0, most - float((folder / taken).read_text(encoding="ascii")) + spare)
    return math.inf


def _of_process() -> float:
    """Return what `ulimit -v` leaves to this process."""
    try:
        import resource
    except ImportError:  # Windows
        return math.inf
    most, _ = resource.getrlimit(resource.RLIMIT_AS)
    if most == resource.RLIM_INFINITY:
        return math.inf
    with suppress(OSError, LookupError, ValueError):
        taken = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * resource.getpagesize()
        return max(0.0, float(most - taken))
    return float(most)
