"""The way from a control loop to an arm: the interface, its kinds without ROS, and the runner."""

from projected_control.control.state import RawState
from projected_control.ports.port import Port
from projected_control.ports.runner import Runner, run
from projected_control.ports.simulated import SimulatedArm
from projected_control.ports.statistics import Statistics
from projected_control.ports.stepped import SteppedArm

__all__ = ["Port", "RawState", "Runner", "SimulatedArm", "Statistics", "SteppedArm", "run"]
