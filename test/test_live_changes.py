"""A delay that is longer than was thought: both loops are judged for it."""

import numpy as np
import pytest
from arms import slider_model

pytest.importorskip("rclpy", reason="the room of ROS imports it")

from projected_control.control import ForceController, ForceGains, MotionController, MotionGains
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant
from projected_control.errors import UnstableForceLoop, UnstableMotionLoop
from projected_control.ros.live_changes import allow_for_delay


def hybrid(stiffness: float = 10.0, damping: float = 6.0) -> ControlLoop:
    force = ForceGains(proportional=3.0, integral=0.1, cutoff=20.0)
    controller = ForceController(slider_model(), MotionGains(stiffness, damping), force)
    return ControlLoop(controller, Constant(np.zeros(2)))


def test_a_longer_delay_counts_in_the_force_loop():
    loop = hybrid()
    allow_for_delay(loop, 4)
    assert loop.controller.force.gains.delay == 4
    allow_for_delay(loop, 2)  # a shorter one changes nothing
    assert loop.controller.force.gains.delay == 4
    with pytest.raises(UnstableForceLoop):
        allow_for_delay(loop, 40)
    assert loop.controller.force.gains.delay == 4


def test_to_check_changes_nothing():
    loop = hybrid()
    allow_for_delay(loop, 4, only_check=True)
    assert loop.controller.force.gains.delay == 1


def test_a_longer_delay_counts_in_the_motion_loop():
    """G_D T = 0.8: stable with one sample of delay, not with three."""
    stiff = MotionController(slider_model(), MotionGains(1e4, 800.0))
    loop = ControlLoop(stiff, Constant(np.zeros(2)))
    allow_for_delay(loop, 1)
    with pytest.raises(UnstableMotionLoop, match=r"tip\.x"):
        allow_for_delay(loop, 3)
