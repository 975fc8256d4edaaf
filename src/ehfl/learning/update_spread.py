"""The spread of the updates of a round, computed as they arrive, without storing them."""

from __future__ import annotations

import torch
from torch import Tensor

from ehfl.learning.aggregation import Update
from ehfl.learning.aggregation.mean import exact_on


class UpdateSpread:
    """|m|^2 of the mean update m and the updates' spread about it, with one vector in memory (Welford 1962).

    With m_k the mean of the first k updates Delta_1, ..., Delta_k, and S_k the sum of |Delta_i - m_k|^2 over them:
    m_k = m_{k-1} + (Delta_k - m_{k-1})/k and S_k = S_{k-1} + (1 - 1/k) |Delta_k - m_{k-1}|^2. For independent and
    identically distributed updates, S_n/(n - 1) is an unbiased estimate of their variance, and |m_n|^2 - S_n/(n(n - 1))
    of the square of their expectation. The ratio is the noise scale (McCandlish et al. 2018, arXiv 1812.06162), in
    clients.

    >>> spread, x = UpdateSpread(), torch.zeros(2)
    >>> for client, weights in enumerate(([3.0, 0.0], [1.0, 4.0])):
    ...     spread.add(Update(client, x, torch.tensor(weights), loss=0.5, steps=1, examples=9))
    >>> round(spread.square, 9), round(spread.spread, 9)  # the mean is (2, 2); both lie (1, 2) away from it
    (8.0, 10.0)
    """

    def __init__(self) -> None:
        self._count = 0
        self._mean: Tensor | None = None  # m_k, (n_params,)
        self._squares = 0.0  # S_k

    def add(self, update: Update) -> None:
        """Add one update, the difference between the returned model and the client's start."""
        away = update.delta  # a new vector, so the in-place operations below change no model
        self._count += 1
        if self._mean is None:
            self._mean = away
        else:
            away.sub_(self._mean)
            self._mean.add_(away, alpha=1 / self._count)
            self._squares += (1 - 1 / self._count) * _square(away)

    @property
    def square(self) -> float | None:
        """|m_n|^2, None without an update."""
        return None if self._mean is None else _square(self._mean)

    @property
    def spread(self) -> float | None:
        """S_n/(n - 1), None with fewer than two updates."""
        return None if self._count < 2 else self._squares / (self._count - 1)


def _square(vector: Tensor) -> float:
    """Return |v|^2, summed in float64 if the device supports it: squares of float32 may overflow float32."""
    return float(torch.linalg.vector_norm(vector, dtype=exact_on(vector.device))) ** 2
