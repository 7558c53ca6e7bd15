"""Arms: the interface between a control loop and what it moves, and its kinds."""

from projected_control.ports.port import ArmState, Hardware
from projected_control.ports.simulated import SimulatedArm

__all__ = ["ArmState", "Hardware", "SimulatedArm"]
