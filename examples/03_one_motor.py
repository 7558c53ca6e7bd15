"""A slider-crank with a motor on the crank only: the constraint moves the other joint."""

import numpy as np

from projected_control import (
    Arm,
    Constant,
    ConstrainedArm,
    ControlLoop,
    Coordinates,
    Guard,
    Limits,
    MotionController,
    MotionGains,
    PassiveJointController,
    Plant,
    PointOnLine,
    SetPoint,
    SimulatedArm,
    assemble,
    share_file,
)

PERIOD = 1e-3  # s
START, GOAL = np.pi / 6, np.pi / 3  # of the crank [rad]
line = PointOnLine("tip", point=[0, 0, 0], direction=[1, 0, 0], plane_normal=[0, -1, 0])
crank = Coordinates.of_joints(["joint_1"])


def run(passive: list[str]) -> tuple[float, float, np.ndarray]:
    """RMS torque [N·m], final error [rad], largest torque of each joint [N·m]."""
    arm = Arm.from_urdf(share_file("urdf", "slider_crank.urdf.xacro"), passive=passive)
    model = ConstrainedArm(arm, line, crank)
    gains = MotionGains.from_bandwidth(2.0)  # Hz
    if passive:
        controller = PassiveJointController(model, gains, period=PERIOD)
    else:
        controller = MotionController(model, gains, period=PERIOD)

    q = assemble(arm, line, [START, 5.0], crank, [START])
    if passive:
        controller.require_controllable(q)
    goal = SetPoint(Constant([START]).at(0.0), [GOAL])  # reached smoothly
    limits = Limits.of(arm, effort_rate=1e5)  # the motors take the weight at once
    loop = ControlLoop(controller, Guard(limits, crank.size, PERIOD), goal)
    torques = []
    loop.run(
        SimulatedArm(Plant(ConstrainedArm(arm.twin(), line), PERIOD), q),
        3000,
        lambda _, tick: torques.append(tick.report.effort.copy()),
    )
    rms = np.sqrt(np.mean(np.sum(np.square(torques), axis=1)))
    return float(rms), float(abs(controller.error[0, 0])), np.abs(torques).max(axis=0)


both, error, most = run(passive=[])
print(f"two motors: RMS {both:.3f} N·m, joint by joint at most {most.round(2)}, error {error:.1e}")
one, error, most = run(passive=["joint_2"])
print(f"one motor:  RMS {one:.3f} N·m, joint by joint at most {most.round(2)}, error {error:.1e}")
print(f"one against two: {one / both:.4f} (√5 = {np.sqrt(5):.4f})")
