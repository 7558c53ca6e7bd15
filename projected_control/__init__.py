"""Projected inverse dynamics control of constrained arms.

The names of daily use can be imported from here: ``from projected_control import Arm``. Each is
loaded when it is first asked for, so that importing the package itself costs nothing.
"""

import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

# The one list of what can be imported from here: type checkers read it as it stands, and at run
# time it is read as text. (``as`` says to them that a name is meant for others.)
if TYPE_CHECKING:
    from projected_control.control import ComputedTorqueController as ComputedTorqueController
    from projected_control.control import Controller as Controller
    from projected_control.control import ForceController as ForceController
    from projected_control.control import ForceGains as ForceGains
    from projected_control.control import Impedance as Impedance
    from projected_control.control import ImpedanceController as ImpedanceController
    from projected_control.control import Law as Law
    from projected_control.control import MotionController as MotionController
    from projected_control.control import MotionGains as MotionGains
    from projected_control.control import OperationalSpaceController as OperationalSpaceController
    from projected_control.control import PassiveJointController as PassiveJointController
    from projected_control.control import Posture as Posture
    from projected_control.control import SelectionController as SelectionController
    from projected_control.control.force_source import ForceSource as ForceSource
    from projected_control.control.guard import Guard as Guard
    from projected_control.control.limits import Limits as Limits
    from projected_control.control.loop import ControlLoop as ControlLoop
    from projected_control.control.loop import Tick as Tick
    from projected_control.control.references import Constant as Constant
    from projected_control.control.references import MotionLimits as MotionLimits
    from projected_control.control.references import Reference as Reference
    from projected_control.control.references import SetPoint as SetPoint
    from projected_control.control.references import Sine as Sine
    from projected_control.control.references import Sines as Sines
    from projected_control.control.references import Waypoints as Waypoints
    from projected_control.control.state import RawState as RawState
    from projected_control.errors import ProjectedControlError as ProjectedControlError
    from projected_control.model.arm import Arm as Arm
    from projected_control.model.arm import OffsetFrame as OffsetFrame
    from projected_control.model.constrained_arm import ConstrainedArm as ConstrainedArm
    from projected_control.model.constraints import Angle as Angle
    from projected_control.model.constraints import Constraint as Constraint
    from projected_control.model.constraints import Distance as Distance
    from projected_control.model.constraints import FrameFixed as FrameFixed
    from projected_control.model.constraints import Hinge as Hinge
    from projected_control.model.constraints import JointCoupling as JointCoupling
    from projected_control.model.constraints import JointLocked as JointLocked
    from projected_control.model.constraints import LoopClosure as LoopClosure
    from projected_control.model.constraints import Moving as Moving
    from projected_control.model.constraints import Parallel as Parallel
    from projected_control.model.constraints import PointAtPoint as PointAtPoint
    from projected_control.model.constraints import PointOnCircle as PointOnCircle
    from projected_control.model.constraints import PointOnCylinder as PointOnCylinder
    from projected_control.model.constraints import PointOnHeightMap as PointOnHeightMap
    from projected_control.model.constraints import PointOnLine as PointOnLine
    from projected_control.model.constraints import PointOnPlane as PointOnPlane
    from projected_control.model.constraints import PointOnSphere as PointOnSphere
    from projected_control.model.constraints import Stack as Stack
    from projected_control.model.constraints import with_mimics as with_mimics
    from projected_control.model.coordinates import Coordinate as Coordinate
    from projected_control.model.coordinates import Coordinates as Coordinates
    from projected_control.model.inverse_dynamics import InverseDynamics as InverseDynamics
    from projected_control.model.inverse_dynamics import inverse_dynamics as inverse_dynamics
    from projected_control.model.mjcf import Loops as Loops
    from projected_control.model.mjcf import loops_from_mjcf as loops_from_mjcf
    from projected_control.model.projection import Metric as Metric
    from projected_control.planning import InverseKinematics as InverseKinematics
    from projected_control.planning import KinematicSolution as KinematicSolution
    from projected_control.planning import Manipulability as Manipulability
    from projected_control.planning import Reach as Reach
    from projected_control.planning import Task as Task
    from projected_control.planning import assemble as assemble
    from projected_control.planning import manipulability as manipulability
    from projected_control.planning import map_reach as map_reach
    from projected_control.planning import start_of as start_of
    from projected_control.resources import share_file as share_file
    from projected_control.runs.port import Port as Port
    from projected_control.runs.port import SteppedArm as SteppedArm
    from projected_control.runs.recorder import Recorder as Recorder
    from projected_control.runs.recording import Recording as Recording
    from projected_control.runs.recording import read_recording as read_recording
    from projected_control.runs.replay import RecordedArm as RecordedArm
    from projected_control.runs.replay import replay as replay
    from projected_control.runs.runner import Runner as Runner
    from projected_control.runs.runner import run as run
    from projected_control.runs.simulated import SimulatedArm as SimulatedArm
    from projected_control.runs.simulated import Simulation as Simulation
    from projected_control.runs.simulated import simulate as simulate
    from projected_control.simulation import ForceSensor as ForceSensor
    from projected_control.simulation import JointFriction as JointFriction
    from projected_control.simulation import Plant as Plant


def _listed() -> dict[str, str]:
    """The module of each name, from the list above."""
    with open(__file__, encoding="utf-8") as source:
        found = re.findall(r"^    from (\S+) import \S+ as (\S+)$", source.read(), re.MULTILINE)
    return {name: module for module, name in found}


_HOME = _listed()
__all__ = ["__version__", *_HOME]


if not TYPE_CHECKING:  # to which a name that is not listed is an error

    def __getattr__(name: str) -> Any:
        """Load a name from its module the first time it is asked for."""
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        value = getattr(import_module(_HOME[name]), name)
        globals()[name] = value
        return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
