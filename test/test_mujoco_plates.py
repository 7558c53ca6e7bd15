"""Surfaces that give and surfaces that can be left in MuJoCo, against our own plant.

There a surface is a plate of 0.1 kg on a spring; ours has no mass. So forces agree to 5 % where the
arm is heavier by far, and to less where nothing shakes the plate.
"""

import numpy as np
import pytest
from test_mujoco import after, seven

from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import PointOnCircle
from projected_control.simulation import make_plant
from projected_control.simulation.surfaces import Surface

mujoco = pytest.importorskip("mujoco", reason="MuJoCo is not installed: pip install mujoco")

K = 5e4
FINE = {"simulation.step": 2.5e-4, "simulation.stops": False, "contact.stiffness": [K]}
LEFT = {"constraint.one_sided": True}


def pressed(arm, newtons=20.0):
    """The effort that carries the arm's weight and presses, at its start."""
    model = arm.plant.model
    arm.reset()
    return model.h + model.A.T @ [newtons]


@pytest.mark.parametrize("changes", [{}, LEFT], ids=["held on both sides", "left"])
def test_a_plate_gives_as_our_surface_does(changes):
    """Depth and force while it is pressed in, and below it when it rests."""
    ends = []
    for engine in ("built_in", "mujoco"):
        arm = seven(engine, **FINE, **changes, **{"contact.damping": 400.0})
        ends.append((after(arm, 0.15, pressed(arm)), arm.plant.force_below))
    (ours, below), (its, felt) = ends
    assert np.linalg.norm(its.q - ours.q) < 2e-5
    assert its.multipliers == pytest.approx(ours.multipliers, rel=0.05)
    assert felt == pytest.approx(below, rel=0.05)
    assert 10.0 < below[0] < 40.0


def test_what_is_left_presses_no_more():
    """Pulled off with 20 N: both lose the surface, and move as free arms do."""
    ends = []
    for engine in ("built_in", "mujoco"):
        arm = seven(engine, **FINE, **LEFT)
        ends.append(after(arm, 0.1, pressed(arm, -20.0)))
    ours, its = ends
    assert ours.multipliers[0] == its.multipliers[0] == 0.0
    height = ours.q - seven("built_in", **FINE).plant.q
    assert np.linalg.norm(its.q - ours.q) < 5e-3 * np.linalg.norm(height)


@pytest.mark.parametrize("changes", [{"contact.stiffness": []}, {}], ids=["rigid", "gives"])
def test_it_comes_down_again(changes):
    """Lifted for 50 ms, then pressed: λ of the rest afterwards is that of our plant, to 5 %."""
    rests = []
    for engine in ("built_in", "mujoco"):
        damped = {} if changes else {"contact.damping": 800.0}
        arm = seven(engine, **{**FINE, **LEFT, **damped, **changes})
        after(arm, 0.05, pressed(arm, -20.0))
        forces, model = [], arm.plant.model
        for _ in range(400):
            state = arm.plant.state
            arm.read()
            arm.write(model.h + model.A.T @ [20.0] - 30.0 * model.M @ state.v)
            forces.append(arm.plant.state.multipliers[0])
        assert min(forces) >= -1e-9
        assert 0.0 in np.round(forces[:10], 9)
        rests.append(np.mean(forces[-100:]))
    assert rests[1] == pytest.approx(rests[0], rel=0.05)
    assert rests[0] > 5.0


def test_a_plate_rubs():
    """µ λ through the sensor, along the motion: what the arm puts on the plate that can be left."""
    arm = seven("mujoco", **FINE, **LEFT, **{"friction.contact": 0.3, "contact.damping": 400.0})
    model = arm.plant.model
    effort = pressed(arm) + model.P @ np.full(model.n, 1.0)
    after(arm, 0.02, effort)  # later it has left the plate
    wrench = arm.sense().wrench
    state = arm.plant.state
    speed = (model.arm.update(state.q, state.v).frame("tool").jacobian @ state.v)[:2]
    assert np.linalg.norm(speed) > 1e-3
    assert np.linalg.norm(wrench[:2]) == pytest.approx(0.3 * abs(wrench[2]), rel=0.05)
    assert wrench[:2] @ speed > 0.9 * np.linalg.norm(wrench[:2]) * np.linalg.norm(speed)


@pytest.mark.parametrize(("y", "ends"), [(-0.05, False), (0.05, True)])
def test_a_plate_ends_where_its_extent_does(y, ends):
    """Pressed at y = −0.1 in front of an edge: held by it, or past it and falling."""
    corners = [0.0, -1.0, 0.0, 1.0, y, 0.5] if not ends else [0.0, y, 0.0, 1.0, 1.0, 0.5]
    force = {}
    for engine in ("built_in", "mujoco"):
        ends_at = {"constraint.extent": corners, "contact.damping": 400.0}
        arm = seven(engine, **FINE, **LEFT, **ends_at)
        force[engine] = after(arm, 0.15, pressed(arm)).multipliers[0]
    assert force["mujoco"] == pytest.approx(force["built_in"], rel=0.05)
    assert bool(force["built_in"] == 0.0) is ends


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"contact.dissipation": 1.0}, "contact.dissipation.*proportion to the depth"),
        ({"contact.stiffness": [], "contact.restitution": 0.5, **LEFT}, "do not bounce"),
        (
            {
                "constraint.extent": [0.0, -1.0, 0.0, 1.0, 1.0, 1.0],
                "constraint.direction": [0.1, 0.0, -1.0],
                **LEFT,
            },
            "constraint.extent.*along x, y or z",
        ),
        ({"constraint.extent": [0.0, -1.0, 0.5, 1.0, 1.0, 1.0], **LEFT}, "lie within its extent"),
        ({"contact.stiffness": [5e6], **LEFT}, "too long for MuJoCo's plate"),
    ],
)
def test_what_a_plate_cannot_be_is_refused(changes, why):
    with pytest.raises(InvalidValue, match=why):
        seven("mujoco", **{**FINE, **changes})


def test_round_surfaces_that_give_are_refused():
    circle = PointOnCircle("tool", [0.45, 0.0, 0.25], [0.0, 0.0, 1.0], 0.1)
    model = ConstrainedArm(seven("built_in").plant.model.arm.twin(), circle)
    with pytest.raises(InvalidValue, match="a point_on_plane"):
        make_plant("mujoco", model, 2.5e-4, surface=Surface((K,)))
