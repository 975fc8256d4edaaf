"""The array types that rooms share, so that each is spelled once. Axis order is time, client, rest."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.integer[Any]]
Levels = NDArray[np.int32]  # E_i(t), (n_clients,): battery levels in whole quanta of energy
Clients = NDArray[np.int32]  # client numbers
