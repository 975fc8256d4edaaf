"""Experiments: a spec, its runs, and how they are run.

`read_spec` reads a comparison from TOML: a `Setting` for each arm (`spec/`). `run_all` runs every arm under every seed
in parallel, each in its own folder, where it survives kills (`run/`). `compare` does both from Python and returns what
`analysis` reads from the folders. Without training: `play` plays who takes part, `plan.plan` and `audit.audit` say what
a fleet sustains and what a mean would make of its clients, `covered` which theorem an arm has. Nothing here prints or
draws; torch is imported when a run is run.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
