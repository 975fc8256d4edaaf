"""What is asked of a fleet: participants in a share of the rounds of a year or a season, in a share of the years."""

from __future__ import annotations

import re
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ehfl.planning.budget import MONTHS, SEASONS, Calendar
from ehfl.validation import InvalidValue, number_in, whole_number

YEARS = 0.9  # share of the years, unless another one is asked for
_PARTS = {"at night": (18, 6), "by day": (6, 18)}  # of the day: from an hour, to an hour
_FORM = re.compile(
    r"\s*(?P<clients>\d+)\s*clients?\s+in\s+(?P<share>\d+(?:\.\d+)?)\s*%(?:\s+of\s+(?:the\s+)?rounds)?"
    rf"(?:\s+in\s+(?P<season>{'|'.join((*SEASONS, *MONTHS))}))?"
    rf"(?:\s+(?P<part>{'|'.join(_PARTS)})|\s+between\s+(?P<start>\d\d?):00\s+and\s+(?P<stop>\d\d?):00)?"
    r"(?:\s+in\s+(?P<good>\d+)\s+of\s+(?P<years>\d+)\s+years)?\s*",
    re.IGNORECASE,
)
FORM = (
    'as in "20 clients in 99 % of rounds", then "in December" or "in winter", "at night", "by day" or "between 22:00 '
    'and 06:00", and "in 9 of 10 years" if only these'
)


@dataclass(frozen=True, slots=True)
class Want:
    """At least `clients` participants in at least `share` of the rounds, in at least the share `years` of the years."""

    clients: int
    share: float
    season: str = ""  # "winter" or "December": only these rounds count
    hours: tuple[int, int] | None = None  # only rounds that begin between these hours count
    years: float = YEARS

    def __post_init__(self) -> None:
        whole_number("clients", self.clients, low=1)
        number_in("share", self.share, "(0, 1]")
        number_in("years", self.years, "(0, 1)")

    @staticmethod
    def parse(text: str, name: str = "want") -> Want:
        """Parse a requirement.

        >>> Want.parse("20 clients in 99 % of rounds in winter at night in 8 of 10 years")
        Want(clients=20, share=0.99, season='winter', hours=(18, 6), years=0.8)
        """
        found = _FORM.fullmatch(text)
        if found is None:
            raise InvalidValue(name, FORM, text)
        names = {one.lower(): one for one in (*SEASONS, *MONTHS)}
        hours = _PARTS.get((found["part"] or "").lower())
        if found["start"]:
            hours = int(found["start"]), int(found["stop"])
        years = YEARS if found["years"] is None else int(found["good"]) / max(int(found["years"]), 1)
        ends = hours or (0, 24)
        valid = int(found["clients"]) >= 1 and 0 < float(found["share"]) <= 100 and 0 < years < 1
        if not valid or max(ends) > 24 or ends[0] == ends[1]:
            raise InvalidValue(name, FORM, text)
        season = names.get((found["season"] or "").lower(), "")
        return Want(int(found["clients"]), float(found["share"]) / 100, season, hours, years)

    def rounds(self, calendar: Calendar | None, n_rounds: int) -> NDArray[np.bool_]:
        """Return which rounds count, (n_rounds,)."""
        counted = np.ones(n_rounds, dtype=bool)
        if not (self.season or self.hours):
            return counted
        if calendar is None:
            raise InvalidValue("want", "without months and hours: the harvest has no calendar", self)
        if self.season:
            counted &= calendar.in_season(self.season, n_rounds)
        if self.hours:
            first, last = self.hours
            hours = calendar.hours(range(n_rounds))
            inside = (hours >= first) & (hours < last) if first < last else (hours >= first) | (hours < last)
            counted &= inside
        if not counted.any():
            raise InvalidValue("want", "about rounds that are played", self)
        return counted

    def __str__(self) -> str:
        clients = f"{self.clients:,} client{'' if self.clients == 1 else 's'}"
        return f"{clients} in {100 * self.share:g} % of rounds{self.when}"

    @property
    def of_years(self) -> str:
        """The share of the years as text, "9 of 10 years"."""
        share = Fraction(self.years).limit_denominator(1000)
        return f"{share.numerator} of {share.denominator} years"

    @property
    def when(self) -> str:
        """The months and hours as text, " in December at night"; empty for all rounds."""
        season = f" in {self.season}" if self.season else ""
        part = next((f" {name}" for name, hours in _PARTS.items() if hours == self.hours), "")
        if self.hours and not part:
            part = f" between {self.hours[0]:02d}:00 and {self.hours[1]:02d}:00"
        return season + part
