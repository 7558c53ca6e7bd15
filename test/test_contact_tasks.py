"""Tasks with contacts that come and go, as the demo shows them: an edge, a stop, a hole, a box."""

import numpy as np
import pytest

from projected_control.apps.demo.demo_settings import settings_for
from projected_control.apps.demo.task_run import ready_task
from projected_control.control.contact import ContactState
from projected_control.control.events import Event
from projected_control.resources import share_file

RELEASED, LOST, HOLDS = (
    float(state) for state in (ContactState.RELEASED, ContactState.LOST, ContactState.HOLDS)
)


class Done:
    """A task that was run, tick by tick."""

    def __init__(self, task, seconds, files=(), **changes):
        settings = settings_for(task, seconds, "paper", True, changes, files)
        self.runner, _ = ready_task(settings.case.node, settings.controller, settings.arm)
        self.kept = self.runner.keep(settings.ticks)
        self.statistics = self.runner.run(settings.ticks)
        self.arm = self.runner.port.plant.model.arm.twin()
        assert self.statistics.lost == ""

    def __getitem__(self, name):
        return self.kept.column(name)

    def places(self, frame):
        """Where a frame really was, N × 3."""
        rest = np.zeros(self.arm.n)
        return np.array([self.arm.update(q, rest).frame(frame).position for q in self["true_q"]])

    def changes(self, row=0):
        """The states of a contact, one after the other."""
        states = self["contact_state"][:, row]
        return states[np.concatenate([[True], np.diff(states) != 0.0])].tolist()


def test_over_the_edge_of_a_table_and_on_in_the_air():
    """Found, held within 5 %, lost within three ticks of the edge, no deeper than 5 mm, left."""
    done = Done("wipe_edge", 8.0)
    assert done.changes() == [LOST, HOLDS, RELEASED]
    state, force = done["contact_state"][:, 0], done["true_multipliers"][:, 0]
    place = done.places("tool")
    assert place[0, 2] == pytest.approx(0.32, abs=1e-4)
    held = np.flatnonzero(state == HOLDS)
    late = held[500:-10]
    np.testing.assert_allclose(force[late], 10.0, rtol=0.05)
    left = np.flatnonzero(force > 0.0)[-1]
    assert place[left, 1] == pytest.approx(0.0, abs=5e-4)
    assert held[-1] - left <= 4
    assert place[:, 2].min() > 0.295
    assert place[-1, 2] == pytest.approx(0.35, abs=2e-3)
    assert place[-1, 1] == pytest.approx(0.2, abs=1e-3)


def test_a_drawer_meets_its_stop():
    """15 cm to it at 5 cm/s, then 5 N, and no strain of the rail."""
    done = Done("drawer_stop", 6.0)
    row = done.runner.loop.controller.model.m - 1
    assert done.changes(row) == [LOST, HOLDS]
    x = done.places("hand")[:, 0]
    assert (x[0], x[-1]) == (pytest.approx(0.6, abs=1e-4), pytest.approx(0.45, abs=1e-6))
    forces = done["true_multipliers"]
    np.testing.assert_allclose(forces[-500:, row], 5.0, rtol=0.02)
    assert not forces[np.flatnonzero(x > 0.451), row].any()


def test_a_peg_slides_into_a_hole_along_two_walls():
    """The walls are found one after the other or together, and pressed with 4 N on the way."""
    done = Done("peg", 6.0)
    state, forces = done["contact_state"], done["true_multipliers"]
    both = np.flatnonzero((state == HOLDS).all(axis=1))
    place = done.places("peg")
    assert place[0, 2] == pytest.approx(0.34, abs=1e-4)
    assert place[-1, 2] == pytest.approx(0.24, abs=1e-3)
    np.testing.assert_allclose(place[-1, :2], [0.503, 0.003], atol=1e-6)
    np.testing.assert_allclose(forces[both[0] + 800 :], 4.0, rtol=0.05)
    assert forces.min() >= 0.0


def test_a_box_is_pushed_over_a_table_and_left():
    """It rests until it is touched, slides against 2 N, turns about its middle, and stays."""
    done = Done("push", 6.0)
    q, force = done["true_q"], done["true_multipliers"][:, 0]
    x, y, turn = q[:, :3].T
    touched, left = np.flatnonzero(force)[[0, -1]]
    assert not q[:touched, :3].any()
    np.testing.assert_array_equal(q[left + 10 :, :3] - q[-1, :3], 0.0)
    assert x[-1] == pytest.approx(0.122, abs=2e-3)
    assert turn[-1] == pytest.approx(-0.33, abs=0.01)
    assert np.abs(y).max() < 1e-6  # 0.7 N across it do not overcome the table
    assert force.min() >= 0.0
    slides = slice(touched + 900, touched + 1200)
    np.testing.assert_allclose(force[slides] * np.cos(turn[slides]), 2.0, rtol=0.01)
    noticed = np.flatnonzero(done["events"].astype(np.int64) & Event.UNEXPECTED_CONTACT)
    assert 0 <= noticed[0] - touched <= 5
    assert np.abs(done["effort"][:, :3]).max() < 1e-9
    np.testing.assert_allclose(done.places("tip")[-1, :2], [0.3, 0.041], atol=1e-4)


@pytest.mark.parametrize("sticks", [True, False])
def test_a_peg_of_real_parts_meets_its_walls_once(sticks):
    """Joints that rub, two rigid walls: each is touched once and pressed on, in few impacts."""
    done = Done("peg", 2.0, [share_file("config", "real.yaml")], **{"friction.sticks": sticks})
    plant = done.runner.port.plant
    assert plant.contacts.counts[0] <= 5
    assert plant.contacts.holds.all()
    assert done["true_multipliers"].min() >= 0.0
    assert (done["contact_state"][-500:] == HOLDS).all()
