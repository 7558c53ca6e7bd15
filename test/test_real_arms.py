"""Descriptions as they are in the wild: every URDF of example-robot-data (the extra ``arms``)."""

import os
import sys
from pathlib import Path

import numpy as np
import pinocchio
import pytest

from projected_control import SimulatedArm, run
from projected_control.control import MotionController, MotionGains, PassiveJointController
from projected_control.control.limits import Limits
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import PointOnPlane, with_mimics
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.planning import assemble
from projected_control.simulation import Plant


def folder():
    """Where the descriptions are: of the package, or of another environment that is named."""
    given = os.environ.get("PROJECTED_CONTROL_ARMS")
    roots = [Path(given)] if given else [Path(path) for path in sys.path]
    for root in roots:
        for place in (root, root / "cmeel.prefix/share/example-robot-data/robots"):
            if place.name == "robots" and place.is_dir():
                return place
    return None


ROBOTS = folder()
FILES = sorted(ROBOTS.rglob("*.urdf")) if ROBOTS else []
MASSLESS = {"romeo.urdf", "romeo_laas_small.urdf"}
LIGHT = MASSLESS | {"icub.urdf"}
"""These have a joint that moves no inertia to speak of: the last one's neck 2.6e-9 kg·m²."""

FEW_JOINTS = 10
"""Up to so many joints an arm is run in every test; the others, up to fifty joints, in the long."""

pytestmark = [
    pytest.mark.peers,
    pytest.mark.skipif(
        ROBOTS is None,
        reason="example-robot-data is missing: pip install 'projected_control[arms]', or name its "
        "folder robots in PROJECTED_CONTROL_ARMS",
    ),
]


def is_loaded_by_pinocchio(path):
    try:
        return pinocchio.buildModelFromUrdf(str(path)).nv > 0
    except (ValueError, RuntimeError):
        return False


def identify(path):
    return f"{path.parts[-3]}/{path.name}"


LOADED = [path for path in FILES if is_loaded_by_pinocchio(path)]


def test_pinocchio_loads_nearly_all():
    """But for a few without a joint that moves, or with what no parser takes."""
    assert len(LOADED) >= 0.9 * len(FILES) > 50, [p.name for p in FILES if p not in LOADED]


@pytest.mark.parametrize("path", LOADED, ids=identify)
def test_what_pinocchio_loads_is_loaded(path):
    """All of it; moving links without mass have to be permitted, and are named."""
    arm = Arm.from_urdf(path)
    singular = any("inertia matrix is singular" in text for text in arm.warnings)
    assert singular is (path.name in MASSLESS)
    assert bool(arm.implausible) is (path.name in MASSLESS | {"human.urdf"})
    assert all("line " in text for text in arm.implausible)
    assert arm.n == pinocchio.buildModelFromXML(arm.urdf).nv
    assert set(arm.mimics) <= arm.passive
    missing = ~np.isfinite(arm.limits.velocity) | ~np.isfinite(arm.limits.effort)
    for name in np.array(arm.joint_names)[missing]:
        assert any(repr(str(name)) in text for text in arm.warnings), name


def arms():
    """All that Pinocchio loads, each standing on its base as an arm does."""
    return [
        pytest.param(
            path,
            id=identify(path),
            marks=[pytest.mark.long] if joints_of(path) > FEW_JOINTS else [],
        )
        for path in LOADED
    ]


def joints_of(path):
    return pinocchio.buildModelFromUrdf(str(path)).nv


def tip_of(arm):
    """The link that most joints move."""
    return max(arm.frame_names, key=lambda name: arm.attachment(name).support.sum())


@pytest.mark.parametrize("path", arms())
def test_pidc_moves_every_arm_along_a_plane(path):
    """One second, the tip on a plane, a joint that goes 0.02 rad aside and is tracked.

    Rotors stand in for links without mass, which nothing would carry.
    """
    arm = Arm.from_urdf(path, gravity=9.81, armature=0.01 if path.name in LIGHT else 0.0)
    limits = arm.limits
    ranged = np.isfinite(limits.lower) & np.isfinite(limits.upper)
    middle = np.where(ranged, 0.5 * (np.maximum(limits.lower, -9) + np.minimum(limits.upper, 9)), 0)
    start = assemble(arm, with_mimics(arm, None), middle + 0.1) if arm.mimics else middle + 0.1
    tip = tip_of(arm)
    place = arm.update(start, np.zeros(arm.n)).frame(tip)
    normal = np.linalg.svd(place.jacobian[:3])[0][:, 0]
    constraint = with_mimics(arm, PointOnPlane(tip, place.position, normal))
    seen = ConstrainedArm(arm, constraint).evaluate(start, np.zeros(arm.n))
    free = np.linalg.norm(seen.P, axis=0) * arm.actuated
    joint = arm.joint_names[int(np.argmax(free))]
    model = ConstrainedArm(arm.twin(), constraint, Coordinates([Coordinate.joint(joint)]))
    kind = PassiveJointController if arm.passive else MotionController
    controller = kind(model, MotionGains(100.0, 20.0, 10.0), period=1e-3)
    goal = start[arm.joint_index(joint)] + 0.02
    loop = ControlLoop(controller, Constant([goal]), limits=unlimited(arm))
    plant = Plant(ConstrainedArm(arm.twin(), constraint, tolerance=1e-6), 1e-3)
    port = SimulatedArm(plant, start, np.zeros(arm.n), period=1e-3)
    run(loop, port, 1000)
    assert plant.state.residual < 1e-9
    moved = plant.q[arm.joint_index(joint)]
    expected = goal - 0.02 * (1.0 + 10.0) * np.exp(-10.0)  # e(1) of ë + 20 ė + 100 e = 0
    assert moved == pytest.approx(expected, abs=2e-5)


def unlimited(arm):
    """Limits that play no part: what counts here is the model."""
    wide = np.full(arm.n, 1e9)
    return Limits.of(arm, effort=wide, effort_rate=wide, velocity=wide, lower=-wide, upper=wide)
