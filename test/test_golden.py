"""The numbers of yesterday: every controller on every arm, tick by tick, to 1e-9.

Those of the acting side byte by byte, with the packages they were made with; to 1e-9 with others.
"""

from __future__ import annotations

import numpy as np
import pytest
from acting_runs import NEEDS_NATIVE
from golden_acting import RUNS as ACTING
from golden_runs import RUNS, changes, difference, golden, tolerance
from loops import EVERY_LAW, build

from projected_control.control.law_kinds import EFFORT, LAWS


def compare(name: str, atol: float) -> None:
    course, kept = RUNS[name](), golden(name)
    assert set(kept) == set(course)
    for quantity, expected in kept.items():
        np.testing.assert_allclose(
            course[quantity], expected, rtol=0.0, atol=atol, err_msg=f"{name}: {quantity}"
        )


@pytest.mark.parametrize("name", [name for name in RUNS if name not in ACTING])
def test_golden(name: str) -> None:
    compare(name, 1e-9)


@NEEDS_NATIVE
@pytest.mark.parametrize("name", ACTING)
def test_golden_of_the_acting_side(name: str) -> None:
    compare(name, tolerance(name))


def test_every_law_has_a_golden_run_of_the_acting_side() -> None:
    acting = {kind.number for kind in LAWS.values() if kind.commands == EFFORT}
    assert {build(law)[0].controller.law for law in EVERY_LAW} == acting


def test_a_change_is_said_with_its_size() -> None:
    kept = golden("troubles")
    assert changes("troubles", kept) == []
    effort = kept["effort"].copy()
    effort[3, 1] += 0.25
    now = {**kept, "effort": effort, "events": kept["events"][1:]}
    assert changes("troubles", now) == [
        "troubles: effort changed by 0.25, its largest value was 10",
        f"troubles: events changed by inf, its largest value was {kept['events'].max():.3g}",
    ]
    effort[4, 0] = np.nan
    assert difference(effort, kept["effort"]) == np.inf
    assert changes("nowhere", {"effort": effort}) == ["nowhere: new"]
