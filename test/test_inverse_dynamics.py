"""Closed-chain inverse dynamics: undone by forward dynamics, and honest about what is free."""

import numpy as np
import pytest
from arms import URDF

from projected_control.errors import InvalidValue, Uncontrollable
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import LoopClosure
from projected_control.model.dynamics import Problem, projected
from projected_control.model.inverse_dynamics import inverse_dynamics
from projected_control.planning import assemble

START = [2.2, -1.2, 0.94, 1.2]


def five_bar(passive=("left_elbow", "right_elbow"), plane=(0, -1, 0)):
    arm = Arm.from_urdf(URDF / "five_bar.urdf.xacro", passive=passive)
    loop = LoopClosure("tip", "right_tip", plane_normal=plane)
    model = ConstrainedArm(arm, loop)
    q = assemble(arm, loop, START)
    model.evaluate(q, np.zeros(4))
    v = model.P @ np.array([1.0, 0.3, -0.5, 0.2])
    model.evaluate(q, v)
    acceleration = model.A_pinv @ model.b + model.P @ np.array([2.0, 0.0, 1.0, -1.0])
    return model, q, v, acceleration


@pytest.mark.parametrize("passive", [("left_elbow", "right_elbow"), ("left_elbow",), ()])
def test_forward_dynamics_gives_the_motion_back(passive):
    model, q, v, acceleration = five_bar(passive)
    found = inverse_dynamics(model, q, v, acceleration)
    for name in passive:
        assert found.effort[model.arm.joint_index(name)] == 0.0
    back = projected(Problem.of(model.evaluate(q, v), found.effort))
    np.testing.assert_allclose(back.acceleration, acceleration, atol=1e-9)
    np.testing.assert_allclose(back.multipliers, found.multipliers, atol=1e-9)
    assert found.internal.shape == (4, 2 - len(passive))
    assert found.rank == 2


def test_spare_motors_meet_a_wanted_force():
    """Four motors, two free directions: both parts of the force at the tip can be chosen."""
    model, q, v, acceleration = five_bar(())
    found = inverse_dynamics(model, q, v, acceleration, multipliers=[7.0, -3.0])
    np.testing.assert_allclose(found.multipliers, [7.0, -3.0], atol=1e-9)
    back = projected(Problem.of(model.evaluate(q, v), found.effort))
    np.testing.assert_allclose(back.acceleration, acceleration, atol=1e-9)
    least = inverse_dynamics(model, q, v, acceleration)
    assert np.linalg.norm(least.effort) < np.linalg.norm(found.effort)
    np.testing.assert_allclose(least.internal.T @ least.effort, 0.0, atol=1e-9)


def test_rows_that_repeat_are_said():
    """In space, one of the three rows is void: λ is ambiguous by one direction."""
    model, q, v, acceleration = five_bar(plane=None)
    found = inverse_dynamics(model, q, v, acceleration)
    assert (model.m, found.rank, found.ambiguous.shape) == (3, 2, (3, 1))
    np.testing.assert_allclose(np.abs(found.ambiguous[:, 0]), [0.0, 1.0, 0.0], atol=1e-9)
    planar = inverse_dynamics(*five_bar())
    np.testing.assert_allclose(found.effort, planar.effort, atol=1e-9)


def test_what_cannot_be_is_refused():
    model, q, v, acceleration = five_bar()
    with pytest.raises(InvalidValue, match="breaks the constraint"):
        inverse_dynamics(model, q, v, acceleration + 1.0)
    model, q, v, acceleration = five_bar(("left_elbow", "right_elbow", "right_motor"))
    with pytest.raises(Uncontrollable, match="cannot give this motion"):
        inverse_dynamics(model, q, v, acceleration)
