"""Tables that are touched by an arm of real parts."""

import numpy as np
import pytest

from projected_control.apps.experiments.catalogue import Options, run_experiment
from projected_control.apps.experiments.touch import Touch, judged, numbers_of, run_touch


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
    force[130:133] = 0.0
    longer = judged(Touch(0.1, 1e5, (0.0, 0.0, 1.0), 0.0), 3.0, 11.0, 1e-3 * np.arange(1000), force)
    assert longer.gaps == pytest.approx((2e-3, 3e-3))
    assert not longer.bounces_as_it_may  # fast, and two bounces: but the second is no shorter
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


def kept(count):
    """Our touches of a table: numbers over all, and each that breaks the bound of its peak."""
    runs = [run_touch(touch, "projected")[0] for touch in Touch.several(count)]
    return numbers_of(runs), [run for run in runs if run.peak > run.bound]


def test_random_touches():
    """20 to 100 mm/s on 5 to 500 N/mm, up to 10° and 3 mm wrong, with the parts of real.yaml."""
    numbers, over = kept(6)
    assert not over
    assert (numbers["bounces_as_they_may"], numbers["settled"]) == (6, 6)


@pytest.mark.long
@pytest.mark.timeout(3600)
def test_a_thousand_random_touches():
    """What docs/contacts.md says of them, to the touch."""
    numbers, over = kept(1000)
    assert (numbers["bounces_as_they_may"], numbers["settled"]) == (1000, 1000)
    assert [round(run.peak / run.bound, 3) for run in over] == [1.037]
