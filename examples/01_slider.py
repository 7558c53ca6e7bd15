"""An arm moves its tip along a slider, with the least torque that does it (PIDC)."""

import argparse

import numpy as np

import projected_control as pc

argparse.ArgumentParser(description=__doc__).parse_args()  # takes no arguments, and says so

UP = [0, 0, 1]  # normal of the plane the arm moves in

# What there is: three links in a horizontal plane, the tip on a line along x.
arm = pc.Arm.from_urdf(pc.share_file("urdf", "three_link_slider.urdf.xacro"))
slider = pc.PointOnLine("tip", point=[0, -0.27, 0], direction=[1, 0, 0], plane_normal=UP)

# The desired motion: the tip swings to and fro along the slider and keeps its heading.
tip = pc.Coordinates([pc.Coordinate.position("tip", "x"), pc.Coordinate.heading("tip", UP)])
swing = pc.Sines([-0.075, 0.0], [[pc.Sine(0.225, frequency=0.5)], []])  # m, rad
model = pc.ConstrainedArm(arm, slider, tip)

for law in (pc.Law.IDC, pc.Law.PIDC):
    controller = pc.MotionController(model, pc.MotionGains(stiffness=480, damping=45), law)
    done = pc.simulate(model, controller, swing, seconds=4.0, guess=[-3, 2, 1])
    n = done.statistics.summary()
    torque, force, (x, angle) = n["torque_rms"], n["lambda_rms"], np.abs(done.error).max(axis=0)
    print(f"{law.name}: RMS torque {torque:.3f} N·m, RMS force on the slider {force:.3f} N,")
    print(f"  largest error {1e6 * x:.0f} µm along it, {1e6 * angle:.0f} µrad of the heading")
