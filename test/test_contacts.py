"""Contacts that come and go: touched, held, lost, attached and released, under a controller."""

import json
from pathlib import Path
from time import perf_counter

import numpy as np
import pytest
import yaml
from acting_runs import NEEDS_NATIVE, ActingRun
from arms import spatial_model

from projected_control import Runner, SimulatedArm
from projected_control.apps.cli import main
from projected_control.control import (
    ForceController,
    ForceGains,
    MotionGains,
)
from projected_control.control.activation import obstacles
from projected_control.control.approach import AHEAD
from projected_control.control.contact import Contact, ContactState
from projected_control.control.events import Action, Event
from projected_control.control.loop import ControlLoop
from projected_control.control.one_sided import OneSided
from projected_control.control.one_sided_terms import ONE_SIDED
from projected_control.control.references import Constant, Sine, Sines
from projected_control.errors import InvalidValue, UnknownName
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.constraints import PointOnPlane, Stack
from projected_control.planning import assemble
from projected_control.ros.live_changes import prepare_change
from projected_control.runs.recorder import Recorder
from projected_control.runs.recording import read_recording
from projected_control.runs.replay import replay
from projected_control.runs.rows import Rows, RowWriter
from projected_control.settings import build
from projected_control.settings.files import from_command_line
from projected_control.settings.layers import Layers
from projected_control.simulation import Plant

CONFIG = Path(__file__).parents[1] / "config"
SEVEN = [CONFIG / "seven_joints.yaml", CONFIG / "real.yaml"]
F_D = 10.0
ONLY = "constraint"
LOST, HOLDS, RELEASED = ContactState.LOST, ContactState.HOLDS, ContactState.RELEASED


def read(values, files=SEVEN):
    given = [f"{name}:={json.dumps(value)}" for name, value in values.items()]
    return Layers.read(files, "", from_command_line(given, "--set"))


def above(height=0.001, tilt=0.0, offset=0.0, arm=None, **changes):
    """A loop and its arm of real parts, whose tip is so far from its table.

    The table of the arm is turned by ``tilt`` and shifted by ``offset`` from where the controller
    has it; ``arm`` are settings of the arm alone.
    """
    values = {"constraint.one_sided": True, "force.reference": [F_D], **changes}
    loop = build.build_loop("force_controller", read(values).controller("force_controller"))
    hardware = build.build_plant(read({**values, **(arm or {})}).arm())
    plant, model = hardware.plant.model, loop.controller.model
    q = hardware.truth.q.copy()
    model.evaluate(q, np.zeros(model.n))
    theta = model.theta.copy()
    p = np.array(model.arm.update(q, np.zeros(model.n)).frame(model.constraint.frame).position)
    lay_table(plant, tilt, offset, p)
    for _ in range(30):
        model.evaluate(q, np.zeros(model.n))
        plant.evaluate(q, np.zeros(model.n))
        gap = float(plant.terms.value[0])
        rows = np.vstack([plant.terms.jacobian[:1], model.terms.jacobian[1:]])
        q = q + np.linalg.pinv(rows) @ np.concatenate([[-height - gap], theta - model.theta])
    hardware.start_at(q)
    loop.controller.hold(q)
    loop.set_reference(Constant(theta))
    return loop, hardware


def lay_table(plant, tilt, offset, place):
    """Turn the plant's plane about the tip, and shift it."""
    line = int(plant.arguments.sizes[3]) * (4 + plant.n)
    table = plant.arguments.functions
    normal = np.array([np.sin(tilt), 0.0, -np.cos(tilt)])
    table[line + 4 : line + 7] = normal
    table[line + 3] = normal @ place + offset


class Run:
    """A loop that ticks, and what it did."""

    def __init__(self, loop, hardware, most=6000, *, where_it_is=False):
        self.loop, self.hardware = loop, hardware
        self.contacts, self.path = loop.controller.contacts, loop.path
        self.rows = Rows.of(loop, most, hardware)
        self._writer = RowWriter(loop, self.rows.counters, self.rows.numbers, hardware)
        self.runner = Runner(loop, hardware)
        if where_it_is:
            loop.reset()
        else:
            self.runner.open()

    def go(self, ticks):
        for _ in range(ticks):
            self._writer.put(self.runner.step(), 0, 0)
        return self

    def until(self, state, most=3000):
        for _ in range(most):
            if self.contacts.state(ONLY) is state:
                return self
            self.go(1)
        raise AssertionError(f"never {state.name}: {self.contacts.state(ONLY).name}")

    def __getitem__(self, name):
        found = self.rows.column(name)
        return found[:, 0] if found.ndim == 2 and found.shape[1] == 1 else found

    @property
    def events(self):
        return int(np.bitwise_or.reduce(self["events"].astype(np.int64)))

    def take_table_away(self):
        plant = self.hardware.plant.model
        line = int(plant.arguments.sizes[3]) * (4 + plant.n)
        plant.arguments.functions[line + 3] += 0.1


