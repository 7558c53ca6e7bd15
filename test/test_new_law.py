"""A law of one's own: one file, a number in `Law`, and all else follows from its record."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
NUMBER = 13

LAW = '''"""Half of what PIDC sends; for a test."""

import numpy as np
from numpy.typing import NDArray

from projected_control.compiled import compiled
from projected_control.control.controllers import Controller
from projected_control.control.law_kinds import LAWS, MOTION, Law, LawKind
from projected_control.control.motion import motion_effort
from projected_control.control.terms import ControlTerms
from projected_control.model.constrained_arm import Terms
from projected_control.model.linalg import fill


@compiled
def half_law(stop: bool, passive: NDArray[np.int64], t: Terms, c: ControlTerms) -> None:
    """f = P (h + M u_p) / 2."""
    motion_effort(stop, False, t, c)
    for i in range(c.tangent.size):
        c.tangent[i] *= 0.5
    fill(c.normal, 0.0)


def make_controller(asked):
    return Controller(asked.model, asked.gains, asked.period, asked.kind.number)


LAWS.add(
    LawKind("half", "half of PIDC", Law.HALF, (MOTION,), kernel=half_law, make=make_controller)
)
'''

PROGRAM = """
import json
import numpy as np
from projected_control.apps.demo.demo_settings import run_in_process, settings_for
from projected_control.control.law_kinds import LAWS
from projected_control.native import exports
from projected_control.native.header import enumeration
from projected_control.settings import build
from projected_control.settings.nodes import MOTION, settings_class

found = {"choices": settings_class(MOTION).parameter("law").choices}
for law in ("pidc", "half"):
    settings = settings_for("motion", 0.01, "paper", True, {"law": law}).controller
    controller = build.build_controller(MOTION, settings)
    q = np.array([-3.0, 2.0, 1.0])
    controller.hold(q)
    found[law] = controller.update(q, np.array([0.3, -0.2, 0.1])).total.tolist()
found["header"] = enumeration(next(e for e in exports.ENUMERATIONS if e.__name__ == "Law"))
print(json.dumps(found))
"""


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """A copy of the package with the law in it."""
    package = tmp_path / "projected_control"
    ignore = shutil.ignore_patterns("__pycache__", "lib")
    shutil.copytree(ROOT / "projected_control", package, ignore=ignore)
    for name in ("config", "urdf", "launch", "worlds", "package.xml", "setup.py"):
        (tmp_path / name).symlink_to(ROOT / name)
    (package / "control" / "laws" / "half.py").write_text(LAW)
    numbers = package / "control" / "law_kinds.py"
    last = '    """Velocities of the joints, tasks by priority."""\n'
    text = numbers.read_text()
    assert last in text
    numbers.write_text(text.replace(last, f"{last}    HALF = {NUMBER}\n"))
    return tmp_path


def test_two_files_are_a_law(changed: Path) -> None:
    """Dispatch, parameter, controller and header have it; with its test, that is three files."""
    others = {
        path.relative_to(changed): path
        for path in (changed / "projected_control").rglob("*.py")
        if "__pycache__" not in path.parts
    }
    written = [
        name
        for name, path in others.items()
        if not (ROOT / name).is_file() or (ROOT / name).read_bytes() != path.read_bytes()
    ]
    assert len(written) == 2
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "PYTHONPATH": str(changed), "PROJECTED_CONTROL_COMPILE": "0"},
        cwd=changed,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert "half" in found["choices"]
    assert found["half"] == pytest.approx([0.5 * f for f in found["pidc"]])
    assert max(map(abs, found["half"])) > 0.1
    assert f"PROJECTED_CONTROL_LAW_HALF = {NUMBER}," in found["header"]
    assert f"PROJECTED_CONTROL_LAW_LAST = {NUMBER}," in found["header"]
