"""An arm that was let go is taken over where it is and as it moves, without a bump."""

from __future__ import annotations

import numpy as np
import pytest

from projected_control import Runner
from projected_control.apps.demo.demo_settings import settings_for
from projected_control.control.references import Shifted
from projected_control.settings import build

FOLLOWED, COASTED, AFTER = 100, 200, 3000
"""Ticks of 1 ms along the sine, without torque, and after it was taken over."""


def start(settings, loop, arm):
    """As a node does it at activation; where the arm was, and the runner."""
    state = arm.read()
    loop.controller.hold(state.q, state.v)
    here = build.starting_point(settings, loop.controller.model)
    reference = build.first_reference(settings, loop, here, state.q.copy())
    loop.set_reference(Shifted(reference, state.stamp))  # a node's time begins with its activation
    loop.begin(state)
    return here, Runner(loop, arm)  # not opened: that would reset the arm


@pytest.mark.parametrize("approach", [True, False])
@pytest.mark.parametrize("kind", ["sine", "hold"])
def test_a_coasting_arm_is_taken_up(kind, approach):
    """At half a metre per second, far from where its reference begins: no error arises."""
    demo = settings_for("force", 1.0, "paper", False, {})
    loop, arm = build.build_loop(demo.case.node, demo.controller), build.build_plant(demo.arm)
    _, runner = start(demo.controller, loop, arm)
    assert np.isinf(loop.reference.end)
    for _ in range(FOLLOWED):
        runner.step()
    for _ in range(COASTED):
        arm.write(np.zeros(3))
    changes = {"reference.kind": kind, "reference.approach": approach}
    here, runner = start(demo.controller.changed(changes), loop, arm)
    assert abs(here.rate[0]) > 0.3
    assert abs(here.value[0] - demo.controller.reference.offset[0]) > 0.2
    errors = []
    for _ in range(AFTER):
        runner.step()
        errors.append(loop.controller.error[0].copy())
    assert not runner.lost
    assert not loop.report.events
    assert np.abs(errors).max() < 2e-4
    assert (abs(loop.controller.model.theta_rate[0]) > 0.01) == (kind == "sine")


def test_an_arm_that_hardly_moves_is_at_rest():
    """A tenth of reference.max_rate and less is noise of the sensor: the reference ignores it."""
    demo = settings_for("force", 1.0, "paper", False, {})
    model = build.build_model(demo.controller)
    q = build.build_plant(demo.arm).read().q.copy()
    model.evaluate(q, np.zeros(3))
    along = np.linalg.solve(np.vstack([model.J_theta, model.A]), [1.0, 0.0, 0.0])
    for rate, taken in ((0.04, 0.0), (0.06, 0.06), (-0.3, -0.3)):
        model.evaluate(q, rate * along)
        found = build.starting_point(demo.controller, model).rate
        np.testing.assert_allclose(found, [taken, 0.0], atol=1e-9)
