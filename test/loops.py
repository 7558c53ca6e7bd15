"""Loops that move an arm to and fro, for the plugin's tests: here, and in a controller manager."""

from __future__ import annotations

import numpy as np
from arms import UPRIGHT, URDF, planar_chain_model, slider_model, state_on

from projected_control import Runner, SimulatedArm
from projected_control.control import (
    ComputedTorqueController,
    ForceController,
    ForceGains,
    Impedance,
    ImpedanceController,
    Law,
    MotionController,
    MotionGains,
    OperationalSpaceController,
    PassiveJointController,
    SelectionController,
)
from projected_control.control.controllers import Controller
from projected_control.control.disturbance import Disturbance
from projected_control.control.laws.admittance import Admittance, AdmittanceController
from projected_control.control.laws.least_contact_force import LeastContactForceController
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant, Sine, Sines
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import PointOnLine
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.simulation import Plant

T = 1e-3

PRESS = 2.0  # λ_d of the hybrid loop [N]

CUTOFF = 0.05
"""Of the force loop's low-pass, per sample: the paper's 50 Hz at 1 kHz. At 500 Hz its gains with
50 Hz have a computed margin of 1.1, and the loop swings."""

LAWS = ("pidc", "hybrid", "passive", "crank", "operational_space", "impedance")
"""PIDC and hybrid of the paper's 3R arm with its gains, a chain with one passive joint of four, the
slider-crank with one motor; two levels and an impedance on the 3R arm, with a force loop."""

EVERY_LAW = (
    *LAWS,
    *("idc", "passive_force", "shaped", "selection", "computed_torque", "gravity"),
    *("least_contact_force", "admittance"),
)
"""And all other laws: inverse dynamics, a force on a chain with a passive joint, a shaped
impedance, a selection of directions, two on the 3R arm in an upright plane, held by nothing, the
least force on the chain, and directions that give way."""

_CHAINS = ("passive", "passive_force", "least_contact_force")
_FREE = ("computed_torque", "gravity")


def crank_model() -> ConstrainedArm:
    """The slider-crank of Aghili VIII with a motor in its first joint alone."""
    every = Arm.from_urdf(URDF / "slider_crank.urdf.xacro").joint_names
    arm = Arm.from_urdf(URDF / "slider_crank.urdf.xacro", passive=every[1:])
    slider = PointOnLine("tip", [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], plane_normal=UPRIGHT)
    return ConstrainedArm(arm, slider, Coordinates.of_joints(every[:1]))


def model_of(law: str) -> ConstrainedArm:
    """The arm, what holds it, and what is moved."""
    if law == "crank":
        return crank_model()
    if law in _CHAINS:
        return planar_chain_model(passive=("joint_4",))
    if law in _FREE:
        upright = {"plane": "vertical"}  # on the Moon, where the motors can carry it
        arm = Arm.from_urdf(URDF / "three_link_slider.urdf.xacro", mappings=upright, gravity=1.62)
        return ConstrainedArm(arm, None, Coordinates.of_joints(arm.joint_names))
    model = slider_model()
    if law not in ("selection", "admittance"):
        return model
    moved = [Coordinate.position("tip", axis) for axis in "xy"]
    moved.append(Coordinate.heading("tip", [0.0, 0.0, 1.0]))
    return ConstrainedArm(model.arm, model.constraint, Coordinates(moved))


def start_of(law: str, model: ConstrainedArm) -> np.ndarray:
    """Where the arm begins."""
    if law == "crank":
        return np.array([1.0, 2.0 * np.pi - 2.0])
    if law in _FREE:
        return np.array([-1.4, 0.3, -0.2])
    return state_on(model, 0 if law in _CHAINS else 4)[0]


def controller_of(law: str, model: ConstrainedArm, period: float) -> Controller:
    """The law, with the paper's gains."""
    gains, force = MotionGains(480.0, 45.0), ForceGains(cutoff=CUTOFF / period)
    if law == "hybrid":
        return ForceController(model, gains, force, period)
    if law == "operational_space":
        return OperationalSpaceController(model, gains, (1, 2), force, period)
    if law == "impedance":
        return ImpedanceController(model, Impedance([800.0, 20.0]), force, period)
    if law == "shaped":
        behaviour = Impedance([800.0, 20.0], inertia=[3.0, 0.1])
        controller = ImpedanceController(model, behaviour, force, period)
        controller.set_disturbance(Disturbance("observer"), 0.0)
        return controller
    if law == "selection":
        return SelectionController(model, gains, force, ["tip.y"], period)
    if law == "admittance":
        ways = Admittance(5.0, 500.0)
        return AdmittanceController(model, gains, force, ["tip.y"], ways, period)
    if law in _FREE:
        return ComputedTorqueController(model, gains, period, gravity=law == "gravity")
    if law in ("pidc", "idc"):
        return MotionController(model, gains, Law.PIDC if law == "pidc" else Law.IDC, period)
    if law == "least_contact_force":
        return LeastContactForceController(model, gains, period)
    return PassiveJointController(model, gains, force if law == "passive_force" else None, period)


def build(law: str, period: float = T) -> tuple[ControlLoop, SimulatedArm]:
    """A loop, and the simulated arm that it moves."""
    model = model_of(law)
    q = start_of(law, model)
    model.evaluate(q, np.zeros(model.n))
    reference = Sines(model.theta.copy(), [[Sine(0.02, 0.5, 0.0)] for _ in range(model.k)])
    controller = controller_of(law, model, period)
    presses = law in ("hybrid", "selection", "admittance", "passive_force")
    force = Constant(np.full(model.m, PRESS)) if presses else None
    plant = Plant(ConstrainedArm(model.arm.twin(), model.constraint), 5e-4)
    hardware = SimulatedArm(plant, q, period=period)
    return ControlLoop(controller, reference, force_reference=force), hardware


def opened(law: str, period: float = T) -> tuple[ControlLoop, SimulatedArm]:
    """The same, ready for the first tick."""
    loop, hardware = build(law, period)
    Runner(loop, hardware).open()
    return loop, hardware
