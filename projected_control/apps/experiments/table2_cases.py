"""The runs of Aghili, section IX: an arm whose tip runs on a slider, as data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from projected_control.apps.experiments.case import Case, CaseArm
from projected_control.apps.experiments.case_run import CaseRun
from projected_control.apps.experiments.catalogue import Options
from projected_control.apps.experiments.paper_controllers import (
    Control,
    peak_norm,
    rms_norm,
)
from projected_control.apps.reports.run_numbers import rms
from projected_control.arrays import Array
from projected_control.control import ForceGains, Law, MotionGains
from projected_control.control.references import Sine, Sines
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import PointOnLine
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.planning import start_of
from projected_control.simulation import FRICTIONLESS, JointFriction

ARM = CaseArm(
    "three_link_slider.urdf.xacro", chain=("link_1", "link_2", "link_3", "tip"), plane=(0, 1)
)
"""Uniform rods of 0.2, 0.4 and 0.1 m, 2.746 kg each, in a horizontal plane."""

HEIGHT = -0.27  # y₀, where the slider is [m]
OFFSET = -0.01  # by how much a controller may be wrong about it [m]
GUESS = (-3.0, 2.0, 1.0)  # the start is the assembled configuration nearest this one [rad]

COORDINATES = Coordinates(
    [Coordinate.position("tip", "x"), Coordinate.heading("tip", [0.0, 0.0, 1.0])]
)
REFERENCE = Sines([-0.075, 0.0], [[Sine(0.225, frequency=0.5, phase=np.pi / 9.0)], []])
GAINS = MotionGains(480.0, 45.0)
FORCE_GAINS = ForceGains(3.0, 0.1, cutoff=50.0)
FRICTION = JointFriction(coulomb=0.3, viscous=0.05)
SECONDS = 4.0
SAMPLE = 1e-3

CONTROLLERS = {"idc": Law.IDC, "pidc": Law.PIDC, "hybrid": Law.HYBRID}
LABELS = {"idc": "IDC", "pidc": "PIDC", "hybrid": "Hybrid"}
PRINTED = {"idc": (3.18, 4.90), "pidc": (1.50, 1.89), "hybrid": (2.63, 2.30)}
"""Table II: RMS and peak of the joint torques [N·m]."""


@dataclass(frozen=True)
class Conditions:
    """What a row of the table is simulated with."""

    label: str  # its name in the table
    friction: JointFriction  # friction of the joints
    offset: float  # by which the controllers are wrong about the slider's place [m]


SETTINGS = {
    "nominal": Conditions("nominal", FRICTIONLESS, 0.0),
    "friction": Conditions("with friction", FRICTION, 0.0),
    "friction_offset": Conditions("friction, y₀ wrong by −10 mm", FRICTION, OFFSET),
}


def slider(height: float) -> PointOnLine:
    """The slider, parallel to x at this y [m]."""
    return PointOnLine("tip", [0.0, height, 0.0], [1.0, 0.0, 0.0], plane_normal=[0.0, 0.0, 1.0])


def describe(setting: Conditions, controller: str, options: Options) -> Case:
    """One run."""
    law, constraint = CONTROLLERS[controller], slider(HEIGHT)
    start = start_of(ConstrainedArm(ARM.load(), constraint, COORDINATES), REFERENCE, GUESS)
    return Case(
        name=f"{LABELS[controller]}, {setting.label}",
        arm=ARM,
        constraint=constraint,
        drive=Control(
            law=law,
            coordinates=COORDINATES,
            reference=REFERENCE,
            gains=GAINS,
            force_gains=FORCE_GAINS if law is Law.HYBRID else None,
            assumed_constraint=slider(HEIGHT + setting.offset),
        ),
        q0=tuple(start.q.tolist()),
        v0=tuple(start.v.tolist()),
        seconds=options.seconds or SECONDS,
        sample=SAMPLE,
        friction=setting.friction,
    )


@dataclass(frozen=True)
class Run:
    """A run in the terms of the paper."""

    recording: CaseRun  # all of it
    theta: Array  # x and heading, N × 2 [m, rad]
    desired: Array  # θ_d, N × 2 [m, rad]

    @classmethod
    def of(cls, recording: CaseRun) -> Run:
        """Work out where the tip was and should have been."""
        arm, rest = recording.case.arm.load(), np.zeros(3)
        theta = [COORDINATES.value(arm.update(q, rest)) for q in recording.q]
        desired = [REFERENCE.at(time).value for time in recording.time]
        return cls(recording, np.array(theta), np.array(desired))

    @property
    def numbers(self) -> dict[str, float]:
        """Torques [N·m], constraint force [N] and tracking errors [m, rad]."""
        error = np.abs(COORDINATES.difference(self.desired, self.theta)).max(axis=0)
        return {
            "rms": rms_norm(self.recording),
            "peak": peak_norm(self.recording),
            "lambda_rms": rms(self.recording.multipliers),
            "x_error_max": float(error[0]),
            "heading_error_max": float(error[1]),
        }
