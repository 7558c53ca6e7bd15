"""Inverse dynamics of a five-bar against TSID's, where `bench peers` has made its environment."""

import numpy as np
import pytest

from projected_control.apps.bench.five_bar import ENDS, PASSIVE, assembled, five_bar_urdf
from projected_control.apps.bench.peer_environment import TSID, ask
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import LoopClosure
from projected_control.model.inverse_dynamics import inverse_dynamics
from projected_control.native.toolchain import cache_folder


@pytest.mark.skipif(
    not (cache_folder() / "peers-tsid" / "complete").exists(),
    reason="no environment with TSID: `projected-control bench peers` makes one",
)
def test_torques_of_a_five_bar_are_tsids():
    """For the acceleration that TSID finds; its loop is a soft task, good to 1e-4."""
    found = ask(TSID, 0.05)
    arm = Arm.from_urdf(five_bar_urdf(), passive=PASSIVE)
    model = ConstrainedArm(arm, LoopClosure(*ENDS, plane_normal=[0.0, 0.0, 1.0]))
    q = np.array([assembled()[name] for name in arm.joint_names])
    theirs, effort = (
        np.array([found[key][name] for name in arm.joint_names])
        for key in ("acceleration", "effort")
    )
    at = model.evaluate(q, np.zeros(4))
    acceleration = at.P @ theirs
    np.testing.assert_allclose(acceleration, theirs, atol=1e-4)
    ours = inverse_dynamics(model, q, np.zeros(4), acceleration)
    np.testing.assert_allclose(ours.effort, effort, rtol=1e-3, atol=1e-5)
    assert np.abs(effort).max() > 0.01