def test_a_touch_on_a_rigid_table_and_its_loss():
    """Made and lost within three ticks; the tip goes no further than 5 mm, and comes back."""
    run = Run(*above(0.002, **{"contact.approach_speed": 0.1})).until(HOLDS)
    made = len(run["kind"])
    force = run["true_multipliers"]
    felt = np.flatnonzero(run["contact_force"] > 2.0)
    assert made - 1 - felt[0] == 2  # the third tick
    run.go(500)
    assert run["true_multipliers"].max() < 2.5 * F_D
    np.testing.assert_allclose(run["true_multipliers"][-100:], F_D, atol=0.5)
    np.testing.assert_allclose(run.path.rate, 1.0)
    assert force.size == made
    run.take_table_away()
    before = len(run["kind"])
    run.go(10)
    assert run.contacts.state(ONLY) is LOST
    lost = before + np.flatnonzero(run["contact_state"][before:] == LOST)[0]
    low = before + np.flatnonzero(run["contact_force"][before:] < 1.0)[0]
    assert lost - low == 2
    run.go(400)
    assert run["contact_gap"][before:].max() < 0.0055
    assert run["contact_gap"][before:].min() < 0.0
    assert run.events & Event.CONTACT_MISSED
    assert not run.events & (Event.LEFT_CONSTRAINT | Event.FORCE_FAR_OFF)
    assert (run["action"] == Action.FOLLOW).all()


@pytest.mark.parametrize("answer", ["hold", "retreat", "stop"])
def test_what_is_done_about_a_loss(answer):
    run = Run(*above(0.0005, **{"contact.on_loss": answer, "contact.retreat": 0.01}))
    run.until(HOLDS).go(200)
    run.take_table_away()
    run.go(1600 if answer == "retreat" else 800)
    gap, last = run["contact_gap"][-1], int(run["action"][-1])
    if answer == "hold":
        assert abs(gap) < 1e-3
        assert run.contacts.state(ONLY) is LOST
    elif answer == "retreat":
        assert gap == pytest.approx(-0.01, abs=1e-3)
        assert run.contacts.state(ONLY) is RELEASED
        assert int(run["events"][-1]) & Event.CONTACT_LOST
    else:
        assert run.events & Event.CONTACT_STOPS
        assert last == Action.STOP
    if answer != "stop":
        assert last == Action.FOLLOW


def test_a_contact_is_released_and_attached():
    """Down to its least at force.max_rate, then back; and again, without a jump."""
    run = Run(*above(0.0005, **{"contact.retreat": 0.01})).until(HOLDS).go(300)
    run.contacts.release(ONLY)
    run.until(RELEASED)
    falling = run["true_multipliers"][-40:]
    assert falling[-2] == pytest.approx(2.0, abs=0.4)
    assert np.abs(np.diff(falling)).max() < 2.5
    run.go(1500)
    assert run["contact_gap"][-1] == pytest.approx(-0.01, abs=1e-3)
    run.contacts.attach(ONLY)
    run.go(5).until(HOLDS).go(300)
    assert run["true_multipliers"][-1] == pytest.approx(F_D, abs=0.5)
    with pytest.raises(UnknownName, match="one-sided contact"):
        run.contacts.attach("table")


def test_what_attach_refuses():
    run = Run(*above(0.3 - 0.05, **{"contact.approach_speed": 0.01})).go(5)
    with pytest.raises(InvalidValue, match=r"is 0\.25 m or rad from its surface"):
        run.contacts.attach(ONLY)
    near = Run(*above(0.01)).go(5)
    near.contacts._work.rate[0] = 0.2
    with pytest.raises(InvalidValue, match=r"twice contact\.approach_speed"):
        near.contacts.attach(ONLY)
    held = build.build_loop(
        "force_controller", read({"force.source": "model"} | SIDED).controller("force_controller")
    )
    with pytest.raises(InvalidValue, match="nothing feels it"):
        held.controller.contacts.release(ONLY)


SIDED = {"constraint.one_sided": True}


# What was released stays released


