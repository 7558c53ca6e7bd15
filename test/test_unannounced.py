"""A wall that was not announced, on the way of an arm of real parts."""

import numpy as np
import pytest

from projected_control.apps.experiments.catalogue import run_experiment
from projected_control.apps.experiments.unannounced import MORE, pass_through, settings_of
from projected_control.control.events import Event
from projected_control.errors import InvalidValue
from projected_control.settings.build import build_controller


def test_a_wall_that_nobody_announced():
    """No larger force than an impedance of equal stiffness, a softer release, no error left."""
    numbers = run_experiment("unannounced").numbers
    ours, other = numbers["projected"], numbers["impedance"]
    assert ours["force_max"] <= other["force_max"]
    assert ours["release_acceleration"] <= other["release_acceleration"]
    assert ours["error_in_the_end"] < 1e-3
    assert 1.0 < ours["force_at_rest"] < other["force_at_rest"]
    assert numbers["stops"]["force_at_rest"] < 1.0
    for worse in ("integral", "observer"):
        assert numbers[worse]["force_at_rest"] > 1.5 * other["force_at_rest"]


def test_a_free_arm_notices_a_wall_and_tells_it_from_friction():
    """It is noticed within 15 ms; without the wall, joints that stick and turn round are not."""
    passed, _ = pass_through("projected", more=MORE["stops"])
    noticed = np.flatnonzero(passed.events & Event.UNEXPECTED_CONTACT)
    assert 0 < noticed[0] - np.flatnonzero(passed.force)[0] < 15
    free, _ = pass_through("projected", more=MORE["stops"], wall=1.0)
    assert not free.force.any()
    assert not (free.events & Event.UNEXPECTED_CONTACT).any()
    assert abs(free.x - free.wanted).max() < 2e-3


def test_a_law_that_sends_velocities_knows_no_effort():
    more = {**MORE["stops"], "law": "resolved_rate"}
    settings = settings_of("projected", 0.0, more).controller("motion_controller")
    with pytest.raises(InvalidValue, match="sends none: set it to 0"):
        build_controller("motion_controller", settings)
