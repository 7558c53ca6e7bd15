"""The arm on its slider presses on it with a desired force while it moves (hybrid control)."""

import argparse

import numpy as np

import projected_control as pc

argparse.ArgumentParser(description=__doc__).parse_args()  # takes no arguments, and says so

UP = [0, 0, 1]  # normal of the plane the arm moves in
press = pc.Sines([5.0], [[pc.Sine(3.0, frequency=0.25)]])  # λ_d [N]

arm = pc.Arm.from_urdf(pc.share_file("urdf", "three_link_slider.urdf.xacro"))
slider = pc.PointOnLine("tip", point=[0, -0.27, 0], direction=[1, 0, 0], plane_normal=UP)
tip = pc.Coordinates([pc.Coordinate.position("tip", "x"), pc.Coordinate.heading("tip", UP)])
model = pc.ConstrainedArm(arm, slider, tip)
swing = pc.Sines([-0.075, 0.0], [[pc.Sine(0.225, frequency=0.5)], []])  # m, rad

# Force gains that would make the sampled loop diverge are refused, with the bound.
force_gains = pc.ForceGains(proportional=3.0, integral=20.0, cutoff=50.0)
controller = pc.ForceController(model, pc.MotionGains(480, 45), force_gains)

# The arm has friction that the controller does not know of, and a force sensor with noise.
done = pc.simulate(
    model,
    controller,
    swing,
    seconds=6.0,
    force_reference=press,
    guess=[-3, 2, 1],
    friction=pc.JointFriction(coulomb=0.05, viscous=0.02),
    sensor=pc.ForceSensor(noise=0.05),
)
desired = np.array([press.at(t).value[0] for t in done.time])
force, error = done.force[:, 0], np.abs(done.error[:, 0])
miss = np.sqrt(np.mean((force - desired) ** 2))
print(f"gain margin of the force loop {force_gains.loop(controller.period).gain_margin:.2f}")
print(f"force at the start {force[0]:.1f} N, desired {desired[0]:.1f} N")
print(f"desired force {desired.min():.1f} to {desired.max():.1f} N, missed by {miss:.2f} N (RMS)")
print(f"largest error of x {1e3 * error.max():.2f} mm")
