"""Moving pictures: of tasks, constraints and recordings, small, and with what there is to see."""

from __future__ import annotations

import shutil
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib", reason="the extra apps is not installed")
pytest.importorskip("PIL.Image", reason="Pillow is not installed")

from PIL import Image

from projected_control.apps.animation import drawing
from projected_control.apps.animation.drawing import pictures
from projected_control.apps.animation.sources import _SWINGS, INSTANTS, film, names, swing
from projected_control.apps.cli import main
from projected_control.apps.demo.demo_settings import run_in_process, settings_for
from projected_control.apps.docs.constraint_pages import EXAMPLES
from projected_control.apps.experiments.catalogue import EXPERIMENTS
from projected_control.errors import InvalidValue, ProjectedControlError, UnknownName
from projected_control.settings.nodes import LEGGED, TASKS

IMAGES = Path(__file__).parents[1] / "docs" / "images"


def test_a_planar_mechanism_is_drawn_and_its_tip_stays_on_its_slider(tmp_path):
    shown = film("crank", 0.5)
    assert shown.links.shape[1:] == (3, 2, 3)  # two links, and from the world to the first joint
    np.testing.assert_allclose(shown.tip[:, 2], 0.0, atol=1e-9)
    lengths = np.linalg.norm(np.diff(shown.links, axis=2)[:, :, 0], axis=2)
    np.testing.assert_allclose(lengths, lengths[0][None].repeat(len(lengths), axis=0), atol=1e-12)
    drawn = list(pictures(shown.at(-(-len(shown.times) // 4))))
    assert len(drawn) == 4
    assert drawn[0].shape == (324, 432, 3)
    assert not np.array_equal(drawn[0], drawn[-1])
    content = drawing.encode(tmp_path / "crank.gif", iter(drawn), 8)
    image = Image.open(BytesIO(content))
    assert image.n_frames == 4
    assert len(content) < 1_000_000


@pytest.mark.parametrize("what", ["quadruped", "config/quadruped.yaml"])
def test_a_robot_with_legs_is_drawn_with_all_of_them(what):
    shown = film(str(IMAGES.parents[1] / what) if "/" in what else what, 0.3)
    assert shown.links.shape[1:] == (16, 2, 3)  # trunk to hips, two pieces a leg, shanks to feet
    feet = shown.links[:, -4:, 1]
    np.testing.assert_allclose(feet, feet[:1].repeat(len(feet), axis=0), atol=1e-4)
    np.testing.assert_allclose(np.abs(feet[0, :, :2]), [[0.18, 0.14]] * 4, atol=1e-6)


def test_a_recorded_robot_with_legs_is_drawn(tmp_path):
    path = tmp_path / "squat.mcap"
    asked = settings_for("quadruped", 0.3, "paper", True, {"recording.file": str(path)})
    run_in_process(asked)
    assert film(str(path)).links.shape[1:] == (16, 2, 3)


def test_an_arm_swings_on_a_plane_and_shows_what_that_leaves_free():
    shown = swing("point_on_plane", 1.0)
    np.testing.assert_allclose(shown.tip[:, 2], 0.35, atol=1e-6)
    assert np.ptp(shown.tip[:, 0]) > 1e-3
    assert len(shown.surfaces) == 1
    assert len(list(pictures(shown.at(25)))) == 2


@pytest.mark.parametrize("experiment", INSTANTS)
def test_an_instant_has_no_film_and_says_what_shows_it(experiment):
    with pytest.raises(InvalidValue, match=f"projected-control reproduce {experiment}"):
        film(experiment)
    assert experiment not in names()


@pytest.mark.parametrize("experiment", [name for name in EXPERIMENTS if name not in INSTANTS])
def test_every_experiment_has_a_film(experiment):
    shown = film(experiment, 0.2)
    assert len(shown.times) > 3
    assert np.isfinite(shown.links).all()
    assert np.isfinite(shown.tip).all()


def test_what_is_named_can_be_shown():
    with pytest.raises(InvalidValue, match="point_on_plane"):
        film("none")
    assert "none" not in names()


def test_every_task_and_every_kind_of_constraint_has_a_picture():
    assert {*TASKS, *LEGGED} <= set(names())
    assert set(EXAMPLES) == set(_SWINGS) | {"loop"}


def test_the_pictures_of_the_documentation_are_there_and_small():
    wanted = [IMAGES / f"{task}.gif" for task in (*TASKS, "quadruped")]
    wanted += [IMAGES / "constraints" / f"{kind}.gif" for kind in EXAMPLES]
    for path in wanted:
        assert path.stat().st_size < 1_000_000, path
        assert Image.open(path).n_frames > 10, path


def test_refusals_say_what_there_is(tmp_path, monkeypatch):
    with pytest.raises(UnknownName, match="crank"):
        film("cranc")
    with pytest.raises(InvalidValue, match=r"\.gif or \.mp4"):
        drawing.require_kind(tmp_path / "a.png")
    assert main(["animate", "crank", "slider", "--out", str(tmp_path / "x.gif")]) == 2
    monkeypatch.setattr(shutil, "which", lambda name: None)
    monkeypatch.setitem(__import__("sys").modules, "imageio_ffmpeg", None)
    with pytest.raises(ProjectedControlError, match="apt install ffmpeg"):
        drawing.require_kind(tmp_path / "a.mp4")
