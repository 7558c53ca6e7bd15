"""A new live number is one line of `control/live.py`: the rest follows from it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from acting_runs import NEEDS_NATIVE

import projected_control

PACKAGE = Path(projected_control.__file__).parent
TEST = Path(__file__).parent

LINE = (
    '    posture_gains: Annotated[Array, Slot("2", "K₀ [1/s²] and D₀ [1/s].", '
    'into="c.posture_gains", parameters="posture", blended=True, least=0.0)]\n'
)
"""The stiffness and damping of a posture, which count at the start alone, come into force live."""

IN_PROCESS = """
from pathlib import Path

import numpy as np
from loops import build

from projected_control.control.live import slots_of, view_block
from projected_control.native.session import change_sections
from projected_control.native.updates import Section, Update, decode, encode
from projected_control.native.updates_header import updates_header
from projected_control.runs.kept_memory import places_of
from projected_control.runs.recorder import Recorder
from projected_control.runs.replay import replay
from projected_control.runs.runner import Runner

NEW = [50.0, 4.0]
loop, arm = build("hybrid")
runner, recorder = Runner(loop, arm), Recorder(Path("run.mcap"))
runner.record(recorder)
runner.open()
terms = loop.controller.terms
for tick in range(30):
    if tick == 10:
        loop.mailbox.post("posture_gains", NEW, 0.01)
        assert loop.controller.blending
    runner.step()
    if tick == 14:  # five of ten
        np.testing.assert_allclose(terms.posture_gains, 0.5 * np.array(NEW), rtol=1e-12)
recorder.close()
np.testing.assert_array_equal(terms.posture_gains, NEW)

message = decode(encode(Update.CHANGE, 7, 2, change_sections(loop)))
box = loop.mailbox.box.copy()
head = message.sections[Section.MAILBOX]
box[: head.size] = head
np.testing.assert_array_equal(view_block(box, 3, 1, 2).posture_gains, NEW)
text = updates_header()
assert "PROJECTED_CONTROL_SLOT_POSTURE_GAINS = " in text
assert "X(posture_gains, 2, 0.0, 1)" in text
assert {"posture_gains", "versions.posture_gains"} <= set(places_of(loop)["mailbox"])
assert slots_of(["posture.stiffness"]) == {"posture_gains"}

again = build("hybrid")[0]
assert replay("run.mcap", again).difference == 0.0
np.testing.assert_array_equal(again.controller.terms.posture_gains, NEW)
kept = build("hybrid")[0]
replay("run.mcap", kept, keep={"posture_gains"})
np.testing.assert_array_equal(kept.controller.terms.posture_gains, 0.0)
"""

IN_THE_PLUGIN = """
import numpy as np
from acting_runs import ActingRun

from projected_control.native.session import argument
from projected_control.native.updates import Section, Status

run = ActingRun("hybrid")
run.go(10)
run.loop.mailbox.post("posture_gains", [50.0, 4.0], 0.01)
assert run.change() is Status.ACCEPTED
run.go(20)
work = argument(run.loop, Section.CONTROL_WORK)
work[:] = run.state().sections[Section.CONTROL_WORK]
np.testing.assert_array_equal(run.loop.controller.terms.posture_gains, [50.0, 4.0])
run.loop.mailbox.post("posture_gains", [-1.0, 4.0], 0.01)
assert run.change() is Status.VALUE
"""


@pytest.fixture
def changed(tmp_path: Path) -> Path:
    """A copy of the package with the line, without the library that was built before."""
    copy = tmp_path / "here" / "projected_control"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "lib"))
    file = copy / "control" / "live.py"
    before, mark, after = file.read_text(encoding="utf-8").partition("    bodies: ")
    file.write_text(before + LINE + mark + after, encoding="utf-8")
    return copy.parent


def run(folder: Path, script: str, **environment: str) -> None:
    paths = os.pathsep.join([str(folder), str(TEST)])
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": paths, **environment},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_one_line_in_one_file_is_a_live_number(changed: Path) -> None:
    """Posted, blended, sent, checked, recorded, replayed and kept against recorded changes."""
    pytest.importorskip("mcap", reason="the package mcap is not installed")
    differs = [
        path
        for path in changed.rglob("*.*")
        if path.is_file()
        and path.read_bytes() != (PACKAGE.parent / path.relative_to(changed)).read_bytes()
    ]
    assert [path.name for path in differs] == ["live.py"]
    assert "\n" not in LINE[:-1]
    run(changed, IN_PROCESS, PROJECTED_CONTROL_COMPILE="0")


@pytest.mark.long
@pytest.mark.timeout(1200)
@NEEDS_NATIVE
def test_the_plugin_takes_it_too(changed: Path) -> None:
    """Built from the changed sources: in force after its blend, refused where it is negative."""
    run(changed, IN_THE_PLUGIN)
