"""Run a command with NumPy kept from the instructions that an older processor lacks: EHFL_MOST_SIMD, for the Makefile.

NumPy is told by NPY_DISABLE_CPU_FEATURES, and refuses names that its build does not know. They changed with NumPy 2.4,
so they are asked for instead of being written down.
"""

from __future__ import annotations

import os
import subprocess
import sys

_AVX2 = {"X86_V3", "AVX2", "FMA3"}  # names before and since NumPy 2.4
_ASK = "from numpy._core._multiarray_umath import __cpu_dispatch__; print(*__cpu_dispatch__)"


def main() -> None:
    """Run the command that the arguments are, in this process's place."""
    most = os.environ.get("EHFL_MOST_SIMD")
    if most:
        asked = subprocess.run([sys.executable, "-c", _ASK], capture_output=True, text=True, check=True)
        newer = [name for name in asked.stdout.split() if most == "sse4" or name not in _AVX2]
        os.environ["NPY_DISABLE_CPU_FEATURES"] = " ".join(newer)
    os.execvp(sys.argv[1], sys.argv[1:])


if __name__ == "__main__":
    main()
