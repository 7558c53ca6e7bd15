"""docs/your_arm.md, word by word: its files are written and its commands run, in order."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "your_arm.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def commands_run(folder):
    """Write every file and run every command of the page; the outputs by command."""
    outputs = {}
    tools = folder / "bin"
    tools.mkdir()
    for name, words in (("python", ""), ("projected-control", " -m projected_control.apps.cli")):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}"{words} "$@"\n')
        (tools / name).chmod(0o755)
    place = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    environment = {
        **os.environ,
        "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(part for part in place if part),
    }
    for language, text in BLOCK.findall(PAGE):
        if language in ("yaml", "python"):
            name = text.partition("\n")[0].removeprefix("# ")
            assert re.fullmatch(r"\w+\.(yaml|py)", name), text
            (folder / name).write_text(text, encoding="utf-8")
        elif language == "sh":
            for command in text.strip().splitlines():
                done = subprocess.run(
                    ["/bin/sh", "-c", command],
                    cwd=folder,
                    env=environment,
                    capture_output=True,
                    text=True,
                    timeout=900,
                    check=False,
                )
                assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
                outputs[command] = done.stdout
    return outputs


@pytest.mark.timeout(1800)
def test_the_page_ends_with_an_arm_that_wipes(tmp_path):
    outputs = commands_run(tmp_path)
    (check,) = (text for command, text in outputs.items() if "control check" in command)
    assert "GREEN: " in check
    assert (tmp_path / "check.png").read_bytes().startswith(b"\x89PNG")
    assert "place ± " in (tmp_path / "table.yaml").read_text(encoding="utf-8")
    smooth, rough = (json.loads(text) for c, text in outputs.items() if "control demo" in c)
    assert smooth["force_wanted"] == rough["force_wanted"] == 10.0
    assert smooth["force_error_rms"] < 0.05
    assert smooth["lateral_drift"] < 1e-4
    assert rough["force_error_rms"] < 0.5
    assert rough["tracking_rms"] < 1e-3
