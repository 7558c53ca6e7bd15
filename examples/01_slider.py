"""An arm moves its tip along a slider, with the least torque that does it (PIDC)."""

import numpy as np

from projected_control import (
    Arm,
    ConstrainedArm,
    ControlLoop,
    Coordinate,
    Coordinates,
    Guard,
    Law,
    Limits,
    MotionController,
    MotionGains,
    Plant,
    PointOnLine,
    SimulatedArm,
    Sine,
    Sines,
    share_file,
    start_of,
)

PERIOD = 1e-3  # s
UP = [0, 0, 1]  # normal of the plane the arm moves in

# What there is: three links in a horizontal plane, the tip on a line along x.
arm = Arm.from_urdf(share_file("urdf", "three_link_slider.urdf.xacro"))
slider = PointOnLine("tip", point=[0, -0.27, 0], direction=[1, 0, 0], plane_normal=UP)

# What is wanted: the tip swings to and fro along the slider and keeps its heading.
coordinates = Coordinates([Coordinate.position("tip", "x"), Coordinate.heading("tip", UP)])
reference = Sines([-0.075, 0.0], [[Sine(0.225, frequency=0.5)], []])  # m, rad


def run(law: Law) -> tuple[float, float, float]:
    """Four seconds; RMS torque [N·m], RMS force on the slider [N], largest error of x [m]."""
    model = ConstrainedArm(arm, slider, coordinates)
    controller = MotionController(model, MotionGains(stiffness=480, damping=45), law, PERIOD)
    loop = ControlLoop(controller, Guard(Limits.of(arm), coordinates.size, PERIOD), reference)

    q, v = start_of(model, reference, guess=[-3, 2, 1])
    plant = Plant(ConstrainedArm(arm.twin(), slider), PERIOD)
    torques, forces, errors = [], [], []

    def watch(_, tick):
        torques.append(np.linalg.norm(tick.report.effort))
        forces.append(tick.state.multipliers[0])
        errors.append(abs(controller.error[0, 0]))

    loop.run(SimulatedArm(plant, q, v), 4000, watch)
    return rms(torques), rms(forces), max(errors)


def rms(values: list[float]) -> float:
    return float(np.sqrt(np.mean(np.square(values))))


for law in (Law.IDC, Law.PIDC):
    torque, force, error = run(law)
    print(f"{law.name}: RMS torque {torque:.3f} N·m, RMS force on the slider {force:.3f} N,")
    print(f"  largest error along the slider {1e6 * error:.0f} µm")
