"""A constraint of one's own: the tip runs on a circle."""

import argparse

import numpy as np

import projected_control as pc

argparse.ArgumentParser(description=__doc__).parse_args()  # takes no arguments, and says so


class TipOnCircle(pc.Constraint):
    """The tip keeps its distance from the base: one equation, Φ = √(x² + y²) − r."""

    rows = 1
    frame = "tip"

    def __init__(self, radius: float) -> None:
        self.radius = radius

    def residual(self, arm: pc.Arm) -> np.ndarray:
        x, y, _ = arm.frame("tip").position
        return np.array([np.hypot(x, y) - self.radius])

    def jacobian(self, arm: pc.Arm) -> np.ndarray:
        tip = arm.frame("tip")
        x, y, _ = tip.position
        return np.array([[x, y]]) / np.hypot(x, y) @ tip.jacobian[:2]


arm = pc.Arm.from_urdf(pc.share_file("urdf", "three_link_slider.urdf.xacro"))
circle = TipOnCircle(radius=0.45)  # m
tip = pc.Coordinates([pc.Coordinate.position("tip", "y"), pc.Coordinate.heading("tip", [0, 0, 1])])
swing = pc.Sines([-0.2, 0.3], [[pc.Sine(0.15, frequency=0.5)], []])  # m, rad

model = pc.ConstrainedArm(arm, circle, tip)
controller = pc.MotionController(model, pc.MotionGains(400, 40))
radii = []


def watch(_, tick):
    radii.append(np.linalg.norm(arm.frame("tip").position))


done = pc.simulate(model, controller, swing, seconds=2.0, guess=[-1, 1, 0.5], observe=watch)
y, angle = np.abs(done.error).max(axis=0)
print(f"distance of the tip from the base {min(radii):.9f} to {max(radii):.9f} m")
print(f"largest error {1e6 * y:.0f} µm of y, {1e6 * angle:.0f} µrad of the heading")
