"""``projected-control example``: a parameter file of ours and its description, to begin from."""

from __future__ import annotations

import re
from itertools import takewhile
from pathlib import Path

from projected_control.apps.console.command import Command, option, positional
from projected_control.errors import ProjectedControlError
from projected_control.resources import ARMS, share_file

DESCRIPTION = """\
Copies a parameter file of this package, and the description of the arm that it names with all that
belongs to it, into a folder of yours, where they can be changed. Without a name, it lists those
there are. Files that exist are never written over.
"""

EPILOG = """\
examples:
  projected-control example                      what there is
  projected-control example seven_joints         seven_joints.yaml and seven_joints.urdf
  projected-control example rough --out my_arm   my_arm/rough.yaml
"""


class Arguments(
    Command,
    help="copy a parameter file of ours and its arm, to begin from",
    description=DESCRIPTION,
    epilog=EPILOG,
):
    name: str | None = positional("without it: what there is", "NAME")
    out: Path = option("into which folder (default: here)", Path(), "DIR")


def run(args: Arguments) -> int:
    """List the examples, or copy one."""
    import shutil

    from projected_control.errors import InvalidValue, UnknownName

    known = examples()
    if args.name is None:
        width = max(map(len, known))
        for name, title in known.items():
            print(f"{name:{width}}  {title}")
        return 0
    name = args.name.removesuffix(".yaml")
    if name not in known:
        raise UnknownName("example", name, known)
    files = example_files(name)
    folder: Path = args.out
    there = [str(folder / file.name) for file in files if (folder / file.name).exists()]
    if there:
        raise InvalidValue(
            f"{', '.join(there)} exists already and is not written over; move it away, or name "
            "another folder with --out"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for file in files:
            shutil.copyfile(file, folder / file.name)
    except OSError as error:
        raise InvalidValue(f"cannot write into {folder}: {error.strerror or error}") from None
    print(f"copied to {folder.resolve()}: {', '.join(file.name for file in files)}")
    return 0


NO_ARM = ("ros2_control",)  # files of config/ that are no parameters of ours

_INCLUDE = re.compile(r"<xacro:include\s+filename=\"([^\"]+)\"")
_DESCRIPTION = re.compile(r"^\s*robot_description_file:\s*(\S+)", re.MULTILINE)


def examples() -> dict[str, str]:
    """Names of the files in config/ with the first sentence that each says of itself."""
    folder = share_file("config", "seven_joints.yaml").parent
    found = {}
    for file in sorted(folder.glob("*.yaml")):
        if file.stem not in NO_ARM:
            lines = file.read_text(encoding="utf-8").splitlines()
            comment = [line.lstrip("# ") for line in takewhile(lambda x: x.startswith("#"), lines)]
            found[file.stem] = " ".join(comment).split(". ")[0].rstrip(".")
    return found


def example_files(name: str) -> list[Path]:
    """The parameter file and, where it names a description of ours, that and what it includes."""
    first = share_file("config", f"{name}.yaml")
    named = _DESCRIPTION.findall(first.read_text(encoding="utf-8"))
    waiting = [share_file("urdf", each) for each in named if not each.startswith(ARMS)]
    files = [first]
    while waiting:
        file = waiting.pop()
        if file in files:
            continue
        files.append(file)
        for included in _INCLUDE.findall(file.read_text(encoding="utf-8")):
            if "$" in included:
                raise ProjectedControlError(f"{file.name} includes {included}, which moves")
            waiting.append(file.parent / included)
    return files
