"""A contact that slides, for the controller: its force is oblique, and λ = u_λ whatever µ is."""

import numpy as np
import pytest
from arms import raw_state
from test_contacts import read
from test_impacts import Q, on_floor, two_links

from projected_control import Runner, SimulatedArm
from projected_control.control import ForceController, ForceGains, MotionGains
from projected_control.control.contact import Contact, ContactState
from projected_control.control.loop import ControlLoop
from projected_control.control.one_sided import OneSided
from projected_control.control.references import Constant, Reference, ReferencePoint, Waypoints
from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.ros.live_changes import prepare_change
from projected_control.settings import build

MU, T = 0.5, 1e-3
OPEN = ForceGains(0.0, 0.0, None)


def sliding(mu, reference, force):
    """Aghili's arm of (66) on its floor, its force asked for along the way; no feedback on λ."""
    bare = two_links()
    model = ConstrainedArm(
        bare.arm, bare.constraint, Coordinates([Coordinate.position("tip", "x")]), tolerance=1e-6
    )
    controller = ForceController(model, MotionGains(400.0, 40.0), OPEN, T)
    controller.contacts.lay([OneSided.of_row("floor", 0)])
    controller.set_contact(Contact(friction=mu, threshold=0.01))
    return ControlLoop(controller, reference, force_reference=Constant([force]))


class Still(Reference):
    """The same place, rate and acceleration at any time."""

    def __init__(self, point):
        self.point, self.size = point, 1

    def at(self, time):
        return self.point


def block(model, f, mu):
    """(q̈, λ) of [M B; A 0] (q̈, λ) = (f − h, b), B = (A + µ t̂ᵀJ)ᵀ."""
    J = model.arm.frame("tip").jacobian[0]
    B = (model.A + mu * np.sign(J @ model.v) * J).T
    whole = np.block([[model.M, B], [model.A, np.zeros((1, 1))]])
    found = np.linalg.solve(whole, [*(f - model.h), *model.b])
    return found[:2], found[2:]


@pytest.mark.parametrize(
    ("mu", "acceleration", "force"),
    [
        (0.0, (-1.334503175, 2.669006351), 13.380496825),
        (0.5, (2.362990154, -4.725980309), 17.077990154),
    ],
)
def test_what_friction_does_by_itself_takes_no_effort(mu, acceleration, force):
    """Asked for the motion and the force of an arm that slides without any, the law sends none."""
    v = np.array([-0.5, 1.0])
    model = two_links().evaluate(Q, v)
    tip = model.arm.frame("tip")
    asked = tip.jacobian[0] @ np.array(acceleration) + tip.bias[0]
    point = ReferencePoint(*np.array([[tip.position[0]], [tip.jacobian[0] @ v], [asked]]))
    loop = sliding(mu, Still(point), force)
    loop.controller.hold(Q)
    for k in range(3):
        report = loop.update(raw_state(loop.controller.model, Q, v, force, k * T))
    assert loop.controller.contacts.state("floor") is ContactState.HOLDS
    np.testing.assert_allclose(report.effort, 0.0, atol=1e-6)


def test_force_and_path_are_as_asked_on_a_floor_that_rubs():
    """12 N at 0.2 m/s with µ = 0.5, no feedback on λ: by the block matrix, and in the plant."""
    off = {}
    for known in (MU, 0.0):
        x = two_links().evaluate(Q, np.zeros(2)).arm.frame("tip").position[0]
        way = Waypoints([0.0, 1.0], [[x], [x + 0.2]], [[0.0], [0.0]], order=3)
        loop = sliding(known, way, 12.0)
        hardware = SimulatedArm(on_floor(friction=MU), Q)
        hardware.carry([12.0])
        loop.controller.hold(Q)
        runner = Runner(loop, hardware)
        kept = runner.keep(900)
        runner.run(900)
        middle = slice(200, 850)
        force, error = kept.column("true_multipliers")[:, 0], kept.column("error")[:, 0]
        off[known] = np.abs(force[middle] - 12.0).max(), np.abs(error[middle]).max()
        q, v, sent = (kept.column(name) for name in ("true_q", "true_v", "effort"))
        for k in range(300, 800, 100):
            model = two_links().evaluate(q[k], v[k])
            _, found = block(model, sent[k], MU)
            assert (abs(found[0] - 12.0) < 0.02) == (known == MU)
    assert off[MU][0] < 0.02
    assert off[MU][1] < 1e-4
    assert off[0.0][0] > 0.5
    assert off[0.0][1] > 5e-3


def test_it_is_not_sent_twice():
    """With compensation.contact as well it is refused, in a file and while the arm moves."""
    both = {"constraint.one_sided": True, "contact.friction": 0.2, "compensation.contact": 0.2}
    with pytest.raises(InvalidValue, match=r"compensation\.contact .* set one of them to 0"):
        build.build_loop("force_controller", read(both).controller("force_controller"))
    one = read({**both, "contact.friction": 0.0}).controller("force_controller")
    loop = build.build_loop("force_controller", one)
    for changed in ("contact.friction", "compensation.contact"):
        settings = read(both).controller("force_controller")
        with pytest.raises(InvalidValue, match="set one of them to 0"):
            prepare_change(loop, settings, [changed], running=True)