def test_what_is_released_stays_so_until_it_is_attached():
    """By a call, or by a loss with retreat: over resets; and from wherever it is, never nearer."""
    run = Run(*above(0.0005, **{"contact.on_loss": "retreat", "contact.retreat": 0.01}))
    run.until(HOLDS).go(100)
    run.take_table_away()
    run.until(RELEASED)
    for _ in range(2):
        run.loop.reset()
        assert run.go(300).contacts.state(ONLY) is RELEASED
    run.contacts.attach(ONLY)
    assert run.go(2).contacts.state(ONLY) is LOST
    run.contacts.release(ONLY)
    assert run.go(2).contacts.state(ONLY) is RELEASED
    run.loop.reset()
    assert run.go(10).contacts.state(ONLY) is RELEASED
    far = Run(*above(0.08, **{"contact.retreat": 0.05})).go(5)
    far.contacts.release(ONLY)
    begins = far.go(5)["contact_gap"][-1]
    assert far.go(800)["contact_gap"].max() < begins + 1e-3


@pytest.mark.parametrize("height", [0.002, 0.08])
def test_a_start_may_wait_for_the_call_that_attaches(height):
    """`contact.at_start: wait`: a new process, or one that takes over, does not approach."""
    settings = {"contact.at_start": "wait", "contact.retreat": 0.01}
    run = Run(*above(height, **settings)).go(600)
    assert run.contacts.state(ONLY) is RELEASED
    assert int(run["events"][-1]) & Event.CONTACT_LOST  # and so the path waits
    assert run["contact_gap"][-1] == pytest.approx(-max(height, 0.01), abs=1.5e-3)
    if height < 0.01:
        run.contacts.attach(ONLY)
        run.go(2).until(HOLDS)
        again = Run(*_loop_on(run.hardware, **settings), where_it_is=True)
        assert again.go(2).contacts.state(ONLY) is HOLDS  # it presses: it holds at once
    with pytest.raises(InvalidValue, match="wait"):
        read({**SIDED, "contact.at_start": "no"}).controller("force_controller")


@pytest.mark.parametrize("state", [HOLDS, RELEASED])
def test_a_sensor_that_dies_stops_the_arm_in_any_state(state):
    """A damped stop; what held or was released stays so, and nothing pushes on."""
    run = Run(*above(0.0005, **{"contact.retreat": 0.01})).until(HOLDS).go(300)
    if state is RELEASED:
        run.contacts.release(ONLY)
        run.until(RELEASED).go(200)
    pressed, gap = run["true_multipliers"][-1], run["contact_gap"][-1]
    run.hardware.sensor = None
    run.go(300)
    assert int(run["action"][-1]) == Action.STOP
    assert run.events & Event.FORCE_STALE
    assert run.contacts.state(ONLY) is state
    assert run["true_multipliers"][-1] <= pressed + 1.0
    assert abs(run["contact_gap"][-1] - gap) < 5e-3


def test_the_momentum_observer_feels_a_touch_too():
    """Without a sensor: made after the observer's time, and held near what is asked for."""
    settings = {"force.source": "momentum", "effort_states": "torque"}
    run = Run(*above(0.002, **settings)).until(HOLDS)
    touched = np.flatnonzero(run["true_multipliers"] > 0.0)[0]
    assert len(run["kind"]) - touched < 60
    run.go(1000)
    assert run.contacts.state(ONLY) is HOLDS
    assert run["true_multipliers"][-1] == pytest.approx(F_D, abs=2.0)


def test_the_integral_is_emptied_by_a_loss():
    run = Run(*above(0.0005, **{"force.integral": 20.0})).until(HOLDS).go(400)
    integral = run.loop.controller.terms.force_state[1]
    assert integral[0] != 0.0
    run.take_table_away()
    run.until(LOST)
    assert integral[0] == 0.0


def test_a_force_that_pulls_is_refused_while_the_arm_moves():
    loop, hardware = above(0.0005)
    Run(loop, hardware).until(HOLDS)
    settings = read({**SIDED, "force.reference": [F_D]}).controller("force_controller")
    new = settings.changed({"force.reference": [-1.0]})
    with pytest.raises(InvalidValue, match=r"constraint\.direction: \[0\.0, 0\.0, 1\.0\]"):
        prepare_change(loop, new, ["force.reference"], running=True)


