"""PIDC that yields: the further the arm is pushed away, the softer it holds its place."""

from dataclasses import dataclass

import numpy as np

from projected_control import MotionController, MotionGains
from projected_control.settings.declaration import parameter
from projected_control.settings.nodes import ControllerKind, ControllerSettings, DemoCase


class YieldingController(MotionController):
    """The stiffness is G_P / (1 + ‖e‖ / width), the damping stays."""

    def __init__(self, model, gains, width, period):
        super().__init__(model, gains, period=period)
        self.width = width

    @property
    def blending(self):
        """The gains change in every tick."""
        return True

    def advance(self):
        softer = 1.0 + np.linalg.norm(self.error[0]) / self.width
        self.set_gains(MotionGains(self.full_stiffness / softer, self.gains.damping), 0.0)
        super().advance()

    def set_gains(self, gains, seconds=0.0):
        """In force at once."""
        super().set_gains(gains, seconds)

    @classmethod
    def of(cls, settings, model, gains):
        """From settings: what the record's factory calls."""
        controller = cls(model, gains, settings.width, 1.0 / settings.rate)
        controller.full_stiffness = gains.stiffness
        return controller


make = YieldingController.of


@dataclass(frozen=True)
class YieldingSettings(ControllerSettings):
    """Of `yielding_controller`."""

    width: float = parameter(
        0.1, "Error at which the stiffness is half", "m or rad", minimum=1e-3, maximum=10.0
    )

    @classmethod
    def title(cls):
        return "yielding_controller"


RECORD = ControllerKind(
    "yielding_controller",
    "motion control that yields",
    YieldingSettings,
    "other_arms.yielding:make",
    (DemoCase("yielding", "yielding_controller", "three_link_slider", "PIDC that yields"),),
)
