"""`python -m tests.fuzz`: run cases, print what was found and how to try it again."""

from __future__ import annotations

import argparse
import faulthandler
import resource
import sys
import time

from .cases import WAITING, WORKING, Case, run
from .kinds import KINDS, cases_of

MEMORY = 8 << 30  # bytes of address space, torch's libraries included


def main() -> int:
    """Run the cases that the command line asks for; 1 if something was found."""
    options = _options()
    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    if options.case is not None:
        cases = [Case(options.seed, options.kind, options.case)]
    else:
        cases = [case for case in cases_of(options.seed, options.cases) if options.kind in (None, case.kind)]
    findings, began = [], time.monotonic()
    for case in cases:
        if options.verbose:
            _print(case.command)
        # A library that waits in C hears no signal; --verbose says which case it was.
        faulthandler.dump_traceback_later(WAITING + 2 * WORKING, exit=True)
        found = run(case, KINDS[case.kind])
        for finding in found:
            _print(str(finding))
        findings += found
    _print(f"seed {options.seed}: {len(cases)} cases, {len(findings)} findings, {time.monotonic() - began:.0f} s")
    return 1 if findings else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--cases", type=int, default=1000, help="how many in all [1000]")
    parser.add_argument("--kind", choices=KINDS, help="only these")
    parser.add_argument("--case", type=int, help="only this one; wants --kind")
    parser.add_argument("--verbose", action="store_true", help="name each case before it is run")
    options = parser.parse_args()
    if options.case is not None and options.kind is None:
        parser.error("--case wants --kind")
    return options


def _print(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
