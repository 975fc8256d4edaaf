"""The record of a round on real devices: clients that answered, that were asked, and that lost their update."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ehfl.validation import is_label, printable, short

LONGEST_REASON = 200  # characters


@dataclass(frozen=True, slots=True)
class Devices:
    """A round as a server with real devices sees it.

    >>> seen = Devices(energy=(2, None, 1, 0), asked=(0, 2), lost={2: "no reply in 30 s"}, spent=(5, 3, 4, 4))
    >>> seen.online, seen.took_part
    ((0, 2, 3), (0,))
    """

    energy: tuple[int | None, ...]  # E_i(t) as each client reported it, (n_clients,); None where it did not answer
    asked: tuple[int, ...]  # clients that were sent the model, ascending
    lost: Mapping[int, str]  # those of them whose update does not count, with the reason
    spent: tuple[int, ...]  # each client's reported payments since the first round, (n_clients,)

    def __post_init__(self) -> None:
        n_clients = len(self.energy)
        ascending = all(one < other for one, other in zip(self.asked, self.asked[1:], strict=False))
        if not all(_is_whole(client, n_clients) for client in self.asked) or not ascending:
            raise ValueError("devices.asked must be ascending numbers of clients")
        if not set(self.lost) <= set(self.asked):
            raise ValueError("devices.lost names a client that was not asked")
        if not all(is_label(reason, most=LONGEST_REASON) for reason in self.lost.values()):
            raise ValueError(f"devices.lost must say why, in 1 to {LONGEST_REASON} printable characters")
        if not all(level is None or _is_whole(level) for level in self.energy):
            raise ValueError("devices.energy must be integers, or null")
        if len(self.spent) != n_clients or not all(map(_is_whole, self.spent)):
            raise ValueError("devices.spent must be an integer for each client")

    @property
    def online(self) -> tuple[int, ...]:
        """The clients that reported their energy, ascending."""
        return tuple(client for client, level in enumerate(self.energy) if level is not None)

    @property
    def took_part(self) -> tuple[int, ...]:
        """The clients whose updates were aggregated, ascending."""
        return tuple(client for client in self.asked if client not in self.lost)

    def facts(self) -> dict[str, Any]:
        """Return the values by name, ready for JSON, whose keys are strings."""
        lost = {str(client): self.lost[client] for client in sorted(self.lost)}
        return {"energy": list(self.energy), "asked": list(self.asked), "lost": lost, "spent": list(self.spent)}

    @staticmethod
    def read(facts: Mapping[str, Any]) -> Devices:
        """Return what `facts` returned, or raise ValueError or TypeError for anything else."""
        lost = {int(client): reason for client, reason in facts["lost"].items()}
        return Devices(tuple(facts["energy"]), tuple(facts["asked"]), lost, tuple(facts["spent"]))


def as_reason(text: str) -> str:
    r"""Return the text of a device or an error as a reason for a record: one printable line, cut off if long.

    >>> as_reason("too\n hot"), as_reason("")
    ('too hot', 'no reason given')
    """
    return short(printable(text), LONGEST_REASON) or "no reason given"


def _is_whole(value: object, below: float = float("inf")) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < below
