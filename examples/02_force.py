"""The arm on its slider presses on it with a wanted force while it moves (hybrid control)."""

import numpy as np

from projected_control import (
    Arm,
    ConstrainedArm,
    ControlLoop,
    Coordinate,
    Coordinates,
    ForceController,
    ForceGains,
    ForceSensor,
    Guard,
    JointFriction,
    Limits,
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
WANTED = Sines([5.0], [[Sine(3.0, frequency=0.25)]])  # λ_d [N]

arm = Arm.from_urdf(share_file("urdf", "three_link_slider.urdf.xacro"))
slider = PointOnLine("tip", point=[0, -0.27, 0], direction=[1, 0, 0], plane_normal=UP)
coordinates = Coordinates([Coordinate.position("tip", "x"), Coordinate.heading("tip", UP)])
model = ConstrainedArm(arm, slider, coordinates)
motion = Sines([-0.075, 0.0], [[Sine(0.225, frequency=0.5)], []])  # m, rad

# Force gains that would make the sampled loop diverge are refused, with the bound.
force_gains = ForceGains(proportional=3.0, integral=20.0, cutoff=50.0)
controller = ForceController(model, MotionGains(480, 45), force_gains, PERIOD)
guard = Guard(Limits.of(arm), coordinates.size, PERIOD)
loop = ControlLoop(controller, guard, motion, force_reference=WANTED)

# The arm has friction that the controller does not know of, and a force sensor with noise.
friction = JointFriction(coulomb=0.05, viscous=0.02)
plant = Plant(ConstrainedArm(arm.twin(), slider), PERIOD, friction=friction)
start = start_of(model, motion, guess=[-3, 2, 1])
hardware = SimulatedArm(plant, *start, sensor=ForceSensor(noise=0.05))

times, wanted, forces, errors = [], [], [], []


def watch(_, tick):
    times.append(tick.state.stamp)
    wanted.append(controller.force.desired[0])
    forces.append(hardware.truth.multipliers[0])
    errors.append(abs(controller.error[0, 0]))


loop.run(hardware, 6000, watch)
settled = np.array(times) > 1.0
miss = np.sqrt(np.mean(np.square(np.subtract(forces, wanted)[settled])))
print(f"gain margin of the force loop {force_gains.loop(PERIOD).gain_margin:.2f}")
print(f"force wanted {min(wanted):.1f} to {max(wanted):.1f} N, missed by {miss:.2f} N (RMS)")
print(f"largest error of x {1e3 * max(errors):.2f} mm")
