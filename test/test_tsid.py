"""Against TSID, where `bench peers` has made its environment: a five-bar, and levels of tasks."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from projected_control.apps.bench.five_bar import ENDS, PASSIVE, assembled, five_bar_urdf
from projected_control.apps.bench.peer_environment import TSID, ask, peer_python
from projected_control.apps.bench.tick_cases import spatial_urdf
from projected_control.control import MotionGains, OperationalSpaceController
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import LoopClosure, PointAtPoint
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.model.inverse_dynamics import inverse_dynamics
from projected_control.resources import cache_folder

pytestmark = [
    pytest.mark.peers,
    pytest.mark.skipif(
        not (cache_folder() / "peers-tsid" / "complete").exists(),
        reason="no environment with TSID: `projected-control bench peers` makes one",
    ),
]


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


BENT = np.array([0.8, 0.8, -0.5, 0.8, -0.7, -0.4, -0.2])
FOLLOWED = ("joint_3", "joint_5", "joint_6", "joint_7")
"""With the tip's place, or with the tip held, they determine every joint."""


def tsid_says(folder, arm, q, v, **asked):
    (folder / "robot.urdf").write_text(spatial_urdf(), encoding="utf-8")
    by_joint = {
        key: dict(zip(arm.joint_names, x.tolist(), strict=True)) for key, x in (("q", q), ("v", v))
    }
    done = subprocess.run(
        [str(peer_python(TSID)), "-I", str(Path(__file__).with_name("tsid_levels.py"))],
        input=json.dumps({"urdf": str(folder), **by_joint, **asked}),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["status"] == 0
    return [
        np.array([found[key][name] for name in arm.joint_names])
        for key in ("effort", "acceleration")
    ]


@pytest.mark.parametrize("seed", range(3))
def test_two_levels_of_tasks_are_tsids(tmp_path, seed):
    """The tip's acceleration before that of four joints, on a free arm of seven that moves."""
    random = np.random.default_rng(seed)
    tip, joints = random.normal(size=3), random.normal(size=4)
    q, v = BENT + 0.2 * random.normal(size=7), random.normal(size=7)
    arm = Arm.from_urdf(spatial_urdf())
    members = [Coordinate.position("tip", axis) for axis in "xyz"]
    members += [Coordinate.joint(name) for name in FOLLOWED]
    model = ConstrainedArm(arm, None, Coordinates(members))
    made = OperationalSpaceController(model, MotionGains(100.0, 20.0), (1, 1, 1, 2, 2, 2, 2))
    model.evaluate(q, v)
    made.motion[:] = model.theta, model.theta_rate, [*tip, *joints]
    ours = made.update(q, v).total
    effort, _ = tsid_says(
        tmp_path,
        arm,
        q,
        v,
        held="",
        frame="tip",
        acceleration=tip.tolist(),
        joints=dict(zip(FOLLOWED, joints.tolist(), strict=True)),
    )
    np.testing.assert_allclose(ours, effort, rtol=1e-6, atol=1e-6)
    assert np.abs(effort).max() > 1.0


@pytest.mark.parametrize("seed", range(3))
def test_along_the_constraint_the_effort_is_tsids(tmp_path, seed):
    """The tip held at a point: what TSID adds across the constraint is its own choice."""
    random = np.random.default_rng(seed)
    joints, q = random.normal(size=4), BENT + 0.2 * random.normal(size=7)
    arm = Arm.from_urdf(spatial_urdf())
    place = arm.update(q, np.zeros(7)).frame("tip").position.copy()
    model = ConstrainedArm(arm, PointAtPoint("tip", place), Coordinates.of_joints(FOLLOWED))
    made = OperationalSpaceController(model, MotionGains(100.0, 20.0), (1, 1, 2, 2))
    v = model.evaluate(q, np.zeros(7)).P @ random.normal(size=7)
    model.evaluate(q, v)
    made.motion[:] = model.theta, model.theta_rate, joints
    ours = made.update(q, v).total
    effort, acceleration = tsid_says(
        tmp_path,
        arm,
        q,
        v,
        held="tip",
        frame="",
        acceleration=[],
        joints=dict(zip(FOLLOWED, joints.tolist(), strict=True)),
    )
    np.testing.assert_allclose(model.A @ acceleration, model.b, atol=1e-6)
    np.testing.assert_allclose(ours, model.P @ effort, rtol=1e-6, atol=1e-6)
    assert np.abs(ours).max() > 1.0
