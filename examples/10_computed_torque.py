"""What people start an arm with: gravity compensation, then computed torque on all joints."""

import argparse

import numpy as np

import projected_control as pc

argparse.ArgumentParser(description=__doc__).parse_args()  # takes no arguments, and says so

arm = pc.Arm.from_urdf(pc.share_file("urdf", "seven_joints.urdf"))
q = np.array([0.0, 0.35, 0.0, -1.7, 0.0, 1.1, 0.0])
joints = pc.Coordinates.of_joints(arm.joint_names)
model = pc.ConstrainedArm(arm, None, joints)  # no constraint: the arm moves freely
port = pc.SimulatedArm(pc.Plant(pc.ConstrainedArm(arm.twin(), None)), q)

# Led by hand: the arm carries itself, gives way to a push and comes to rest where it was led.
lead = pc.ComputedTorqueController(model, pc.MotionGains(1.0, 1.0, null_damping=3.0), gravity=True)
push = np.array([0.0, 0.0, 0.0, 0.5, 0.0, 0.0, 0.0])  # N·m at the elbow, for half a second


def hand(number, tick):
    port.push = push if number < 500 else np.zeros(7)


pc.run(pc.ControlLoop(lead, pc.Constant(q)), port, ticks=3000, observe=hand)
led = port.truth.q.copy()
print(f"led by hand: the elbow moved by {led[3] - q[3]:.2f} rad and rests at", end=" ")
print(f"{np.abs(port.truth.v).max():.0e} rad/s")

# From there back to where it was: every joint follows ë + G_D ė + G_P e = 0.
follow = pc.ComputedTorqueController(model, pc.MotionGains.from_bandwidth(2.0))
home = pc.SetPoint(pc.Constant(led).at(0.0), q)  # smoothly, within rate and jerk
errors = []
pc.run(
    pc.ControlLoop(follow, home),
    pc.SimulatedArm(pc.Plant(pc.ConstrainedArm(arm.twin(), None)), led),
    ticks=3000,
    observe=lambda _, tick: errors.append(np.abs(follow.error[0]).max()),
)
print(f"computed torque: largest error on the way back {1e6 * max(errors):.1f} µrad")
