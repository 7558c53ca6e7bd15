"""``tune --apply``: the gains that were found are those of the running controller; else nothing."""

from __future__ import annotations

import pytest

pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
pytest.importorskip("matplotlib", reason="the extra apps is not installed")

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import yaml
from fleet import THREE_LINK, Fleet

from projected_control.apps.cli import main
from projected_control.apps.commands import tune
from projected_control.apps.tuning.trials import Response
from projected_control.resources import share_file
from projected_control.settings.nodes import ARM, FORCE

SETTINGS = {**THREE_LINK, "lockstep": True}
NAMES = [
    "gains.stiffness",
    "gains.damping",
    "force.proportional",
    "force.integral",
    "force.cutoff",
    "force.delay",
]


@pytest.fixture
def running(fleet: Fleet, monkeypatch: pytest.MonkeyPatch) -> Fleet:
    """A controller that follows its arm; commands of this process reach it."""
    fleet.start(ARM, SETTINGS)
    fleet.start(FORCE, SETTINGS)
    fleet.until_said(FORCE, "following", level=0)
    for name in ("ROS_DOMAIN_ID", "ROS_AUTOMATIC_DISCOVERY_RANGE"):
        monkeypatch.setenv(name, fleet.environment[name])
    fleet.pause(ARM, True)  # the controller stays active, and leaves the computer to the trials
    return fleet


def command(folder: Path, *arguments: str) -> list[str]:
    file = str(share_file("config", "three_link_slider.yaml"))
    return ["tune", file, "--node", FORCE, "--preset", "paper", "--out", str(folder), *arguments]


@pytest.mark.long
def test_a_running_controller_gets_the_gains(
    running: Fleet, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All six at once, and it goes on with them; none of those that a trial showed to diverge."""
    before, kept, find = running.get(FORCE, NAMES), [], tune.find
    monkeypatch.setattr(tune, "find", lambda *given: kept.append(find(*given)) or kept[-1])
    assert main(command(tmp_path, "--apply", FORCE, "--json")) == 0
    assert json.loads(capsys.readouterr().out)["applied"]
    proposed = yaml.safe_load((tmp_path / "tuned.yaml").read_text())[FORCE]["ros__parameters"]
    assert running.get(FORCE, NAMES) == [proposed[name] for name in NAMES]
    assert running.get(FORCE, NAMES) != before
    ticks = running.summary(FORCE)["ticks"]
    running.pause(ARM, False)
    running.until_counted(FORCE, "ticks", ticks + 500)
    running.until_said(FORCE, "following", level=0)
    running.put(FORCE, dict(zip(NAMES, before, strict=True)))
    (found,) = kept
    diverged = replace(found.proposed, motion_step=Response(*np.zeros((2, 0)), 0.0, "it flew away"))
    monkeypatch.setattr(tune, "find", lambda *_: replace(found, proposed=diverged))
    assert main(command(tmp_path, "--apply", FORCE, "--json")) == 1
    said = capsys.readouterr()
    assert not json.loads(said.out)["applied"]
    assert "was not stable" in said.err
    assert running.get(FORCE, NAMES) == before


def test_nothing_is_begun_for_a_node_that_is_not_there(
    running: Fleet, tmp_path: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tune, "find", lambda *_: pytest.fail("it began"))
    assert main(command(tmp_path, "--apply", "nobody")) == 2
    said = capsys.readouterr().err
    assert "there is no node /nobody" in said
    assert f"/{FORCE}" in said
