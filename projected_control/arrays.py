"""The arrays of numbers that every package speaks of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]  # real numbers; shapes and units are in the docstrings
