"""Closed-chain inverse dynamics against placo's, where an environment has placo."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

from projected_control.apps.bench.five_bar import ENDS, PASSIVE, assembled, five_bar_urdf
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import LoopClosure
from projected_control.model.inverse_dynamics import inverse_dynamics
from projected_control.planning import assemble
from projected_control.resources import cache_folder


def placo_python():
    """placo needs another Pinocchio than ours: it lives in the environment of `bench peers`."""
    named = os.environ.get("PLACO_PYTHON", "")
    folder = cache_folder() / "peers-placo"
    if named:
        return Path(named)
    if (folder / "complete").exists():
        return folder / "bin" / "python"
    pytest.skip(
        "no environment with placo: `projected-control bench peers` makes one, or name its Python "
        "in PLACO_PYTHON"
    )


@pytest.mark.peers
@pytest.mark.parametrize("speed", [0.0, 1.0])
def test_torques_of_a_five_bar_are_placos(tmp_path, speed):
    """The same motion asked of both, at rest and moving: torques to placo's regularisation, 1e-5.

    placo leaves J̇q̇ out of the task that closes the loop; it is given that as an acceleration.
    """
    python = placo_python()
    arm = Arm.from_urdf(five_bar_urdf(), passive=PASSIVE)
    model = ConstrainedArm(arm, LoopClosure(*ENDS, plane_normal=[0.0, 0.0, 1.0]))
    q = np.array([assembled()[name] for name in arm.joint_names])
    P = model.evaluate(q, np.zeros(4)).P.copy()
    v = speed * P @ np.array([1.0, 0.3, -0.5, 0.2])
    model.evaluate(q, v)
    acceleration = model.A_pinv @ model.b + P @ np.array([2.0, 0.0, 1.0, -1.0])
    ours = inverse_dynamics(model, q, v, acceleration)
    opening = ConstrainedArm(arm, LoopClosure(*ENDS)).evaluate(q, v).b  # in world axes
    (tmp_path / "robot.urdf").write_text(five_bar_urdf(), encoding="utf-8")
    problem = {
        "urdf": str(tmp_path),
        "q": dict(zip(arm.joint_names, q, strict=True)),
        "v": dict(zip(arm.joint_names, v, strict=True)),
        "acceleration": dict(zip(arm.joint_names, acceleration, strict=True)),
        "ends": ENDS,
        "axes": "xy",
        "closing": (-arm.frame(ENDS[0]).rotation.T @ opening).tolist(),
        "passive": PASSIVE,
    }
    script = Path(__file__).with_name("placo_five_bar.py")
    done = subprocess.run(
        [str(python), "-I", str(script)],
        input=json.dumps(problem),
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(done.stdout.strip().splitlines()[-1])
    assert found["success"]
    qdd, tau = (np.array([found[key][name] for name in arm.joint_names]) for key in ("qdd", "tau"))
    np.testing.assert_allclose(qdd, acceleration, rtol=1e-5, atol=1e-8)
    np.testing.assert_allclose(tau, ours.effort, rtol=1e-5, atol=1e-8)


def examples():
    """Descriptions of placo's own examples, in a checkout of them: the wheel brings none."""
    folder = os.environ.get("PLACO_EXAMPLES", "")
    return sorted(Path(folder).rglob("robot.urdf")) if folder else []


@pytest.mark.skipif(
    not examples(),
    reason="not on PyPI: name a checkout of placo-examples in PLACO_EXAMPLES",
)
def test_placos_own_descriptions_are_loaded():
    """Ten in November 2026, its planar closed chain among them, which closes and moves."""
    arms = {path.parent.name: Arm.from_urdf(path) for path in examples()}
    assert len(arms) >= 9
    planar = Arm.from_urdf(
        next(path for path in examples() if path.parent.name == "planar-2dof"),
        passive=("passive1", "passive2"),
    )
    closed = LoopClosure("closing_effector_1", "closing_effector_2", plane_normal=[1.0, 0.0, 0.0])
    model = ConstrainedArm(planar, closed)
    at = model.evaluate(assemble(planar, closed, np.zeros(4)), np.zeros(4))
    assert np.abs(at.residual).max() < 1e-12
    found = inverse_dynamics(model, planar.q, np.zeros(4), at.P @ np.array([1.0, 0.0, 2.0, 0.0]))
    assert np.abs(found.effort[[0, 2]]).min() > 0.01
    assert (found.effort[[1, 3]] == 0.0).all()
