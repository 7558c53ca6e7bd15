"""The way from a control loop to an arm (hardware, simulated or stepped by an engine).

The interface `Port`, its kinds without ROS, and the `Runner` that steps a loop on any of them and
counts belong here. The ports that need ROS are in `ros`.
"""

from projected_control.control.state import RawState
from projected_control.ports.port import Port
from projected_control.ports.runner import Runner, run
from projected_control.ports.simulated import SimulatedArm
from projected_control.ports.simulated_run import Simulation, simulate
from projected_control.ports.statistics import Statistics
from projected_control.ports.stepped import SteppedArm

__all__ = [
    "Port",
    "RawState",
    "Runner",
    "SimulatedArm",
    "Simulation",
    "Statistics",
    "SteppedArm",
    "run",
    "simulate",
]
