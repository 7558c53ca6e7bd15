"""A five-bar: torques of its two motors for a motion, and the force at its tip; without ROS."""

import argparse

import numpy as np

from projected_control import Arm, ConstrainedArm, LoopClosure, assemble, inverse_dynamics
from projected_control.resources import share_file

argparse.ArgumentParser(description=__doc__).parse_args()  # takes no arguments, and says so

arm = Arm.from_urdf(
    share_file("urdf", "five_bar.urdf.xacro"), passive=["left_elbow", "right_elbow"]
)
loop = LoopClosure("tip", "right_tip", plane_normal=[0, -1, 0])
model = ConstrainedArm(arm, loop)

q = assemble(arm, loop, [2.2, -1.2, 0.94, 1.2])
model.evaluate(q, np.zeros(4))
v = model.P @ np.array([1.0, 0.0, -0.5, 0.0])  # any velocity that keeps the loop closed
model.evaluate(q, v)
acceleration = model.A_pinv @ model.b + model.P @ np.array([2.0, 0.0, 1.0, 0.0])

found = inverse_dynamics(model, q, v, acceleration)
for joint, effort in zip(arm.joint_names, found.effort, strict=True):
    print(f"{joint:12s} {effort:8.4f} N·m")
print("force on the right half at the tip:", np.round(found.multipliers, 4), "N")
print("motors to spare:", found.internal.shape[1])
