"""A point on a circle about the base, in the horizontal plane."""

import numpy as np

from projected_control.model.constraints import Constraint, ConstraintKind, Setting


class PointOnCircle(Constraint):
    """‖(x, y)‖ − r = 0. One equation.

    Args:
        frame: Whose origin is held.
        radius: r [m].
    """

    rows = 1

    def __init__(self, frame: str, radius: float) -> None:
        self.frame, self.radius = frame, radius

    def residual(self, arm):
        x, y, _ = arm.frame(self.frame).position
        return np.array([np.hypot(x, y) - self.radius])

    def jacobian(self, arm):
        tip = arm.frame(self.frame)
        x, y, _ = tip.position
        return np.array([[x, y]]) / np.hypot(x, y) @ tip.jacobian[:2]


class HazyCircle(PointOnCircle):
    """One that cannot be drawn."""

    def shapes_at(self, x):
        raise ZeroDivisionError(f"no shape at {x}")


RECORD = ConstraintKind(
    "circle",
    "a point on a circle about the base",
    lambda settings: PointOnCircle(settings.frame, settings.radius),
    needs=(
        Setting("frame", "link whose origin is held"),
        Setting("radius", "radius of the circle", "m"),
    ),
)

HAZY = ConstraintKind(
    "hazy_circle",
    "a circle that cannot be drawn",
    lambda settings: HazyCircle(settings.frame, settings.radius),
    needs=RECORD.needs,
)