def test_cone_travel_and_path_change_while_the_arm_moves():
    loop, hardware = above(0.0005)
    run = Run(loop, hardware).until(HOLDS).go(50)
    settings = read({**SIDED, "force.reference": [F_D]}).controller("force_controller")
    given = {
        "contact.facets": 16,
        "contact.friction": 0.3,
        "contact.travel": 0.002,
        "contact.path": "go_on",
    }
    new = settings.changed(given)
    prepare_change(loop, new, list(given), running=True)(loop, loop.controller.model.time)
    run.go(2)
    np.testing.assert_array_equal(loop.controller.terms.contact_rules, new.contact.rules)
    run.take_table_away()
    before = len(run["kind"])
    run.go(400)
    assert run["contact_gap"][before:].max() < 0.0025
    assert run.path.rate == 1.0


def test_real_parts_travel_at_most_5_mm_after_a_loss_at_100_mm_per_s():
    """The approach after a loss ends within `contact.travel`, braking included."""
    run = Run(*above(0.002, **{"contact.approach_speed": 0.1})).until(HOLDS).go(500)
    run.take_table_away()
    before = len(run["kind"])
    run.go(600)
    assert run["contact_gap"][before:].max() <= 0.005 + 1e-4


def test_the_path_waits_for_the_contact():
    """At rest it stands still; moving it comes to rest within its acceleration, and goes on."""
    settings = {"contact.approach_speed": 0.02, "reference.max_acceleration": [1.0]}
    rates = {}
    for path in ("wait", "go_on"):
        run = Run(*above(0.0005, **settings, **{"contact.path": path})).until(HOLDS)
        theta = run.loop.controller.model.theta.copy()
        moving = build.build_reference(
            read({**SIDED, "reference.kind": "sine", "reference.amplitude": [0.05]}).controller(
                "force_controller"
            ),
            run.loop.beginning(run.loop.controller.model.time),
            run.loop.controller.model.time,
        )
        assert theta.size == moving.size
        run.loop.set_reference(moving)
        run.go(500)
        assert run.path.rate == 1.0
        run.take_table_away()
        run.go(1000)
        rates[path] = run.path.rate
    assert rates["wait"] < 0.02
    assert rates["go_on"] == 1.0


def test_a_force_that_lifts_off_is_bounded_and_one_that_pulls_refused():
    run = Run(*above(0.0005, **{"force.reference": [0.5]})).until(HOLDS).go(300)
    assert run["true_multipliers"][-1] == pytest.approx(2.0, abs=0.3)
    assert int(run["events"][-1]) & Event.CONTACT_BOUNDED
    with pytest.raises(InvalidValue, match=r"constraint\.direction: \[0\.0, 0\.0, 1\.0\]"):
        above(**{"force.reference": [-10.0]})


def test_a_sensor_that_shows_nothing_is_not_pressed_on_for_ever():
    """It presses by m_n (G_P AHEAD + G_D v) and 2 λ_on at most, for a while, and goes back."""
    loop, hardware = above(0.0005, **{"sensor.delay": 0})
    hardware.sensor = None
    m, terms = float(loop.controller.force.masses[0]), loop.controller.terms
    presses = m * (terms.gains[0, 0] * AHEAD + terms.gains[1, 0] * 0.02) + 4.0
    run = Run(loop, hardware)
    assert run.go(50)["action"][-1] == Action.STOP  # no wrench at all: force stale
    loop, hardware = above(0.0005)
    loop.force_source.set_sign(-1.0)
    run = Run(loop, hardware).go(900)
    assert run["true_multipliers"].max() < 1.5 * presses
    assert run.events & Event.CONTACT_MISSED
    assert run["contact_gap"][-1] < -1e-3
    assert AHEAD < 0.01


def test_an_arm_may_start_above_its_table():
    loop, hardware = above(0.05)
    assert obstacles(loop, hardware.truth.q, 0.005) == []  # distance is no residual


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"contact.on_loss": "run"}, "approach"),
        ({"contact.path": "stop"}, "go_on"),
        ({"contact.threshold": 0.0}, "contact.threshold"),
        ({"contact.approach_speed": -1.0}, "contact.approach_speed"),
        ({"contact.travel": 0.0}, "contact.travel"),
        ({"contact.retreat": -0.1}, "contact.retreat"),
        ({"contact.facets": 2}, "contact.facets"),
        ({"contact.friction": -0.1}, "contact.friction"),
    ],
)
def test_wrong_values_are_refused(wrong, message):
    with pytest.raises(InvalidValue, match=message):
        read({**SIDED, **wrong}).controller("force_controller")


def test_what_holds_both_ways_cannot_be_one_sided():
    layers = read(SIDED, [CONFIG / "three_link_slider.yaml"])
    with pytest.raises(InvalidValue, match="point_on_line holds on both sides"):
        build.build_loop("force_controller", layers.controller("force_controller"))


