"""Right and wrong values. Sizes are tiny or far too large: what lies between would be right, and slow."""

from __future__ import annotations

import math
from random import Random
from typing import Any

# What may be typed where a number, a name or a path is wanted.
NUMBERS = (
    "0", "1", "2", "3", "5", "-1", "-0", "+3", " 3 ", "0.5", "1.0", "1e0", "1e300", "1e-300", "1e-320", "5e-324", "nan",
    "inf", "-inf", "1_0", "0x10", "0b1", "07", "²", "٣", "½", "1,2", "1, 2, 3", "1;2", "--5", "1e", ".", "1.2.3",
    "9" * 20, "9" * 400, "2147483647", "2147483648", "4294967296", "18446744073709551616", "1e19", "true", "none",
)  # fmt: skip
TEXTS = (
    "", " ", "a", "a b", "A-b", "é", "日本語", "\x1b[31mred", "a\nb", "a\tb", "\r", "\x07", "\u202e", "\u200b",
    "x" * 300, "x" * 5000, "..", "../..", ".", "/", "/nowhere/at/all", "$x$", "$\\frac$", "[bold]a[/bold]", "[", "]",
    "{", "}",
    "{a=1}", "{a=}", "[1, 2]", "[1, 2", "['a']", "'", '"', "\\", "=", "a=", "=a", "a=b=c", ":", "::", "a:", ":a",
    "a:b:c", "%s", "%d", "{0}", "#", "-", "--", "---", "null", "None", "auto", "file.toml", "\ud800", "a\udcff",
)  # fmt: skip
KNOWN = (
    "myopic", "greedy", "round-robin", "round-robin:1", "uniform-random:2", "uniform-random", "always-on",
    "oldest-first", "power-of-choice", "power-of-choice:target=1,candidates=2", "bernoulli", "bernoulli:0.5",
    "replay", "iid", "mean", "fedau", "scheduled", "inverse-probability", "f3ast:rate=0.1", "energy-cycles",
    "most-rounds-left", "threshold:0.5", "lyapunov:3", "lyapunov", "forecast:horizon=3,target=1", "forecast",
    "adaptive-steps", "adaptive-steps:reserve=1", "fednova",
    "dirichlet:0.5", "shards:2", "weighted", "nominal", "linear", "constant:0.1", "theorem", "theorem:0.5", "quadratic",
    "wells", "nominal-causal", "linear-causal:0.2", "MYOPIC", "round_robin", "mypoic", "sys:exit", "os:getcwd",
    "markov:stay_on=0.9,stay_off=0.8", "poisson:2", "compound:rate=1,mean_size=2", "periodic:[1, 0]",
    "ehfl:Fleet", "ehfl.scheduling:Myopic", "json:JSONDecoder", "math:pi", "no.such:Thing", "builtins:int",
)  # fmt: skip


def typed(chance: Random) -> str:
    """Return something that a user may type by mistake."""
    text = chance.choice(chance.choice((NUMBERS, TEXTS, KNOWN)))
    return spoilt(chance, text) if chance.random() < 0.2 else text


def spoilt(chance: Random, text: str) -> str:
    """Return a text with one character missing, doubled, moved or replaced."""
    at = chance.randrange(len(text) + 1)
    odd = chance.choice("0:=,.-+[]{}'\"\\ \né\x1b%$")
    return chance.choice(
        (text[:at] + text[at + 1 :], text[:at] + odd + text[at:], text[:at] + odd, text[at:], text * 2)
    )


def wild(chance: Random, depth: int = 2) -> Any:
    """Return a value of any kind that TOML has, lists and tables included."""
    if depth and chance.random() < 0.2:
        return [wild(chance, depth - 1) for _ in range(chance.randrange(4))]
    if depth and chance.random() < 0.1:
        return {chance.choice(TEXTS): wild(chance, depth - 1) for _ in range(chance.randrange(3))}
    return chance.choice((number, typed))(chance)


def number(chance: Random) -> float:
    """Return a number, a likely or an extreme one."""
    whole_ones = (0, 1, 2, -1, True, False, 2**31, 2**63, 2**64, -(2**63), 10**30)
    return chance.choice((*whole_ones, 0.0, -0.0, 0.5, 1.5, -1.0, 1e300, 5e-324, math.nan, math.inf, -math.inf))
