"""``projected-control fit``: a line, plane or circle from a guided motion."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from projected_control.apps.console.command import Command, flag, option, positional

if TYPE_CHECKING:
    from numpy.typing import NDArray


DESCRIPTION = """\
Finds the place and the direction of what holds an arm from a motion in which it was guided by hand:
to and fro over a table, along a drawer's rail, round a valve. Prints the constraint as a block of
a parameter file, with what is left over and how sure it is (95 %).

The motion is a CSV file with a line of names, or a .npz file: columns x, y, z [m] for points; or
joint positions [rad or m], columns under the joints' names (in .npz: q, and joint_names where they
are not in the order of the arm's), with --arm and --frame. A recording (*.mcap) is one, too, and
brings its arm with it, so that --arm is not needed.
"""

EPILOG = """\
examples:
  projected-control fit plane touched.csv --frame tool > table.yaml
  projected-control fit plane guided.csv --arm my_arm.yaml --frame tool --towards 0 0 -1
  projected-control fit circle guided.npz --arm my_arm.yaml --frame hand --json
  projected-control check my_arm.yaml table.yaml
"""


class Arguments(
    Command,
    help="find a line, plane or circle from a guided motion",
    description=DESCRIPTION,
    epilog=EPILOG,
):
    shape: str = positional(choices=("line", "plane", "circle"))
    motion: Path = positional("points or joint positions", "FILE")
    arm: Path | None = option("parameter file of the arm, for joint positions", metavar="FILE")
    frame: str = option("link that was guided (default: %(default)s)", "tool")
    towards: tuple[float, float, float] | None = option(
        "to which side the direction points (default: its largest number is positive; a "
        "line's, as it was gone)",
        metavar=("X", "Y", "Z"),
    )
    out: Path | None = option("write the block to this file", metavar="FILE")
    json: bool = flag("print the numbers as one JSON object")


def run(args: Arguments) -> int:
    from projected_control.apps.reports.contents import as_json
    from projected_control.model.fitting import SHAPES
    from projected_control.settings.files import ALL_NODES, parameter_text

    fit = SHAPES[args.shape](points_of(args.motion, args.arm, args.frame), args.towards)
    found = (
        f"{fit.points} points; {1e3 * fit.residual:.3g} mm RMS off it, {1e3 * fit.largest:.3g} mm "
        f"at most; 95 %: place ± {1e3 * fit.place_bound:.2g} mm, direction ± "
        f"{1e3 * fit.direction_bound:.2g} mrad"
    )
    if fit.radius_bound is not None:
        found += f", radius ± {1e3 * fit.radius_bound:.2g} mm"
    text = f"# A {args.shape} through {args.motion.name}: {found}.\n"
    text += parameter_text({ALL_NODES: {"constraint": fit.constraint(args.frame)}})
    if args.out is not None:
        args.out.write_text(text, encoding="utf-8")
    if args.json:
        numbers: dict[str, Any] = {
            **fit.constraint(args.frame),
            "points": fit.points,
            "residual_rms": fit.residual,
            "residual_max": fit.largest,
            "place_bound": fit.place_bound,
            "direction_bound": fit.direction_bound,
            "radius_bound": fit.radius_bound,
        }
        print(as_json(numbers))
    elif args.out is None:
        print(text, end="")
    else:
        print(f"{args.out}: {found}")
    return 0


def points_of(file: Path, arm: Path | None, frame: str) -> NDArray[Any]:
    """The points of a motion: as they are, or where a frame was for its joint positions."""
    import numpy as np

    from projected_control.errors import InvalidValue
    from projected_control.planning.paths import read_points

    if file.suffix == ".mcap":
        return recorded_positions(file, arm, frame)
    if file.suffix == ".npz":
        try:
            with np.load(file) as content:
                arrays = {name: content[name] for name in content.files}
        except (OSError, ValueError) as error:
            raise InvalidValue(f"cannot read {file}: {error}") from None
        if "points" in arrays:
            return np.asarray(arrays["points"], dtype=np.float64)
        if "q" not in arrays:
            raise InvalidValue(f"{file} must hold points or q, and holds {', '.join(arrays)}")
        names = [str(name) for name in arrays.get("joint_names", ())]
        return frame_positions(arm, frame, np.asarray(arrays["q"], dtype=np.float64), names)
    listed = read_points(file)
    if set("xyz") <= set(listed.names):
        return listed.points[:, [listed.names.index(axis) for axis in "xyz"]]
    return frame_positions(arm, frame, listed.points, list(listed.names))


def recorded_positions(file: Path, arm: Path | None, frame: str) -> NDArray[Any]:
    """Where a frame was in a recording: of its own arm, or of another file's."""
    import numpy as np

    from projected_control.runs.recording import read_recording
    from projected_control.settings import build
    from projected_control.settings.recorded import controller_settings

    recording = read_recording(file)
    q = recording.column("q")[recording.answers]
    q = q[np.isfinite(q).all(axis=1)]
    if arm is not None:
        return frame_positions(arm, frame, q, recording.joints)
    own, still = build.build_arm(controller_settings(recording)), np.zeros(q.shape[1])
    return np.array([own.update(line, still).frame(frame).position.copy() for line in q])


def frame_positions(
    file: Path | None, frame: str, q: NDArray[Any], names: list[str]
) -> NDArray[Any]:
    """Where a frame was at joint positions; columns that are no joints are left out."""
    import numpy as np

    from projected_control.errors import InvalidValue
    from projected_control.settings import build
    from projected_control.settings.layers import Layers

    if file is None:
        raise InvalidValue(
            "the motion has no columns x, y and z: if it is joint positions, --arm must name the "
            "arm's parameter file"
        )
    arm = build.build_arm(Layers.read([file]).arm())
    names = names or list(arm.joint_names)
    missing = [name for name in arm.joint_names if name not in names]
    if missing or q.ndim != 2 or q.shape[1] != len(names):
        raise InvalidValue(
            f"the motion must have a column per joint ({', '.join(arm.joint_names)}), and lacks "
            f"{', '.join(missing) or 'some'}"
        )
    columns = [names.index(name) for name in arm.joint_names]
    still = np.zeros(arm.n)
    return np.array(
        [arm.update(line, still).frame(frame).position.copy() for line in q[:, columns]]
    )
