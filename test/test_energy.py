"""The ledger of energy: what an arm's force gives to a surface that is moved, or that is pumped."""

import numpy as np
import pytest
from acting_runs import NEEDS_NATIVE, ActingRun
from test_contacts import F_D, HOLDS, Run, above

from projected_control import Runner
from projected_control.control.contact_stability import touch_gains
from projected_control.control.energy import BACK
from projected_control.control.events import Event
from projected_control.control.references import Constant, Sine, Sines
from projected_control.errors import InvalidValue
from projected_control.runs.recorder import Recorder
from projected_control.runs.recording import read_recording
from projected_control.runs.replay import replay

K, T = 5e3, 1e-3
E_0 = 0.1
DRY = ("coulomb", "viscous")
CASE = {
    **{"contact.path": "go_on", "contact.energy": E_0},
    **{f"{whose}.{what}": [0.0] for whose in ("friction", "compensation") for what in DRY},
}


def gives(K, m, delay=3):
    """Settings for a surface of this stiffness, by the stated formula."""
    loop = touch_gains(K, m, T, delay).require_stable()
    return {
        "contact.stiffness": [K],
        "force.proportional": loop.force.proportional,
        "force.integral": loop.force.integral,
        "force.cutoff": loop.force.cutoff,
        "force.normal_damping": loop.damping,
        "simulation.step": 2e-4,
    }


def normal_mass():
    loop, _ = above()
    return float(loop.controller.force.masses[0])


def sway(loop):
    """To and fro from here on."""
    model = loop.controller.model
    here = loop.beginning(model.time).value
    along = [[Sine(0.02 if i == 1 else 0.0, 0.5, 0.0)] for i in range(model.k)]
    loop.set_reference(Sines(here, along))


def swaying(**changes):
    """An arm that presses on a soft table and goes to and fro on it."""
    run = Run(*above(0.0005, **{**gives(K, normal_mass()), **CASE, **changes})).until(HOLDS)
    sway(run.loop)
    return run.go(600)


def short_of_energy():
    """A loop and its arm, opened just above the table, whose touch takes more than there is."""
    loop, hardware = above(0.0005, **{**gives(K, normal_mass()), **CASE, "contact.energy": 0.005})
    Runner(loop, hardware).open()
    sway(loop)
    return loop, hardware


def move_table(run, speed, ticks):
    """The table goes down at this speed; what it was given meanwhile [J]."""
    plant = run.hardware.plant.model
    line, given = int(plant.arguments.sizes[3]) * (4 + plant.n) + 3, 0.0
    for _ in range(ticks):
        before = float(run.hardware.truth.multipliers[0])
        plant.arguments.functions[line] += speed * T
        run.go(1)
        given += 0.5 * (before + float(run.hardware.truth.multipliers[0])) * speed * T
    return given


def test_a_table_that_is_moved_takes_what_the_ledger_says_and_the_path_waits():
    """10 N along 20 mm/s; at E = 0 the path comes to rest, and goes on when it comes back."""
    run = swaying()
    before = run.loop.controller.ledger.left
    assert E_0 - before == pytest.approx(0.5 * F_D**2 / K, rel=0.1)  # what the table stores
    given = move_table(run, 0.02, 120)
    assert 0.01 < given < 0.025
    stored = 0.5 * (run.hardware.truth.multipliers[0] ** 2 - F_D**2) / K
    moves = 0.5 * normal_mass() * 0.02**2  # with the table
    spent = before - run.loop.controller.ledger.left
    assert spent == pytest.approx(given + stored + moves, rel=0.03)
    assert not run.events & Event.ENERGY_SPENT
    assert run.path.rate > 0.9
    move_table(run, 0.02, 500)
    run.go(900)
    assert run.loop.controller.ledger.left < 0.0
    assert run.path.rate < 0.05
    assert run["action"].max() == 0.0
    assert run.events & Event.ENERGY_SPENT
    owed = run.loop.controller.ledger.left
    move_table(run, -0.02, 620)
    run.go(400)
    assert run.path.rate > 0.9
    ledger = run.loop.controller.ledger
    assert owed + 0.05 < ledger.left <= E_0
    told = run["ledger"]
    assert told[-1, 0] == ledger.left
    injected = told[:, 2:].sum(axis=1) - told[:, 1]
    low = int(told[:, 0].argmin())
    top = int(told[:low, 0].argmax())
    np.testing.assert_allclose(told[top, 0] - told[low, 0], injected[low] - injected[top], rtol=0.1)


