"""docs/your_arm.md, word by word: its files are written and its commands run, in order."""

import json

import pytest
from blocks import run_page


@pytest.mark.timeout(1800)
def test_the_page_ends_with_an_arm_that_wipes(tmp_path):
    outputs = run_page("docs/your_arm.md", tmp_path, with_long=True).outputs
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
