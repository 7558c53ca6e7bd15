"""A run in Gazebo: what is checked, written and started for it, and how it is judged.

``gazebo.launch.py`` and ``projected-control gazebo`` start what is here. Nothing here needs
launch. Gazebo runs our controller in an interpreter of its own, which has to find this package and
what it imports.
"""

from __future__ import annotations

import atexit
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import projected_control
from projected_control.apps.gazebo import world_files as gazebo_files
from projected_control.apps.gazebo.arguments import AUTO, COMPILED, PYTHON, ROS2_CONTROL
from projected_control.apps.launch import choices
from projected_control.apps.launch.choices import BOOLEANS, Choice
from projected_control.errors import ProjectedControlError
from projected_control.native.gazebo_build import gazebo_library
from projected_control.native.plugin_build import ros_prefixes
from projected_control.resources import share_file
from projected_control.ros.gazebo_modules import find_gazebo
from projected_control.ros.gazebo_stopwatch import read_outcome, read_trouble
from projected_control.settings import build
from projected_control.settings.files import ALL_NODES, parameter_text
from projected_control.settings.nodes import ControllerSettings

POINT_MASSES = ("slider_crank.urdf.xacro",)
"""Descriptions whose links have no inertia unless told otherwise; Gazebo wants some."""

LOADING_SECONDS = 60.0  # within which Gazebo has loaded our controller, also on a busy computer [s]

OWN = {
    "contact": "friction.contact",
    "sensor_noise": "sensor.noise",
    "sensor_delay": "sensor.delay",
}
"""Arguments about the arm in Gazebo, and the settings of the simulated arm that they stand for."""

DRAWN = {"markers_rate": 20.0}  # settings of a controller that RViz looks at


class Process(NamedTuple):
    """What is started."""

    name: str  # for what is said of it
    command: list[str]  # program and arguments
    environment: dict[str, str]  # on top of the present one


@dataclass(frozen=True)
class Request:
    """What the arguments of a run amount to."""

    given: Mapping[str, str]  # the arguments
    chosen: Choice  # controller and arm
    controller: ControllerSettings  # settings of the controller, complete
    options: gazebo_files.WorldOptions  # the scene
    summary: Path | None  # file for the numbers of the run; None for none
    said: tuple[str, ...]  # what is to be said before anything starts

    @property
    def drawn(self) -> bool:
        return BOOLEANS[self.given["rviz"]]


def requested(given: Mapping[str, str]) -> Request:
    """Check the arguments as a whole.

    Raises:
        ProjectedControlError: Where Gazebo is missing, or something cannot be, with the reason.
    """
    through = given["bridge"] == ROS2_CONTROL
    require_gazebo(through)
    chosen = choose(given)
    summary = choices.summary_file(given["summary"])
    drawn = DRAWN if BOOLEANS[given["rviz"]] else {}
    controller = chosen.controller(drawn)
    said = choices.remarks(chosen, controller, show=BOOLEANS[given["show"]])
    if through and summary is not None:
        raise ProjectedControlError(
            "summary:= is written by a controller inside Gazebo; behind ros2_control ask it while "
            f"it runs: ros2 service call /{chosen.case.node}/summary std_srvs/srv/Trigger"
        )
    factor = choices.number(given, "factor")
    options = gazebo_files.WorldOptions(
        yaw=float(given["yaw"]),
        factor=1.0 if through and not factor else factor,  # others have to keep up
        world=Path(given["world"]).expanduser() if given["world"] else None,
        solver="" if given["solver"] == AUTO else given["solver"],
        measure=None if given["measure"] == AUTO else BOOLEANS[given["measure"]],
    )
    if not through:
        access, why_not = library(given["access"])
        options = replace(options, access=access)
        said += [why_not] if why_not else []
    said += [f"WARNING: {line}" for line in gazebo_files.left_out(chosen.layers.arm())]
    said += [remark] if (remark := interpreter_remark()) else []
    return Request(given, chosen, controller, options, summary, tuple(said))


def choose(given: Mapping[str, str]) -> Choice:
    """Controller and arm, with what the arguments of Gazebo say of the arm on top."""
    chosen = choices.choose(given)
    own: dict[str, object] = dict(chosen.friction)
    for argument, name in OWN.items():
        if given[argument]:
            own[name] = choices.number(given, argument)
    if "sensor.delay" in own:
        own["sensor.delay"] = choices.whole(given, "sensor_delay")
    arm = chosen.layers.arm()
    if arm.robot_description_file in POINT_MASSES and not arm.robot_description_arguments:
        own["robot_description_arguments"] = ["inertia:=rod"]
    return replace(chosen, layers=chosen.layers.on_top(own, "launch file and its arguments"))


def library(asked: str) -> tuple[Path | None, str]:
    """The compiled library for ``access:=``, and why there is none where it would be welcome."""
    if asked == PYTHON:
        return None, ""
    try:
        return gazebo_library(), ""
    except ProjectedControlError as error:
        if asked == COMPILED:
            raise ProjectedControlError(f"access:=compiled cannot be: {error}") from None
        return None, f"Python reads the arm in Gazebo (access:=python), which is slower: {error}"


