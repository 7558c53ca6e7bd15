"""The arm on its slider presses on it with a desired force while it moves (hybrid control)."""

import numpy as np

import projected_control as pc

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
loop = pc.ControlLoop(controller, swing, force_reference=press)

# The arm has friction that the controller does not know of, and a force sensor with noise.
friction = pc.JointFriction(coulomb=0.05, viscous=0.02)
plant = pc.Plant(pc.ConstrainedArm(arm.twin(), slider), friction=friction)
start = pc.start_of(model, swing, guess=[-3, 2, 1])
port = pc.SimulatedArm(plant, *start, sensor=pc.ForceSensor(noise=0.05))
rows = []


def watch(_, tick):
    force, desired = port.truth.multipliers[0], press.at(tick.state.stamp).value[0]
    rows.append([desired, force, abs(controller.error[0, 0])])


pc.run(loop, port, ticks=6000, observe=watch)
desired, force, error = np.array(rows).T
miss = np.sqrt(np.mean((force - desired)[1000:] ** 2))  # after the first second
print(f"gain margin of the force loop {force_gains.loop(controller.period).gain_margin:.2f}")
print(f"desired force {desired.min():.1f} to {desired.max():.1f} N, missed by {miss:.2f} N (RMS)")
print(f"largest error of x {1e3 * error.max():.2f} mm")
