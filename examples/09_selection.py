"""Selection matrix and constraint force loop on a table that is not as level as it was thought."""

import argparse

import numpy as np

import projected_control as pc

argparse.ArgumentParser(description=__doc__).parse_args()  # takes no arguments, and says so

TILT = np.radians(5.0)

arm = pc.Arm.from_urdf(
    pc.share_file("urdf", "seven_joints.urdf"),
    frames={"tool": pc.OffsetFrame("flange", [0.0, 0.0, 0.1])},
)
q = np.array([0.0, 0.35, 0.0, -1.7, 0.0, 1.1, 0.0])
place = arm.update(q, np.zeros(7)).frame("tool").position.copy()
table = pc.PointOnPlane("tool", point=place, normal=[0, np.sin(TILT), -np.cos(TILT)])
gains, force_gains = pc.MotionGains.from_bandwidth(3.0), pc.ForceGains(integral=20.0)
tilts = [
    pc.Coordinate.tilt("tool", [0, 0, 1], way, name)
    for way, name in (([1, 0, 0], "lean_x"), ([0, 1, 0], "lean_y"))
]


def wipe(axes, make):
    """Wipe along y for 4 s with 10 N; error of force and place over the last two seconds."""
    along = [pc.Coordinate.position("tool", axis) for axis in axes]
    model = pc.ConstrainedArm(arm.twin(), table, pc.Coordinates([*along, *tilts]))
    centre = [place["xyz".index(axis)] for axis in axes]
    waves = [[pc.Sine(0.1, 0.5)] if axis == "y" else [] for axis in axes]
    reference = pc.Sines([*centre, 0.0, 0.0], [*waves, [], []])
    controller = make(model)
    controller.set_posture(pc.Posture(q, damping=10.0))
    port = pc.SimulatedArm(pc.Plant(pc.ConstrainedArm(arm.twin(), table)), q)
    loop = pc.ControlLoop(controller, reference, force_reference=pc.Constant([10.0]))
    rows = []

    def watch(_, tick):
        place = [abs(e) for e, axis in zip(controller.error[0], axes, strict=False) if axis != "z"]
        rows.append([abs(port.truth.multipliers[0] - 10.0), max(place)])

    pc.run(loop, port, ticks=4000, observe=watch)
    return np.max(rows[2000:], axis=0)


force, off = wipe("xy", lambda model: pc.ForceController(model, gains, force_gains))
print(f"constraint force loop: {force:.3f} N and {1e3 * off:.3f} mm off at most")
force, off = wipe(
    "xyz", lambda model: pc.SelectionController(model, gains, force_gains, ["tool.z"])
)
print(f"selection of z, table tilted by 5°: {force:.3f} N and {1e3 * off:.3f} mm")
