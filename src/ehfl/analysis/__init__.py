"""Analysis: numbers from finished runs. What they are called and how they look is `ehfl.report`'s.

`load` reads run folders: a finished run is a `Trial`, those under one label are an `Arm`, arms side by side a
`Comparison`. `statistics` has means over seeds with their intervals, `pairing` differences between runs that met the
same, `timing` rounds and energy to a goal, `served` classes and clients, `rows` all figures of an arm, `frames` pandas.
`devices` has what a server saw of real devices, `audit` what clients weigh in a plain mean; `units` decides what energy
and time are shown in.

Public names are imported when first used, since SciPy loads slowly.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
