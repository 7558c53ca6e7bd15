"""`reproduce limits`: what is left of a motion within a limit, against other solvers' numbers."""

from __future__ import annotations

import json

import numpy as np
import pytest
from scipy.optimize import lsq_linear

from projected_control.apps import cli
from projected_control.apps.experiments import Options, run_experiment
from projected_control.apps.experiments.limited_torque import ASKED, Instant
from projected_control.apps.reports.style import render

PRINTED = {
    1.6: {
        "solved": ([1.6, -1.213260547, -1.6], [2.716827142, -0.104768395], -16.004795),
        "clipped": (None, [3.033196, -6.999265], None),
        "scaled": (None, [2.22694382, 0.0], -10.276433),
    },
    3.2: {"solved": ([3.2, -1.557533618, -2.699662346], [5.0, 0.0], -26.996623)},
    10.0: {"solved": ([3.592367234, -0.458989466, -2.307295112], [5.0, 0.0], -23.072951)},
}
"""Of the 3R arm, checked with quadprog, DAQP and ProxQP when they were found."""


@pytest.mark.parametrize("limit", PRINTED)
def test_numbers_are_those_that_other_solvers_find(limit, capsys):
    assert cli.main(["reproduce", "limits", "--limit", str(limit), "--json"]) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert list(numbers) == ["solved", "clipped", "scaled"]
    for way, (effort, acceleration, force) in PRINTED[limit].items():
        found = numbers[way]
        assert list(found) == ["effort", "acceleration", "lambda"]
        np.testing.assert_allclose(found["acceleration"], acceleration, atol=1e-6)
        if effort is not None:
            np.testing.assert_allclose(found["effort"], effort, atol=1e-8)
        if force is not None:
            assert found["lambda"] == pytest.approx(force, abs=1e-6)


def test_at_any_limit_no_other_effort_comes_nearer_to_the_motion():
    """Against scipy's bounded least squares, which is another method."""
    instant, rng = Instant(), np.random.default_rng(3)
    E = np.column_stack([instant.answer(f).acceleration for f in np.eye(3)])
    assert instant.enough() == pytest.approx(2.949831173, abs=1e-8)
    for limit in rng.uniform(0.05, 5.0, 30):
        found = instant.solved(limit)
        assert np.abs(found.effort).max() <= limit
        best = lsq_linear(E, ASKED, (-limit, limit), tol=1e-14)
        off = np.linalg.norm(found.acceleration - ASKED)
        assert off == pytest.approx(np.sqrt(2.0 * best.cost), abs=1e-7)


def test_pictures_and_page_say_the_limit():
    outcome = run_experiment("limits", Options(limit=2.0))
    assert "2 N·m" in outcome.introduction
    for picture in outcome.pictures:
        assert len(render(picture.draw).png) > 10_000


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("0", "limit must be positive"),
        ("-1", "limit must be positive"),
        ("nan", "limit"),
        ("x", "invalid"),
    ],
)
def test_a_limit_that_is_none_is_refused(given, words, capsys):
    try:
        status = cli.main(["reproduce", "limits", f"--limit={given}"])
    except SystemExit as error:
        status = error.code
    assert status == 2
    assert words in capsys.readouterr().err


def test_other_cases_take_no_limit(capsys):
    assert cli.main(["reproduce", "free-fall", "--limit", "1"]) == 2
    assert "takes no --limit" in capsys.readouterr().err
