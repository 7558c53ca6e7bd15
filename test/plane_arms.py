"""Arms of six and of seven joints on a plane, moved along it: as docs/hardware.md describes one.

Two coordinates and one constraint leave three, or four, free directions to nothing but a posture.
The arm with six joints is the one with seven, its last joint locked.
"""

from pathlib import Path

from projected_control.settings import build
from projected_control.settings.files import read_parameter_file
from projected_control.settings.nodes import (
    ARM,
    ControllerSettings,
    SimulatedArmSettings,
    checked,
    checked_controller,
    own_values,
)

PRESETS = Path(__file__).parents[1] / "config" / "presets"
START = [0.0, 0.35, 0.0, -1.7, 0.0, 1.1, 0.0]
PLANE = {
    "robot_description_file": "seven_joints.urdf",
    "constraint.kind": "point_on_plane",
    "constraint.frame": "flange",
    "constraint.point": [0.0, 0.0, 0.4],
    "constraint.direction": [0.0, 0.0, -1.0],
    "coordinates": ["flange.x", "flange.y"],
}


def on_plane(joints: int, preset: str = "gentle", **changes: object) -> dict[str, object]:
    """Parameters of an arm with this many joints; names of changes with __ for a point."""
    names = [f"joint_{i + 1}" for i in range(joints)]
    more = {name.replace("__", "."): value for name, value in changes.items()}
    own = {"joints": names, "simulation.start": START[:joints]}
    return {**read_parameter_file(PRESETS / f"{preset}.yaml"), **PLANE, **own, **more}


def controller(node: str, values: dict[str, object]) -> ControllerSettings:
    """Settings of a controller, of those values that it has."""
    return checked_controller(node, own_values(node, values))


def arm(values: dict[str, object]) -> SimulatedArmSettings:
    """Settings of the simulated arm, of those values that it has."""
    settings = checked(ARM, own_values(ARM, values))
    assert isinstance(settings, SimulatedArmSettings)
    return settings


def start(values: dict[str, object]):
    """Where the simulated arm of these values starts, n."""
    return build.build_plant(arm(values)).truth.q.copy()


def made(node: str, values: dict[str, object]):
    """A loop that is to hold its arm where it starts, and the simulated arm."""
    hardware, settings = build.build_plant(arm(values)), controller(node, values)
    loop = build.build_loop(node, settings)
    q = hardware.truth.q.copy()
    loop.controller.hold(q)
    here = build.starting_point(settings, loop.controller.model)
    loop.set_reference(build.first_reference(settings, loop, here, q))
    return loop, hardware