def require_gazebo(through_ros2_control: bool) -> None:
    """Say what to install where something is missing."""
    if shutil.which("gz") is None:
        raise ProjectedControlError(
            "Gazebo is not installed: apt install ros-$ROS_DISTRO-ros-gz and source its setup file"
        )
    if not through_ros2_control:
        find_gazebo()


def temporary_folder() -> Path:
    """A folder for the files of a run, which must be there until Gazebo has ended: see `tidy`.

    It goes with this process where nothing has removed it before.
    """
    folder = Path(tempfile.mkdtemp(prefix="projected_control_gazebo_"))
    atexit.register(tidy, folder)
    return folder


def tidy(folder: Path) -> None:
    """Remove the files of a run that is over."""
    shutil.rmtree(folder, ignore_errors=True)


def in_the_physics_step(
    request: Request, folder: Path
) -> tuple[gazebo_files.GazeboFiles, list[Process]]:
    """The files of a run with the controller inside Gazebo, and what to start: Gazebo first."""
    written = gazebo_files.write_files(
        folder,
        request.chosen.case.node,
        request.controller,
        request.chosen.values(),
        request.options,
        summary=request.summary,
    )
    processes = [simulator(request, written.world)]
    if request.drawn:
        urdf = build.build_arm(request.controller).urdf
        processes += [state_publisher(urdf, folder), rviz(request.chosen.case.node)]
    return written, processes


def simulator(request: Request, world: Path) -> Process:
    """Gazebo itself."""
    seconds = choices.number(request.given, "seconds")
    steps = ["--iterations", str(round(seconds * request.controller.rate))] if seconds else []
    server = [] if BOOLEANS[request.given["gui"]] else ["-s"]
    command = ["gz", "sim", "-r", *server, *steps, str(world)]
    return Process("gz", command, interpreter_environment())


def state_publisher(urdf: str, folder: Path) -> Process:
    """Publishes the description, and where its links are."""
    file = folder / "state_publisher.yaml"
    file.write_text(parameter_text({ALL_NODES: {"robot_description": urdf}}), encoding="utf-8")
    return node("robot_state_publisher", ["--params-file", str(file)])


def rviz(controller: str) -> Process:
    """RViz, looking at the arm and at what its controller draws."""
    scene = str(share_file("config", "constrained_arm.rviz"))
    return node("rviz2", ["-r", f"/markers:=/{controller}/markers"], "-d", scene)


def node(package: str, ros: Sequence[str], *arguments: str) -> Process:
    """A node of another package, whose executable has the package's name."""
    for prefix in ros_prefixes():
        program = prefix / "lib" / package / package
        if program.exists():
            return Process(package, [str(program), *arguments, "--ros-args", *ros], {})
    raise ProjectedControlError(
        f"the package {package} is in no folder of AMENT_PREFIX_PATH: source your ROS 2, or "
        f"apt install ros-$ROS_DISTRO-{package.replace('_', '-')}"
    )


def judge(outcome: Path, status: int, told_to_end: bool) -> str:
    """Why a run failed whose Gazebo has ended; empty where it did not.

    Args:
        outcome: File in which our system in Gazebo says what became of it.
        status: With which Gazebo ended.
        told_to_end: Whether it ended because it was told to, by Ctrl+C say.
    """
    if told_to_end:
        return read_trouble(outcome)
    if reason := read_outcome(outcome):
        return reason
    return f"Gazebo {choices.ended_how(status)}" if status else ""


WHEELS = "ros_wheels_bootstrapper"
"""Package that comes with ROS 2 from PyPI: starts Python anew with the libraries' folders."""

STARTED_ANEW = "_ROS_WHEELS_BOOTSTRAP_COMPLETE"
"""By which it knows that it has; Gazebo's interpreter cannot be started anew."""

LIBRARIES = "LD_LIBRARY_PATH"


def from_wheels() -> bool:
    """Whether ROS 2 is that of PyPI."""
    return find_spec(WHEELS) is not None


def interpreter_environment() -> dict[str, str]:
    """Variables for ``gz sim``, on top of the present ones."""
    here = str(Path(projected_control.__file__).resolve().parents[1])
    own = {"PYTHONPATH": _in_front(here, "PYTHONPATH")}
    if sys.prefix != sys.base_prefix:  # the interpreter finds its packages by the python in PATH
        own |= {"VIRTUAL_ENV": sys.prefix, "PATH": _in_front(str(Path(sys.prefix, "bin")), "PATH")}
    if from_wheels():
        own |= {STARTED_ANEW: "1", LIBRARIES: os.environ.get(LIBRARIES, "")}
    return own


def interpreter_remark() -> str:
    """What is set for ROS 2 from PyPI, in words; empty where it is another."""
    if not from_wheels():
        return ""
    return (
        f"ROS 2 comes from wheels: {STARTED_ANEW}=1 and {LIBRARIES} are set for Gazebo, whose "
        "Python would not start without them (a plain gz sim needs them, too)"
    )


def _in_front(entry: str, variable: str) -> str:
    present = [part for part in os.environ.get(variable, "").split(os.pathsep) if part]
    return os.pathsep.join([entry, *(part for part in present if part != entry)])
