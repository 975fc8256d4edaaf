"""The configuration of a device, from the node-config of its SuperNode."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from flwr.app import UserConfig

from ehfl.validation import InvalidValue, whole_number

STATE = Path("~/.local/state/ehfl")  # default folder of nodes' accounts
_KEYS = ("client-id", "state", "meter", "harvest", "data", "examples", "partition-id", "num-partitions")


@dataclass(frozen=True, slots=True)
class NodeConfig:
    """The configuration of a device."""

    client: int  # its number in the fleet
    state: Path  # the folder of its energy accounts
    meter: str | None = None  # measures its energy; replaces the spec's harvest
    harvest: str | None = None  # replaces the spec's harvest
    data: str | None = None  # path of the task's data on this device
    owns_all: bool = False  # whether it trains on all its examples instead of its share of a common set

    @staticmethod
    def read(config: UserConfig, state: Path = STATE) -> NodeConfig:
        """Return the node that a node-config describes.

        >>> NodeConfig.read({"client-id": 3, "state": "/var/lib/ehfl"}).state.as_posix()
        '/var/lib/ehfl/client-3'
        """
        if unknown := [key for key in config if key not in _KEYS]:
            raise InvalidValue("node-config", f"of {', '.join(_KEYS[:6])}", unknown[0])
        given = config.get("client-id", config.get("partition-id"))  # the latter in Flower's simulation
        if given is None:
            raise InvalidValue("node-config", "one that says which client this is, as in client-id=3", "none")
        client = whole_number("client-id", given, low=0)  # type: ignore[arg-type]  # it raises an error for other types
        if (examples := config.get("examples", "dealt")) not in ("dealt", "all"):
            raise InvalidValue("examples", "dealt or all", examples)
        texts = {key: _text(config, key) for key in ("meter", "harvest", "data")}
        folder = Path(_text(config, "state") or state).expanduser() / f"client-{client}"
        return NodeConfig(client, folder, owns_all=examples == "all", **texts)


def _text(config: UserConfig, key: str) -> str | None:
    value = config.get(key)
    if value is not None and not isinstance(value, str):
        raise InvalidValue(key, "a text in quotes", value)
    return value
