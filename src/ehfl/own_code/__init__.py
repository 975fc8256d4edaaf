"""Code of the user's own: where it is found, what it is made of, and in which version it was imported.

A class that a spec names is made of its module and of all that the module imports, in turn, from the user's own tree:
whatever is neither Python's, nor installed, nor ehfl's. `imported` gives a module as its files are now, `versions` says
which those were, `held` keeps everything at one version while a comparison goes on. `script_module` names the script
that Python runs, which is `__main__` in its own process alone. `allowed` refuses user code where a folder that
may come from elsewhere names it and the user has not said that it is trusted.

May enter: `files` and below. Leaves: the names below.
"""

from ehfl.own_code.importing import allowed, before_first_import, contained, held, hold, imported, look_in, versions
from ehfl.own_code.script import script_module

__all__ = [
    "allowed", "before_first_import", "contained", "held", "hold", "imported", "look_in", "script_module", "versions",
]  # fmt: skip
