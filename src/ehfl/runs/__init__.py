"""A run on disk: rounds, spec, metadata and locks. Reading it needs neither torch nor pydantic.

spec.toml               the run's spec, every value spelled out; `ehfl compare` runs it again from there
meta.json               version, commit, host, status, fingerprints of data and code, the metric; at the end digests
rounds.jsonl            one line a round
participation.npz       who took part when (scheduling)
checkpoint.safetensors  the model (learning)
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
