"""``projected-control gazebo``: a controller on an arm in Gazebo, without launch."""

from __future__ import annotations

from projected_control.apps.console.command import Command, flag, positional

DESCRIPTION = """\
Starts Gazebo with an arm on its constraint, and with the controller inside the physics step. It
takes the arguments of gazebo.launch.py, as name:=value, and starts the same; it needs Gazebo with
its Python modules, but neither launch nor the command ros2. bridge:=ros2_control alone is left to
the launch file. For ROS 2 from PyPI it sets what Gazebo's own Python needs, and says so.
"""

EPILOG = """\
examples:
  projected-control gazebo                                    the paper's arm, as fast as it goes
  projected-control gazebo controller:=force arm:=my_arm.yaml contact:=0.3
  projected-control gazebo task:=valve gui:=true factor:=1    with Gazebo's window
  projected-control gazebo seconds:=20 summary:=numbers.json  an end, and the numbers of the run
  projected-control gazebo --show-args                        every argument and its default

exit status: 0 ended by itself; 1 the controller or Gazebo failed, also where Ctrl+C ended it after
that; 2 refused before anything was started; 130 interrupted
"""


class Arguments(
    Command, help="a controller on an arm in Gazebo", description=DESCRIPTION, epilog=EPILOG
):
    arguments: list[str] = positional("as for gazebo.launch.py", "name:=value", default=[])
    show_args: bool = flag(
        "list the arguments, and end",
        flags=(
            "-s",
            "--show-args",
        ),
    )


def run(args: Arguments) -> int:
    """Start Gazebo, and wait until it has ended."""
    from projected_control.apps.gazebo.arguments import ARGUMENTS
    from projected_control.apps.launch import declared

    if args.show_args:
        for argument in ARGUMENTS:
            print(f"{argument.name}:=\n    {argument.help}")
        return 0
    return _start(declared.read(args.arguments, ARGUMENTS), args.arguments)


def _start(given: dict[str, str], words: list[str]) -> int:
    """Check all there is to check, then run."""
    import os
    import sys

    from projected_control import extras
    from projected_control.apps.console import interrupt
    from projected_control.apps.gazebo import gazebo_run
    from projected_control.apps.gazebo.arguments import ROS2_CONTROL
    from projected_control.apps.gazebo.processes import run_session
    from projected_control.errors import InvalidValue

    if given["bridge"] == ROS2_CONTROL:
        raise InvalidValue(
            "bridge:=ros2_control brings up nodes of other packages one after the other, which is "
            "launch's work: ros2 launch projected_control gazebo.launch.py " + " ".join(words)
        )
    extras.require("rclpy", "projected-control gazebo")
    os.environ.setdefault("ROS_AUTOMATIC_DISCOVERY_RANGE", "LOCALHOST")
    request = gazebo_run.requested(given)
    for line in request.said:
        print(line, flush=True)
    ended = run_session(request)
    if ended.reason:
        print(f"projected-control: {ended.reason}", file=sys.stderr)
        return 1
    return interrupt.exit_status() if ended.told_to_end else 0
