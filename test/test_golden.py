"""The numbers of yesterday: every controller on every arm, tick by tick, to 1e-9."""

from __future__ import annotations

import numpy as np
import pytest
from golden_runs import FOLDER, RUNS


@pytest.mark.parametrize("name", RUNS)
def test_golden(name: str) -> None:
    course = RUNS[name]()
    with np.load(FOLDER / f"{name}.npz") as golden:
        assert set(golden) == set(course)
        for quantity, expected in golden.items():
            np.testing.assert_allclose(
                course[quantity], expected, rtol=0.0, atol=1e-9, err_msg=f"{name}: {quantity}"
            )
