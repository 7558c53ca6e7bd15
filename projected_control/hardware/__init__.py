"""Arms: the interface between a control loop and what it moves, and its kinds."""

from projected_control.hardware.base import ArmState, Hardware
from projected_control.hardware.simulated import SimulatedArm

__all__ = ["ArmState", "Hardware", "SimulatedArm"]
