"""Tables that are touched by an arm of real parts."""

import numpy as np
import pytest

from projected_control.apps.experiments.catalogue import Options, run_experiment
from projected_control.apps.experiments.touch import Touch, judged, numbers_of


def test_a_run_in_numbers():
    """Left for 2 and then for 1 ms; 12 N at most; 10.5 N in the end."""
    touch = Touch(0.05, 1e4, (0.0, 0.0, 1.0), 0.0)
    force = np.full(1000, 10.5)
    force[:100] = 0.0
    force[110], force[120:122], force[130] = 12.0, 0.0, 0.0
    found = judged(touch, 3.0, 11.0, 1e-3 * np.arange(1000), force)
    assert found.gaps == pytest.approx((2e-3, 1e-3))
    assert (found.peak, found.off) == (12.0, pytest.approx(0.05))
    assert found.momentum == pytest.approx(0.05 * np.sqrt(3e4))
    assert found.settled
    assert not found.bounces_as_it_may  # v √(K m_n) = 8.7 N
    nothing = judged(touch, 3.0, 11.0, 1e-3 * np.arange(1000), np.zeros(1000))
    assert not nothing.settled
    counts = numbers_of([found, nothing])
    assert (counts["touches"], counts["settled"], counts["peak_within_bound"]) == (2, 1, 1)


def test_others_beside_it():
    """An impedance that is led onto a table presses with what its spring makes of the place."""
    numbers = run_experiment("touch", Options(count=2, seed=2)).numbers
    ours, other = numbers["projected"], numbers["impedance"]
    assert (ours["peak_within_bound"], ours["bounces_as_they_may"], ours["settled"]) == (2, 2, 2)
    assert other["peak_within_bound"] == 0
    assert numbers["selection"]["touches"] == 2
