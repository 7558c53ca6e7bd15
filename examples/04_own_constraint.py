"""A constraint of one's own: the tip runs on a circle."""

import numpy as np

from projected_control import (
    Arm,
    ConstrainedArm,
    Constraint,
    ControlLoop,
    Coordinate,
    Coordinates,
    Guard,
    Limits,
    MotionController,
    MotionGains,
    Plant,
    SimulatedArm,
    Sine,
    Sines,
    share_file,
    start_of,
)

PERIOD = 1e-3  # s


class TipOnCircle(Constraint):
    """The tip keeps its distance from the base: one equation, Φ = √(x² + y²) − r."""

    rows = 1

    def __init__(self, radius: float) -> None:
        self.radius = radius

    def residual(self, arm: Arm) -> np.ndarray:
        x, y, _ = arm.frame("tip").position
        return np.array([np.hypot(x, y) - self.radius])

    def jacobian(self, arm: Arm) -> np.ndarray:
        tip = arm.frame("tip")
        x, y, _ = tip.position
        return np.array([[x, y]]) / np.hypot(x, y) @ tip.jacobian[:2]


arm = Arm.from_urdf(share_file("urdf", "three_link_slider.urdf.xacro"))
circle = TipOnCircle(radius=0.45)  # m
coordinates = Coordinates([Coordinate.position("tip", "y"), Coordinate.heading("tip", [0, 0, 1])])
reference = Sines([-0.2, 0.3], [[Sine(0.15, frequency=0.5)], []])  # m, rad

model = ConstrainedArm(arm, circle, coordinates)
controller = MotionController(model, MotionGains(400, 40), period=PERIOD)
loop = ControlLoop(controller, Guard(Limits.of(arm), coordinates.size, PERIOD), reference)
q, v = start_of(model, reference, guess=[-1, 1, 0.5])
plant = Plant(ConstrainedArm(arm.twin(), circle), PERIOD)

radii, errors = [], []


def watch(_, tick):
    radii.append(np.linalg.norm(arm.frame("tip").position))
    errors.append(np.abs(controller.error[0]).max())


loop.run(SimulatedArm(plant, q, v), 2000, watch)
print(f"distance of the tip from the base {min(radii):.9f} to {max(radii):.9f} m")
print(f"largest error {1e6 * max(errors):.0f} µm or µrad")