def test_a_reference_that_pumps_is_noticed():
    """λ_d swings on a table that dissipates: what that takes is injected, and the path waits."""
    run = swaying(arm={"contact.damping": 300.0}, **{"contact.energy": 0.02})
    begin, loop = len(run["kind"]), run.loop
    loop.set_force_reference(Sines([F_D], [[Sine(6.0, 6.0, 0.0)]]))
    run.go(1200)
    assert run.path.rate < 0.2
    assert run.events & Event.ENERGY_SPENT
    part = {name: run[name][begin:] for name in ("ledger", "true_multipliers", "contact_gap")}
    force, deep = part["true_multipliers"], part["contact_gap"]
    taken = 0.5 * (force[1:] + force[:-1]) @ np.diff(deep)
    left, dissipated, reference = (part["ledger"][-1] - part["ledger"][0])[:3]
    assert -left == pytest.approx(taken, rel=0.1)
    assert reference > taken > 0.015
    assert dissipated > 0.0


def test_a_row_that_is_driven_injects_as_one():
    """The table goes down at 10 mm/s, as the controller knows: 10 N take 0.1 W, of moving rows."""
    run = Run(*above(0.0005, **CASE, **{"constraint.motion.rate": [0.01]})).until(HOLDS).go(300)
    before = run.loop.controller.ledger
    run.go(400)
    after = run.loop.controller.ledger
    assert after.moving - before.moving == pytest.approx(0.4 * 0.01 * F_D, rel=0.02)
    assert before.left - after.left == pytest.approx(0.4 * 0.01 * F_D, rel=0.05)


def test_no_ledger_unless_asked_and_wrong_values_are_refused():
    run = Run(*above(0.0005)).go(10)
    assert run.loop.controller.ledger is None
    assert not run["ledger"].any()
    with pytest.raises(InvalidValue, match=r"contact\.energy must be"):
        above(**{"contact.energy": -1.0})


def test_a_new_reference_begins_the_ledger_anew():
    run = swaying(**{"contact.energy": 0.02})
    move_table(run, 0.02, 400)
    assert run.path.rate < 1.0
    assert run.loop.controller.ledger.left < BACK * 0.02
    model = run.loop.controller.model
    run.loop.set_reference(Constant(run.loop.beginning(model.time).value))
    run.go(1)
    assert run.loop.controller.ledger.left == pytest.approx(0.02, abs=1e-3)


@NEEDS_NATIVE
def test_the_acting_side_keeps_the_same_ledger():
    run, own = ActingRun(short_of_energy()), short_of_energy()[0]
    run.go(600)
    efforts = [own.update(row).effort.copy() for row in run.rows]
    assert own.path.rate < 0.5
    assert own.controller.ledger.left < 0.0
    assert np.array_equal(np.array(run.efforts), np.array(efforts))


def test_a_recording_replays_with_the_same_ledger(tmp_path):
    loop, hardware = short_of_energy()
    runner, recorder = Runner(loop, hardware), Recorder(tmp_path / "run.mcap")
    try:
        runner.record(recorder)
        for _ in range(400):
            runner.step()
    finally:
        recorder.close()
    recording = read_recording(tmp_path / "run.mcap")
    done = replay(recording, short_of_energy()[0])
    assert done.difference == 0.0
    ledger = recording.column("ledger")
    assert ledger[-1, 0] < 0.0
    np.testing.assert_array_equal(done.as_recording.column("ledger"), ledger)
