"""Loops that move an arm to and fro, for the plugin's tests: here, and in a controller manager."""

from __future__ import annotations

import numpy as np
from arms import UPRIGHT, URDF, planar_chain_model, slider_model, state_on

from projected_control.control import (
    ForceController,
    ForceGains,
    Impedance,
    ImpedanceController,
    Law,
    MotionController,
    MotionGains,
    OperationalSpaceController,
    PassiveJointController,
)
from projected_control.control.controllers import Controller
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant, Sine, Sines
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import PointOnLine
from projected_control.model.coordinates import Coordinates
from projected_control.ports import Runner, SimulatedArm
from projected_control.simulation import Plant

T = 1e-3

PRESS = 2.0
"""λ_d of the hybrid loop [N]."""

CUTOFF = 0.05
"""Of the force loop's low-pass, per sample: the paper's 50 Hz at 1 kHz. At 500 Hz its gains with
50 Hz have a computed margin of 1.1, and the loop swings."""

LAWS = ("pidc", "hybrid", "passive", "crank", "operational_space", "impedance")
"""PIDC and hybrid of the paper's 3R arm with its gains, a chain with one passive joint of four, the
slider-crank with one motor; two levels and an impedance on the 3R arm, with a force loop."""


def crank_model() -> ConstrainedArm:
    """The slider-crank of Aghili VIII with a motor in its first joint alone."""
    every = Arm.from_urdf(URDF / "slider_crank.urdf.xacro").joint_names
    arm = Arm.from_urdf(URDF / "slider_crank.urdf.xacro", passive=every[1:])
    slider = PointOnLine("tip", [0.0, 0.0, 0.0], [1.0, 0.0, 0.0], plane_normal=UPRIGHT)
    return ConstrainedArm(arm, slider, Coordinates.of_joints(every[:1]))


def start_of(law: str, model: ConstrainedArm) -> np.ndarray:
    """Where the arm begins."""
    if law == "crank":
        return np.array([1.0, 2.0 * np.pi - 2.0])
    return state_on(model, 0 if law == "passive" else 4)[0]


def build(law: str, period: float = T) -> tuple[ControlLoop, SimulatedArm]:
    """A loop, and the simulated arm that it moves."""
    if law == "crank":
        model = crank_model()
    else:
        passive = law == "passive"
        model = planar_chain_model(passive=("joint_4",)) if passive else slider_model()
    q = start_of(law, model)
    model.evaluate(q, np.zeros(model.n))
    reference = Sines(model.theta.copy(), [[Sine(0.02, 0.5, 0.0)] for _ in range(model.k)])
    gains, force = MotionGains(480.0, 45.0), None
    force_gains = ForceGains(cutoff=CUTOFF / period)
    controller: Controller
    if law == "hybrid":
        controller = ForceController(model, gains, force_gains, period)
        force = Constant(np.full(model.m, PRESS))
    elif law == "operational_space":
        controller = OperationalSpaceController(model, gains, (1, 2), force_gains, period)
    elif law == "impedance":
        controller = ImpedanceController(model, Impedance([800.0, 20.0]), force_gains, period)
    elif law == "pidc":
        controller = MotionController(model, gains, Law.PIDC, period)
    else:
        controller = PassiveJointController(model, gains, None, period)
    plant = Plant(ConstrainedArm(model.arm.twin(), model.constraint), 5e-4)
    hardware = SimulatedArm(plant, q, period=period)
    return ControlLoop(controller, reference, force_reference=force), hardware


def opened(law: str, period: float = T) -> tuple[ControlLoop, SimulatedArm]:
    """The same, ready for the first tick."""
    loop, hardware = build(law, period)
    Runner(loop, hardware).open()
    return loop, hardware