def test_rules_are_what_the_kernels_read():
    more = {"friction": 0.4, "facets": 16, "energy": 0.5}
    rules = Contact(threshold=2.0, on_loss="stop", path="go_on", **more).rules
    np.testing.assert_array_equal(rules, [2.0, 0.02, 0.005, 0.05, 3.0, 0.0, 0.4, 16.0, 0.5, 0.0])


def lost_and_found(tmp_path=None):
    """A loop and its arm, opened, just above the table."""
    loop, hardware = above(0.0005)
    Runner(loop, hardware).open()
    return loop, hardware


def test_rules_change_while_the_arm_moves():
    loop, hardware = above(0.0005)
    run = Run(loop, hardware).until(HOLDS).go(100)
    settings = read({**SIDED, "force.reference": [F_D]}).controller("force_controller")
    new = settings.changed({"contact.threshold": 2.0, "contact.on_loss": "hold"})
    changed = ["contact.threshold", "contact.on_loss"]
    prepare_change(loop, new, changed, running=True)(loop, loop.controller.model.time)
    run.go(2)
    np.testing.assert_array_equal(loop.controller.terms.contact_rules, new.contact.rules)
    assert run.contacts.least_force == 4.0
    with pytest.raises(InvalidValue, match=r"contact\.threshold"):
        settings.changed({"contact.threshold": -1.0})


@NEEDS_NATIVE
def test_the_acting_side_does_the_same():
    """Cycles of the plugin's session, with release, attach and loss, answer the same states."""
    run, own = ActingRun(lost_and_found()), lost_and_found()[0]
    efforts = []
    for switch in ("", "release", "attach", "lose"):
        for loop in (run.loop, own):
            if switch in ("release", "attach"):
                getattr(loop.controller.contacts, switch)(ONLY)
        if switch in ("release", "attach"):
            run.change()
        before = len(run.rows)
        nothing = np.zeros(6) if switch == "lose" else None
        run.go({"": 150, "release": 150, "attach": 600, "lose": 50}[switch], wrench=nothing)
        efforts += [own.update(row).effort.copy() for row in run.rows[before:]]
        states = own.controller.contacts.state(ONLY)
        assert states is {"release": RELEASED, "lose": LOST}.get(switch, HOLDS), switch
    assert np.array_equal(np.array(run.efforts), np.array(efforts))


def test_a_recording_replays_with_the_same_states(tmp_path):
    loop, hardware = above(0.0005)
    runner, recorder = Runner(loop, hardware), Recorder(tmp_path / "run.mcap")
    runner.open()
    model = loop.controller.model
    table = model.arm.frame(model.constraint.frame).position - np.array([0.0, 0.0, 0.0005])
    try:
        runner.record(recorder)
        for tick in range(500):
            if tick == 130:
                lay_table(hardware.plant.model, 0.0, 0.001, table)  # it falls by a millimetre
            if tick == 400:
                loop.controller.contacts.release(ONLY)
            runner.step()
    finally:
        recorder.close()
    recording = read_recording(tmp_path / "run.mcap")
    states = recording.column("contact_state")
    changes = states[np.flatnonzero(np.diff(states.ravel(), prepend=-1.0)), 0].tolist()
    assert changes == [LOST, HOLDS, LOST, HOLDS, RELEASED]
    done = replay(recording, above(0.0005)[0])
    assert done.difference == 0.0
    for name in ("contact_state", "contact_gap", "contact_force"):
        again = done.as_recording.column(name)
        np.testing.assert_array_equal(again, recording.column(name))


def test_a_controller_that_takes_over_goes_on_pressing():
    """What presses at the first tick holds at once, from the force that is measured."""
    loop, hardware = above(0.0005)
    run = Run(loop, hardware).until(HOLDS).go(300)
    again = Run(*_loop_on(hardware), where_it_is=True)
    again.go(1)
    assert again.contacts.state(ONLY) is HOLDS
    again.go(300)
    assert again["true_multipliers"][-1] == pytest.approx(F_D, abs=0.5)
    assert run.contacts.felt


def _loop_on(hardware, **changes):
    values = {**SIDED, "force.reference": [F_D], **changes}
    loop = build.build_loop("force_controller", read(values).controller("force_controller"))
    loop.controller.hold(hardware.truth.q)
    loop.set_reference(Constant(loop.controller.model.theta.copy()))
    return loop, hardware


# Contacts that stick, and several


