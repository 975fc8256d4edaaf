"""ehfl: federated learning on harvested energy.

The public names stand in __init__.pyi. Each is imported when first used, so that `import ehfl` and `ehfl --help` are
quick and never touch torch or numba. docs/architecture.md lists the rooms, from the ground up.
"""

import lazy_loader

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
