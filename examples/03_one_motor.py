"""A slider-crank with a motor on the crank only: the constraint moves the other joint."""

import argparse

import numpy as np

import projected_control as pc

argparse.ArgumentParser(description=__doc__).parse_args()  # takes no arguments, and says so

START, GOAL = np.pi / 6, np.pi / 3  # of the crank [rad]
line = pc.PointOnLine("tip", point=[0, 0, 0], direction=[1, 0, 0], plane_normal=[0, -1, 0])
crank = pc.Coordinates.of_joints(["joint_1"])
gains = pc.MotionGains.from_bandwidth(2.0)  # Hz


def run(passive: list[str]) -> tuple[float, float, np.ndarray]:
    """RMS torque [N·m], final error [rad], largest torque of each joint [N·m]."""
    arm = pc.Arm.from_urdf(pc.share_file("urdf", "slider_crank.urdf.xacro"), passive=passive)
    model = pc.ConstrainedArm(arm, line, crank)
    q = pc.assemble(arm, line, [START, 5.0], crank, [START])
    if passive:
        controller = pc.PassiveJointController(model, gains)
        controller.require_controllable(q)
    else:
        controller = pc.MotionController(model, gains)
    goal = pc.SetPoint(pc.Constant([START]).at(0.0), [GOAL])  # reached smoothly
    port = pc.SimulatedArm(pc.Plant(pc.ConstrainedArm(arm.twin(), line)), q)
    torques = []
    pc.run(
        pc.ControlLoop(controller, goal),
        port,
        ticks=3000,
        observe=lambda _, tick: torques.append(tick.report.effort.copy()),
    )
    rms = np.sqrt(np.mean(np.sum(np.square(torques), axis=1)))
    return float(rms), float(abs(controller.error[0, 0])), np.abs(torques).max(axis=0)


both, error, most = run(passive=[])
print(f"two motors: RMS {both:.3f} N·m, joint by joint at most {most.round(2)}, error {error:.1e}")
one, error, most = run(passive=["joint_2"])
print(f"one motor:  RMS {one:.3f} N·m, joint by joint at most {most.round(2)}, error {error:.1e}")
print(f"one against two: {one / both:.4f} (√5 = {np.sqrt(5):.4f})")