def sticking(friction, tangential, rubs=None):
    """Seven joints whose end sticks at a point, asked for a force along the surface too.

    With ``rubs``, a coefficient of friction, the arm's end can slip on a plane, and leave it.
    """
    model = spatial_model()
    q = assemble(model.arm, model.constraint, np.full(7, 0.4))
    gains = ForceGains(1.0, 20.0, 20.0)
    controller = ForceController(model, MotionGains(480.0, 45.0), gains)
    normal = np.array([0.0, 0.6, -0.8])
    across = np.array([1.0, 0.0, 0.0])
    controller.contacts.lay([OneSided.of_point("foot", [0, 1, 2], normal)])
    controller.set_contact(Contact(friction=friction, threshold=0.5))
    loop = ControlLoop(
        controller,
        Constant(np.zeros(model.k)),
        force_reference=Constant(F_D * normal + tangential * across),
    )
    twin = spatial_model()
    plant = Plant(twin, 1e-3)
    if rubs is not None:
        plane = PointOnPlane(
            "end_7", twin.arm.update(q, np.zeros(7)).frame("end_7").position, normal
        )
        wall = ConstrainedArm(twin.arm, plane, tolerance=1e-6)
        plant = Plant(wall, 1e-3, one_sided=[1], contact_friction=rubs)
    hardware = SimulatedArm(plant, q)
    controller.hold(q)
    loop.set_reference(Constant(model.theta.copy()))
    return Run(loop, hardware), normal, across


@pytest.mark.parametrize("share", [1.1, 0.9])
def test_a_contact_sticks_within_its_cone(share):
    """λ_t = 4 N on 10 N takes µ = 0.4 over the inscribed pyramid; 10 % more, and 10 % less."""
    needed = 0.4 / np.cos(np.pi / 8)
    run, normal, across = sticking(share * needed, 4.0)
    run.go(400)
    force = run.hardware.truth.multipliers
    pressed, along = float(normal @ force), float(across @ force)
    assert run.contacts.state("foot") in (HOLDS, ContactState.SLIPS)
    if share > 1.0:
        assert along == pytest.approx(4.0, abs=0.05)
        late = int(np.bitwise_or.reduce(run["events"][-200:].astype(np.int64)))
        assert not late & (Event.CONTACT_BOUNDED | Event.CONTACT_GIVEN_UP)
    else:
        assert along < share * needed * pressed
        assert int(run["events"][-1]) & Event.CONTACT_BOUNDED
    assert pressed > 5.0


@pytest.mark.parametrize(
    ("there", "cone", "slips"), [(1.1, 1.1, False), (0.9, 0.9, False), (0.9, 0.0, True)]
)
def test_where_the_end_can_slip_the_cone_keeps_it(there, cone, slips):
    """4 N along on 10 N: held with µ 10 % above what that takes; with 10 % less, only by the cone.

    The cone's edge is told in the first tick, before anything slips.
    """
    run, *_ = sticking(0.4 * cone, 4.0, rubs=0.4 * there)
    run.go(300)
    arm = run.hardware.plant.model.arm
    begin, end = (
        arm.update(q, np.zeros(7)).frame("end_7").position for q in run["true_q"][[0, -1]]
    )
    slid = float(np.linalg.norm(end - begin))
    assert (slid > 1e-3) == slips, slid
    told = run["events"].astype(np.int64) & Event.CONTACT_BOUNDED
    assert told[[0, *range(100, 300)]].all() if cone == 0.9 else not told[100:].any()


def test_a_row_that_depends_on_those_that_hold_is_left_out():
    """Twice the same table: one is made after the other, and nothing contradicts."""
    model = spatial_model()
    arm, q = model.arm, np.full(7, 0.4)
    place = arm.update(q, np.zeros(7)).frame("end_7").position
    planes = [PointOnPlane("end_7", place, [0.0, 0.0, -1.0]) for _ in range(2)]
    pair = ConstrainedArm(arm, Stack(planes, ["one", "two"]), model.coordinates)
    controller = ForceController(pair, MotionGains(480.0, 45.0), ForceGains(1.0, 20.0, 20.0))
    controller.contacts.lay([OneSided.of_row("one", 0), OneSided.of_row("two", 1)])
    controller.contacts.feel(True)
    controller.update(q, np.zeros(7))
    assert pair.rank == 1
    left = ONE_SIDED.view(controller.terms.one_sided, m=2).unanswered
    assert left.sum() == 1.0
    assert np.isfinite(controller.effort.total).all()
    controller.terms.unpressed[0] = 0.0
    with pytest.raises(InvalidValue, match="depends on contacts that hold"):
        controller.contacts.require_near("two")


