"""The cone of friction as rows, and the least torque with which a tip sticks."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from projected_control.apps.cli import main
from projected_control.errors import InvalidValue
from projected_control.model.friction_cone import cone_rows


@pytest.mark.parametrize(("facets", "lost"), [(4, 0.29289), (8, 0.07612), (16, 0.01921)])
def test_a_pyramid_lies_in_the_cone(facets, lost):
    """Its corners are on the cone, the middles of its sides within, by 1 − cos(π/F)."""
    rows = cone_rows(0.5, 2, facets)
    angles = np.linspace(0.0, 2.0 * np.pi, 721)
    reach = [0.5 / (rows[:, 1:] @ [np.cos(a), np.sin(a)] / -rows[:, 0] * 0.5).max() for a in angles]
    assert max(reach) == pytest.approx(0.5, rel=1e-12)
    assert 1.0 - min(reach) / 0.5 == pytest.approx(lost, abs=1e-5)


@given(st.floats(0.0, 2.0), st.floats(0.1, 100.0), st.floats(-1.0, 1.0))
def test_in_a_plane_two_rows_are_the_cone(mu, pressed, share):
    rows = cone_rows(mu, 1)
    inside = rows @ [pressed, share * mu * pressed]
    assert inside.max() <= 1e-12
    assert (rows @ [pressed, 1.01 * mu * pressed + 1e-6]).max() > 0.0


@pytest.mark.parametrize("wrong", [(-0.1, 2, 8), (0.5, 3, 8), (0.5, 2, 2)])
def test_what_is_no_cone_is_refused(wrong):
    with pytest.raises(InvalidValue):
        cone_rows(*wrong)


def reproduced(capsys, *arguments):
    assert main(["reproduce", "cone", "--json", *arguments]) == 0
    return json.loads(capsys.readouterr().out)


@pytest.mark.parametrize(
    ("arguments", "effort", "force", "slack"),
    [
        (("--mu", "0.2"), (0.0, 0.0), (2.831903070, 14.715), 0.0),
        (("--mu", "0.15"), (0.176089988, -0.475795194), (2.180836502, 14.538910012), 0.0),
        (("--mu", "0.1", "--limit", "0.5"), (0.5, -0.5), None, 0.544377667),
    ],
)
def test_the_least_torque_within_the_cone(capsys, arguments, effort, force, slack):
    numbers = reproduced(capsys, *arguments)
    np.testing.assert_allclose(numbers["effort"], effort, atol=1e-9)
    if force is not None:
        np.testing.assert_allclose(numbers["lambda"], force, atol=1e-9)
    assert numbers["slack"] == pytest.approx(slack, abs=1e-9)
    assert numbers["mu_without_torque"] == pytest.approx(0.192450090, abs=1e-9)


def test_what_cannot_be_is_refused(capsys):
    for arguments in (("--mu", "-1"), ("--limit", "0"), ("--mu", "nan"), ("--gravity", "3")):
        assert main(["reproduce", "cone", "--json", *arguments]) == 2
        assert capsys.readouterr().err
