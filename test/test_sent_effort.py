"""What is planned is what a law sends: one function says it, and here every law is held to it."""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np
import pytest
from arms import spatial_model, state_on

from projected_control.control import (
    ComputedTorqueController,
    ForceController,
    ForceGains,
    Impedance,
    ImpedanceController,
    MotionController,
    MotionGains,
    OperationalSpaceController,
    PassiveJointController,
    SelectionController,
)
from projected_control.control.disturbance import Disturbance
from projected_control.control.law_kinds import Law, kind_of
from projected_control.control.laws.admittance import Admittance, AdmittanceController
from projected_control.control.laws.least_contact_force import LeastContactForceController
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.model.projection import Metric, Projection
from projected_control.planning.efforts import asked_motion, leans, sent_effort

GAINS, FORCE = MotionGains(100.0, 20.0, 3.0), ForceGains()
SPRING = Impedance(300.0)
TWO, ONE = ("joint_2", "joint_5"), ("joint_2",)
PLACE = Coordinates([Coordinate.position("end_6", axis) for axis in "xyz"])
JOINTS = Coordinates.of_joints([f"joint_{i}" for i in range(1, 8)])


def shaped(model, force=None):
    controller = ImpedanceController(model, Impedance(300.0, inertia=2.0), force)
    controller.set_disturbance(Disturbance("observer"), 0.0)
    return controller


class EffortCase(NamedTuple):
    """A controller, joints without a motor, rows whose force is controlled, whether it leans."""

    make: object
    passive: tuple = ()
    rows: tuple | None = None
    leans: bool = False
    coordinates: object = None


CASES = {
    "pidc": EffortCase(lambda m: MotionController(m, GAINS), leans=True),
    "idc": EffortCase(lambda m: MotionController(m, GAINS, Law.IDC)),
    "hybrid": EffortCase(lambda m: ForceController(m, GAINS, FORCE)),
    "hybrid, some rows": EffortCase(lambda m: ForceController(m, GAINS, FORCE), (), (0, 2)),
    "passive": EffortCase(lambda m: PassiveJointController(m, GAINS), TWO, leans=True),
    "passive, force": EffortCase(lambda m: PassiveJointController(m, GAINS, FORCE), TWO),
    "passive, some rows": EffortCase(
        lambda m: PassiveJointController(m, GAINS, FORCE), ONE, (0, 2)
    ),
    "levels": EffortCase(lambda m: OperationalSpaceController(m, GAINS, (1, 1, 2, 2)), leans=True),
    "levels, force": EffortCase(lambda m: OperationalSpaceController(m, GAINS, (), FORCE)),
    "levels, some rows": EffortCase(
        lambda m: OperationalSpaceController(m, GAINS, (), FORCE), (), (1,)
    ),
    "levels, passive": EffortCase(lambda m: OperationalSpaceController(m, GAINS), TWO, leans=True),
    "levels, both": EffortCase(
        lambda m: OperationalSpaceController(m, GAINS, (), FORCE), ONE, (0, 2)
    ),
    "spring": EffortCase(lambda m: ImpedanceController(m, SPRING, gains=GAINS), leans=True),
    "spring, force": EffortCase(lambda m: ImpedanceController(m, SPRING, FORCE, gains=GAINS)),
    "spring, both": EffortCase(lambda m: ImpedanceController(m, SPRING, FORCE), ONE, (1, 2)),
    "spring, free": EffortCase(lambda m: ImpedanceController(m, SPRING, projected=False)),
    "spring, free, rows": EffortCase(
        lambda m: ImpedanceController(m, SPRING, FORCE, projected=False), (), (0,)
    ),
    "shaped": EffortCase(shaped, leans=True),
    "shaped, passive": EffortCase(lambda m: shaped(m, FORCE), TWO),
    "least force": EffortCase(lambda m: LeastContactForceController(m, GAINS), TWO, leans=True),
    "selection": EffortCase(lambda m: SelectionController(m, GAINS, FORCE, ["end_6.z"])),
    "selection in axes": EffortCase(
        lambda m: SelectionController(m, GAINS, FORCE, ["end_6.z"], frame="end_3"),
        (),
        (0, 1),
        coordinates=PLACE,
    ),
    "admittance": EffortCase(
        lambda m: AdmittanceController(m, GAINS, FORCE, ["end_6.z"], Admittance(1e6, 1e6))
    ),
    "computed torque": EffortCase(lambda m: ComputedTorqueController(m, GAINS), coordinates=JOINTS),
    "gravity": EffortCase(lambda m: ComputedTorqueController(m, GAINS, gravity=True)),
}


def controller_of(case, metric=None):
    model = spatial_model(None if metric is None else Metric(metric), case.passive)
    if case.coordinates is not None:
        model = ConstrainedArm(model.arm, model.constraint, case.coordinates, metric=model.metric)
    return case.make(model)


@pytest.mark.parametrize("metric", [None, np.linspace(0.5, 4.0, 7)], ids=["", "metric"])
@pytest.mark.parametrize("name", CASES)
def test_what_is_planned_is_what_the_law_sends(name, metric):
    """Along a motion that is followed exactly, with a force asked for: 1e-8 of the efforts."""
    case = CASES[name]
    controller = controller_of(case, metric)
    model, force, terms = controller.model, controller.force, controller.terms
    for seed in range(3):
        q, v = state_on(model, seed, near=np.full(7, 0.4), spread=0.3)
        random = np.random.default_rng(seed)
        controller.hold(q, v)
        controller.motion[1:] = model.theta_rate, random.normal(size=model.k)
        if force is not None:
            force.control_rows(range(3) if case.rows is None else case.rows)
            force.set_reference(random.normal(0.0, 20.0, 3))
            force.measured[:] = 0.0
        controller.update(q, v)
        sent = sent_effort(controller)
        taken = (terms.h + model.M @ terms.u_p) * model.sqrt_metric
        law = controller.effort.total
        if controller.law is Law.ADMITTANCE:  # it presses by what it has given way, nothing yet
            law = law + sent.G @ terms.u_lambda
        np.testing.assert_allclose(
            sent.S @ taken + sent.G @ terms.u_lambda, law, atol=1e-8 * np.abs(law).max()
        )
        if controller.law is Law.GRAVITY:
            asked = asked_motion(controller, v, np.ones(7)) * model.sqrt_metric
            np.testing.assert_allclose(asked, terms.u_p, atol=1e-12)
    assert leans(controller) is case.leans


def test_every_law_is_held_to_it():
    """But for the one that sends velocities."""
    assert {controller_of(case).law for case in CASES.values()} == set(Law) - {Law.RESOLVED_RATE}


def test_a_passive_joint_with_a_force_is_planned_as_it_is_sent():
    """A = [1 2], joint 2 passive, f = (3, 1): the law sends (2.5, 0)."""
    model = SimpleNamespace(n=2, m=1, sqrt_metric=np.ones(2), A=np.array([[1.0, 2.0]]))
    model.P = Projection.of(model.A).P
    model.A_pinv = Projection.of(model.A).A_pinv
    model.arm = SimpleNamespace(actuated=np.array([1.0, 0.0]))
    controller = SimpleNamespace(
        model=model,
        kind=kind_of(Law.PASSIVE_FORCE),
        passive=np.array([1]),
        force=SimpleNamespace(controlled=np.ones(1)),
        task=SimpleNamespace(projected=np.ones(1)),
    )
    sent = sent_effort(controller)
    np.testing.assert_allclose(sent.S @ [3.0, 1.0], [2.5, 0.0], atol=1e-12)
    np.testing.assert_allclose(sent.G, 0.0, atol=1e-12)  # no force is left to choose
