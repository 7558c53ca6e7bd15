"""How many files a new constraint and a new port take: each is added to a copy, and counted.

They are added as CONTRIBUTING.md says; what of the package names kinds then knows them.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import projected_control

PACKAGE = Path(projected_control.__file__).parent
TEST = Path(__file__).parent

CONSTRAINT = '''"""A point at a height."""

from __future__ import annotations

import numpy as np

from projected_control.model.constraints.function_constraint import FunctionConstraint
from projected_control.model.constraints.kinds import FRAME, ConstraintKind, Setting
from projected_control.model.constraints.shapes import Plane
from projected_control.model.function_kinds import PositionAlong

UP = np.array([0.0, 0.0, 1.0])


class PointAtHeight(FunctionConstraint):
    """A frame's origin stays at a height z [m] over the base. One equation."""

    def __init__(self, frame, height):
        self._height = height
        super().__init__([PositionAlong(frame, UP, height)], ["height"])

    def shapes_at(self, x):
        return [Plane((self._height + x[0]) * UP, UP)]


RECORD = ConstraintKind(
    "point_at_height",
    "a point at a height",
    lambda settings: PointAtHeight(settings.frame, settings.position),
    needs=(FRAME, Setting("position", "the height, in the world", "m")),
)
'''

USES_CONSTRAINT = """
import kinds
import test_constraints

from projected_control import errors
from projected_control.model.constraints import CONSTRAINTS
from projected_control.settings.nodes import MotionControllerSettings

names = MotionControllerSettings.parameters()["constraint.kind"]
assert "point_at_height" in names.choices
settings = MotionControllerSettings.of(
    {"constraint.kind": "point_at_height", "constraint.frame": "tip", "constraint.position": [0.2]}
)
constraint = CONSTRAINTS["point_at_height"].build(settings.constraint)
assert (constraint.rows, constraint.row_names) == (1, ("height",))
try:
    CONSTRAINTS["point_at_hight"]
except errors.UnknownName as error:
    assert "there are: point_at_height, " in str(error)
for arm in kinds.ARMS.values():
    test_constraints.test_jacobian_and_bias_match_finite_differences(arm, kinds.KINDS["height"])
"""

PORT = '''"""An arm that does not move, whatever it is told."""

from __future__ import annotations

import numpy as np

from projected_control.control.state import RawState
from projected_control.runs.port import Port


class StillArm(Port):
    """Always at one place; it keeps what was written last."""

    def __init__(self, q, period):
        self._q, self._period, self._ticks = q, period, 0
        self.effort = np.zeros(q.size)

    def open(self):
        return RawState(self._q, np.zeros_like(self._q), 0.0)

    def read(self):
        self._ticks += 1
        return RawState(self._q, np.zeros_like(self._q), self._ticks * self._period)

    def write(self, effort):
        self.effort[:] = effort

    def close(self):
        self.effort[:] = 0.0


def make_port(node, side, loop):
    model = loop.controller.model
    return StillArm(np.zeros(model.n), loop.controller.period)
'''

PORT_LINE = """
PORTS.add(PortKind("still", "an arm that does not move", "projected_control.runs.still:make_port"))
"""

PORT_TEST = '''"""The arm that does not move."""

import numpy as np
from loops import build

from projected_control.runs.port import PORTS
from projected_control.runs.runner import Runner
from projected_control.settings.nodes import MotionControllerSettings


def test_it_is_named_and_ticks():
    assert MotionControllerSettings.of({"hardware": "still"}).hardware == "still"
    loop, arm = build("pidc")
    port = PORTS["still"].make(None, None, loop)
    port._q = arm.truth.q
    runner = Runner(loop, port)
    runner.open()
    for _ in range(3):
        runner.step()
    assert runner.statistics.ticks == 3
    assert np.isfinite(port.effort).all()
'''


class Copy:
    """A copy of the package, and of those files of the tests that are changed."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.package, self.test = folder, folder / "projected_control", folder / "test"
        shutil.copytree(PACKAGE, self.package, ignore=shutil.ignore_patterns("__pycache__"))
        self.test.mkdir()

    def add(self, path: str, text: str) -> None:
        """A new file."""
        assert not (PACKAGE.parent / path).exists()
        (self.folder / path).write_text(text, encoding="utf-8")

    def change(self, path: str, *pairs: tuple[str, str]) -> None:
        """Put a text before the first place of a mark, for each pair."""
        text = (PACKAGE.parent / path).read_text(encoding="utf-8")
        for mark, new in pairs:
            before, found, after = text.partition(mark)
            assert found, mark
            text = before + new + found + after
        (self.folder / path).write_text(text, encoding="utf-8")

    @property
    def written(self) -> list[str]:
        """Files that are new, or not as they were."""
        found = []
        for path in self.folder.rglob("*.*"):
            before = PACKAGE.parent / path.relative_to(self.folder)
            if path.is_file() and not (
                before.exists() and before.read_bytes() == path.read_bytes()
            ):
                found.append(str(path.relative_to(self.folder)))
        return sorted(found)

    def run(self, *arguments: str) -> None:
        paths = os.pathsep.join([str(self.folder), str(self.test), str(TEST)])
        done = subprocess.run(
            [sys.executable, *arguments],
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": paths, "PROJECTED_CONTROL_COMPILE": "0"},
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def copy(tmp_path: Path) -> Copy:
    return Copy(tmp_path)


def test_a_constraint_takes_three_files(copy: Copy) -> None:
    """Itself, where it is made known, its case; YAML names it and finite differences agree."""
    copy.add("projected_control/model/constraints/point_at_height.py", CONSTRAINT)
    copy.change(
        "projected_control/model/constraints/__init__.py",
        ("    point_at_point,\n", "    point_at_height,\n"),
        ("    point_at_point.RECORD,\n", "    point_at_height.RECORD,\n"),
    )
    copy.change(
        "test/kinds.py",
        (
            '    "point": lambda',
            '    "height": lambda tip, other: PointAtHeight(tip, 0.2),\n',
        ),
        (
            "from projected_control.model.function_kinds import",
            "from projected_control.model.constraints.point_at_height import PointAtHeight\n",
        ),
    )
    assert len(copy.written) == 3, copy.written
    copy.run("-c", USES_CONSTRAINT)


def test_a_port_takes_three_files(copy: Copy) -> None:
    """Itself, the line that names it, its test; ``hardware`` takes it and a runner steps it."""
    copy.add("projected_control/runs/still.py", PORT)
    port = PACKAGE / "runs" / "port.py"
    text = port.read_text(encoding="utf-8")
    (copy.package / "runs" / "port.py").write_text(text + PORT_LINE, encoding="utf-8")
    copy.add("test/test_still.py", PORT_TEST)
    assert len(copy.written) == 3, copy.written
    copy.run("-m", "pytest", "-q", "-p", "no:cacheprovider", "test/test_still.py")