def corner(folder, **changes):
    """Seven joints in a corner: a floor, and a wall beside it; a loop and its arm, off both."""
    text = yaml.safe_load((CONFIG / "seven_joints.yaml").read_text(encoding="utf-8"))
    given = text["/**"]["ros__parameters"]
    place = given.pop("constraint")["point"]
    point = {"kind": "point_on_plane", "frame": "tool", "one_sided": True}
    given["constraints"] = {
        "names": ["floor", "wall"],
        "floor": {**point, "point": place, "direction": [0.0, 0.0, -1.0]},
        "wall": {**point, "point": [0.4, -0.1, 0.3], "direction": [0.0, 1.0, 0.0]},
    }
    given["coordinates"].remove("tool.y")
    given["reference"] = {"kind": "hold"}
    given["simulation"] |= {"coordinates": ["tool.x", "lean_x", "lean_y"], "values": [0.4, 0, 0]}
    file = folder / "corner.yaml"
    file.write_text(yaml.safe_dump(text), encoding="utf-8")
    layers = read({"force.reference": [F_D, F_D], **changes}, [file])
    loop = build.build_loop("force_controller", layers.controller("force_controller"))
    hardware, model = build.build_plant(layers.arm()), loop.controller.model
    q, gaps = hardware.truth.q.copy(), np.array([-0.0005, -0.003])
    model.evaluate(q, np.zeros(model.n))
    theta = model.theta.copy()
    for _ in range(30):
        model.evaluate(q, np.zeros(model.n))
        off = np.concatenate([gaps - model.terms.value[:2], theta - model.theta])
        q = q + np.linalg.pinv(model.terms.jacobian) @ off
    hardware.start_at(q)
    loop.controller.hold(q)
    loop.set_reference(Constant(theta))
    return Run(loop, hardware)


@pytest.mark.parametrize("moves", [False, True])
def test_a_second_contact_comes_and_goes_without_a_step_of_the_first(tmp_path, moves):
    """The floor is pressed with 10 N; the wall is touched and left, also on the way."""
    run = corner(tmp_path, **{"contact.path": "go_on"})
    model = run.loop.controller.model
    here = run.loop.beginning(model.time).value
    sway = [[Sine(0.05 * moves * (name == "tool.x"), 0.5, 0.0)] for name in model.coordinates.names]
    run.loop.set_reference(Sines(here, sway))
    contacts = run.contacts
    assert contacts.names == ("floor", "wall")
    for _ in range(1500):
        run.go(1)
        if contacts.state("wall") is HOLDS:
            break
    assert contacts.state("floor") is contacts.state("wall") is HOLDS
    made = len(run["kind"])
    run.go(400)
    floor, wall = run["true_multipliers"].T
    np.testing.assert_allclose([floor[-1], wall[-1]], F_D, atol=0.2)
    around = floor[made - 20 :]
    assert np.abs(np.diff(around)).max() <= 0.01 * F_D
    contacts.release("wall")
    run.go(600)
    assert contacts.state("wall") is RELEASED
    assert contacts.state("floor") is HOLDS
    floor, wall = run["true_multipliers"].T
    assert wall[-1] == 0.0
    assert np.abs(np.diff(floor[made:])).max() <= 0.01 * F_D


# Contacts that were not declared


def test_an_unexpected_contact_is_noticed_and_told_from_friction():
    """Stick and slip at 0.3 N·m change nothing; a push of 5 N·m at a joint stops the arm."""
    settings = {"contact.unexpected": 2.0, "contact.path": "go_on", "effort_states": "torque"}
    run = Run(*above(0.0005, **settings)).until(HOLDS)
    model = run.loop.controller.model
    here = run.loop.beginning(model.time).value
    sway = [[Sine(0.05 if i == 1 else 0.0, 0.5, 0.0)] for i in range(model.k)]
    run.loop.set_reference(Sines(here, sway))
    run.go(2500)
    assert not run.events & Event.UNEXPECTED_CONTACT
    assert (run["action"][-2000:] == Action.FOLLOW).all()
    run.hardware.push[0] = 5.0
    before = len(run["kind"])
    run.go(100)
    noticed = np.flatnonzero(run["events"][before:].astype(np.int64) & Event.UNEXPECTED_CONTACT)
    assert 0 < noticed[0] < 30
    assert int(run["action"][-1]) == Action.STOP


