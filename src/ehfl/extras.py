"""Optional dependencies: `pip install ehfl` is small, and a feature that needs more says what to install."""

from __future__ import annotations

from importlib.util import find_spec

from ehfl.validation import UserError

# Each extra of pyproject.toml that code depends on: what needs it, and the modules that it brings.
_EXTRAS = {
    "learn": ("training", ("torch", "safetensors", "pooch")),
    "fast": ("a fleet of more than 4,096 clients, or perfect foresight", ("numba",)),
    "flower": ("a Flower deployment", ("flwr", "psutil")),
    "flower-simulation": ("Flower's simulation", ("flwr", "psutil", "ray")),
    "parquet": ("a Parquet file", ("pyarrow",)),
    "ray": ("a Ray cluster", ("ray",)),
    "lab": ("ehfl lab", ("nicegui",)),
    "tensorboard": ("tracking with TensorBoard", ("tensorboard",)),
    "mlflow": ("tracking with MLflow", ("mlflow",)),
    "wandb": ("tracking with Weights & Biases", ("wandb",)),
    "trackio": ("tracking with Trackio", ("trackio",)),
    "wind": ("a harvest from the wind", ("windpowerlib",)),
}


class MissingExtra(UserError, ImportError):
    """An optional dependency is not installed."""


def check_extra(extra: str) -> None:
    """Raise an error of one line, with the command to type, unless the extra's modules are installed."""
    purpose, modules = _EXTRAS[extra]
    missing = [name for name in modules if find_spec(name) is None]
    if missing:
        *others, last = missing
        libraries = f"{', '.join(others)} and {last}" if others else last
        raise MissingExtra(f"{purpose} needs {libraries}: pip install 'ehfl[{extra}]'")