def test_of_an_unexpected_contact_only_the_event_where_that_is_asked():
    settings = {"contact.unexpected": 2.0, "contact.on_unexpected": "note"}
    run = Run(*above(0.0005, **settings)).until(HOLDS).go(300)
    run.hardware.push[0] = 5.0
    run.go(15)
    assert run.events & Event.UNEXPECTED_CONTACT
    assert (run["action"] == Action.FOLLOW).all()


# What it costs


def median_ticks(cases, rounds=60):
    """Median time of a tick of each loop, in turns, over the quieter half of the rounds [µs]."""
    found = {name: [] for name in cases}
    for turn in range(rounds):
        for name, (loop, states) in cases.items():
            later = [
                state._replace(stamp=100.0 + 1e-3 * (turn * len(states) + i))
                for i, state in enumerate(states)
            ]
            begin = perf_counter()
            for state in later:
                loop.update(state)
            found[name].append(1e6 * (perf_counter() - begin) / len(states))
    return {name: float(np.median(np.sort(times)[: rounds // 2])) for name, times in found.items()}


def standing(run, ticks=20):
    """The states of a run's next ticks, and its loop."""
    states = []
    for _ in range(ticks):
        states.append(run.hardware.sense())
        run.go(1)
    return run.loop, states


def held_for_good():
    loop, hardware = above(0.0)
    values = {"force.reference": [F_D]}
    plain = build.build_loop("force_controller", read(values).controller("force_controller"))
    plain.controller.hold(hardware.truth.q)
    plain.set_reference(loop.reference)
    return Run(plain, hardware).go(100)


@pytest.mark.quiet
def test_a_contact_that_comes_and_goes_costs_a_tenth_of_a_tick():
    """Held and lost, against the same constraint held both ways: 10 % measured, 15 with noise."""
    cases = {
        "plain": standing(held_for_good()),
        "holds": standing(Run(*above(0.0005)).until(HOLDS).go(100)),
        "lost": standing(Run(*above(0.02, **{"contact.approach_speed": 1e-3})).go(100)),
    }
    times = median_ticks(cases)
    assert times["holds"] <= 1.15 * times["plain"], times
    assert times["lost"] <= 1.15 * times["plain"], times


# What check says


def test_check_compares_threshold_and_friction_with_the_arm_that_it_knows(capsys):
    files = [str(CONFIG / "peg.yaml"), str(CONFIG / "real.yaml"), "--start-only"]
    assert main(["check", *files]) == 0
    assert "contact.threshold" not in capsys.readouterr().out
    sets = ["contact.threshold:=0.1", "contact.friction:=0.5", "friction.contact:=0.3"]
    assert main(["check", *files, *(part for each in sets for part in ("--set", each))]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "contact.threshold 0.1 is less than three times the noise" in said
    assert "contact.friction 0.5 counts on more than friction.contact 0.3 has" in said
    sets = ["friction.contact:=0.3", "compensation.contact:=0.2"]
    assert main(["check", *files, *(part for each in sets for part in ("--set", each))]) == 0
    assert "compensation.contact 0.2 leaves some of friction.contact 0.3" in capsys.readouterr().out


def test_a_height_map_is_touched_and_held(tmp_path):
    """A dune of 1 cm on a grid of 2 cm; its free side is positive, so that λ < 0 presses."""
    x = np.arange(0.0, 0.9, 0.02)
    np.save(tmp_path / "dune.npy", 0.3 + 0.01 * np.sin(6.0 * x[:, None] + 0.0 * x))
    surface = {
        "constraint.kind": "point_on_surface",
        "constraint.surface": "height_map",
        "constraint.heights_file": str(tmp_path / "dune.npy"),
        "constraint.spacing": [0.02],
        "constraint.point": [0.0, -0.45, 0.0],
        "constraint.direction": [0.0, 0.0, 1.0],
        "constraint.free_side": "positive",
        "constraint.one_sided": True,
        "force.reference": [-F_D],
    }
    layers = read(surface)
    loop = build.build_loop("force_controller", layers.controller("force_controller"))
    hardware = build.build_plant(
        read(
            {
                **surface,
                "simulation.touches": False,
                "simulation.coordinates": ["tool.x", "tool.y", "tool.z", "lean_x", "lean_y"],
                "simulation.values": [0.4, -0.1, 0.315, 0.0, 0.0],
            }
        ).arm()
    )
    loop.controller.hold(hardware.truth.q)
    loop.set_reference(Constant(loop.controller.model.theta.copy()))
    run = Run(loop, hardware).until(HOLDS).go(500)
    assert run["true_multipliers"][-1] == pytest.approx(-F_D, abs=0.5)
    assert run.contacts.force(ONLY) == pytest.approx(F_D, abs=0.7)
