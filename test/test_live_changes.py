"""A delay that is longer than was thought, a load that is taken up, an arm without limits."""

import re
from pathlib import Path

import numpy as np
import pytest
from arms import random_urdf, slider_model
from plane_arms import controller, made, on_plane

pytest.importorskip("rclpy", reason="projected_control.ros imports it")

from projected_control.control import ForceController, ForceGains, MotionController, MotionGains
from projected_control.control.activation import CannotStart, require_limits
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Constant
from projected_control.errors import (
    InvalidValue,
    ProjectedControlError,
    UnstableForceLoop,
    UnstableMotionLoop,
)
from projected_control.ros.live_changes import (
    allow_for_delay,
    begin_with_delay,
    force_change,
    prepare_change,
)
from projected_control.settings import build
from projected_control.settings.files import read_parameter_file
from projected_control.settings.nodes import (
    FORCE,
    MOTION,
    PASSIVE,
    ForceControllerSettings,
    MotionControllerSettings,
    PassiveJointControllerSettings,
    settings_class,
)

CONFIG = Path(__file__).parents[1] / "config"


def hybrid(stiffness: float = 10.0, damping: float = 6.0) -> ControlLoop:
    force = ForceGains(proportional=3.0, integral=0.1, cutoff=20.0)
    controller = ForceController(slider_model(), MotionGains(stiffness, damping), force)
    return ControlLoop(controller, Constant(np.zeros(2)))


def test_a_longer_delay_counts_in_the_force_loop():
    loop = hybrid()
    allow_for_delay(loop, 4)
    assert loop.controller.force.gains.delay == 4
    allow_for_delay(loop, 2)  # a shorter one changes nothing
    assert loop.controller.force.gains.delay == 4
    with pytest.raises(UnstableForceLoop):
        allow_for_delay(loop, 40)
    assert loop.controller.force.gains.delay == 4


def test_to_check_changes_nothing():
    loop = hybrid()
    allow_for_delay(loop, 4, only_check=True)
    assert loop.controller.force.gains.delay == 1


def test_a_longer_delay_counts_in_the_motion_loop():
    """G_D T = 0.8: stable with one sample of delay, not with three."""
    stiff = MotionController(slider_model(), MotionGains(1e4, 800.0))
    loop = ControlLoop(stiff, Constant(np.zeros(2)))
    allow_for_delay(loop, 1)
    with pytest.raises(UnstableMotionLoop, match=r"tip\.x"):
        allow_for_delay(loop, 3)


def controller_of(kind, settings_class, **changes):
    """A loop on the 3R arm and the settings it was built from."""
    given = read_parameter_file(CONFIG / "three_link_slider.yaml")
    known = {name: value for name, value in given.items() if settings_class.parameter(name)}
    gentle = {"force.proportional": 0.5} if settings_class.parameter("force.proportional") else {}
    settings = settings_class.of({**known, **gentle, **changes})
    loop = build.build_loop(kind, settings)
    loop.controller.hold([-3.0, 2.0, 1.0])
    return loop, settings


STIFF = {"gains.stiffness": [4e4], "gains.damping": [400.0]}


@pytest.mark.parametrize("kind", [MOTION, FORCE])
@pytest.mark.parametrize("running", [False, True])
def test_live_gains_are_checked_for_the_delay_of_the_arm(kind, running):
    """Stable with one sample of delay, and it diverges with six."""
    loop, settings = controller_of(kind, settings_class(kind))
    changed = settings.changed(STIFF)
    prepare_change(loop, changed, list(STIFF), running=running)
    allow_for_delay(loop, 6)
    with pytest.raises(UnstableMotionLoop, match="6 samples of delay"):
        prepare_change(loop, changed, list(STIFF), running=running)
    prepare_change(
        loop, settings.changed({"gains.stiffness": [400.0]}), ["gains.stiffness"], running=running
    )


def test_integral_action_is_checked_for_the_delay_of_the_arm():
    """G_P G_D = 4e4 above K_I = 3.5e4: enough with one sample of delay, not with twelve."""
    gains = {"gains.stiffness": [1000.0], "gains.damping": [40.0], "disturbance.integral": 100.0}
    loop, settings = controller_of(
        MOTION, MotionControllerSettings, **gains, **{"disturbance.kind": "integral"}
    )
    more = settings.changed({"disturbance.integral": 3.5e4})
    prepare_change(loop, more, ["disturbance.integral"], running=True)
    allow_for_delay(loop, 12)
    with pytest.raises(UnstableMotionLoop, match="12 samples of delay"):
        prepare_change(loop, more, ["disturbance.integral"], running=True)


def test_no_force_parameter_forgets_the_delay_of_the_arm():
    loop, settings = controller_of(FORCE, ForceControllerSettings)
    allow_for_delay(loop, 6)
    for name, value in (("force.reference", [3.0]), ("force.integral", 0.2), ("force.delay", 2)):
        settings = settings.changed({name: value})
        prepare_change(loop, settings, [name], running=True)(loop, 0.0)
        assert (loop.controller.force.gains.delay, loop.controller.delay) == (6, 6)
    with pytest.raises(UnstableForceLoop, match="6 samples of delay"):
        prepare_change(
            loop,
            settings.changed({"force.proportional": 6.0}),
            ["force.proportional"],
            running=True,
        )
    settings = settings.changed({"force.delay": 8})  # longer than the arm's own it may be set
    prepare_change(loop, settings, ["force.delay"], running=True)(loop, 0.0)
    assert (loop.controller.force.gains.delay, loop.controller.delay) == (8, 8)


LATE = {"force.delay": 6, "force.proportional": 0.1}


@pytest.mark.parametrize(
    "given",
    [
        STIFF,
        {"posture.target": [0.0] * 3, "posture.stiffness": 4e4, "gains.null_damping": 400.0},
        {"law": "impedance", "impedance.stiffness": [1e5, 1e4], "impedance.damping_ratio": 1.0},
    ],
    ids=["gains", "posture", "impedance"],
)
def test_a_delay_that_is_set_counts_in_the_motion_too(given):
    loop, settings = controller_of(FORCE, ForceControllerSettings, **given)
    loop.controller.require_controllable([-3.0, 2.0, 1.0])  # evaluates the model there
    with pytest.raises(UnstableMotionLoop, match="6 samples of delay"):
        prepare_change(loop, settings.changed(LATE), list(LATE), running=True)


def test_a_run_keeps_the_delay_it_began_with_in_its_ticks():
    """Friction compensation widens with the delay: the same wherever the ticks are made."""
    loop, settings = controller_of(FORCE, ForceControllerSettings)
    allow_for_delay(loop, 3)
    assert loop.controller.starting_delay == 3
    allow_for_delay(loop, 5, running=True)
    assert (loop.controller.starting_delay, loop.controller.delay) == (3, 5)
    changed = settings.changed({"force.delay": 6})
    prepare_change(loop, changed, ["force.delay"], running=True)(loop, 0.0)
    assert (loop.controller.starting_delay, loop.controller.delay) == (3, 6)
    prepare_change(loop, changed, ["force.delay"], running=False)(loop, 0.0)
    assert loop.controller.starting_delay == 6


def test_each_run_begins_with_the_delay_of_its_own():
    """Of a computer that was busy once, the next run knows nothing."""
    loop, settings = controller_of(FORCE, ForceControllerSettings, **{"force.delay": 2})
    controller = loop.controller
    begin_with_delay(loop, settings, 3)
    allow_for_delay(loop, 12, running=True)
    assert (controller.arm_delay, controller.delay, controller.force.gains.delay) == (12, 12, 12)
    begin_with_delay(loop, settings, 3)
    assert (controller.arm_delay, controller.delay, controller.force.gains.delay) == (3, 3, 3)
    assert controller.starting_delay == 3
    begin_with_delay(loop, settings, 0)
    assert (controller.arm_delay, controller.delay, controller.force.gains.delay) == (1, 2, 2)


@pytest.mark.parametrize("changes", [{}, {"law": "impedance"}], ids=["PIDC", "impedance"])
def test_live_null_damping_is_checked_with_the_posture_that_is_held(changes):
    """D + D₀ = 110 1/s is stable with six samples of delay, 310 is not."""
    values = on_plane(6, **changes)
    loop, _ = made(MOTION, values)
    settings = controller(MOTION, values)
    allow_for_delay(loop, 6)
    assert loop.controller.posture.target is None

    def damped(number):
        more = {"gains.null_damping": number}
        prepare_change(loop, settings.changed(more), list(more), running=True)

    damped(100.0)
    for number in (300.0, 600.0, 1500.0, 5000.0):
        with pytest.raises(UnstableMotionLoop, match="loop of posture"):
            damped(number)


SLOW_SINE = {"reference.kind": "sine", "reference.amplitude": [0.01], "reference.frequency": [0.1]}


@pytest.mark.parametrize(
    ("changes", "away", "taken"),
    [
        ({"hardware": "plugin"}, 0.15, False),
        ({"hardware": "plugin"}, 0.04, True),
        ({"hardware": "plugin", "reference__max_distance": [0.2]}, 0.15, True),
        ({}, 0.15, True),
        ({"reference__max_distance": [0.1]}, 0.15, False),
    ],
    ids=["real", "near", "asked for", "simulated", "bounded"],
)
def test_a_live_reference_begins_near_the_arm(changes, away, taken):
    """An offset counts from the coordinate's own zero, and a slip of it may be half a metre."""
    values = on_plane(6, **changes)
    loop, _ = made(MOTION, values)
    here = loop.controller.model.theta
    sine = {**SLOW_SINE, "reference.offset": [here[0] - away, here[1]]}
    settings = controller(MOTION, values).changed(sine)

    def change():
        check = build.build_way_check(MOTION, settings)
        prepare_change(loop, settings, list(sine), running=True, check=check)(loop, 0.0)

    if taken:
        change()
        assert loop.reference.beginning[0] == pytest.approx(here[0] - away)
        return
    before = loop.reference
    with pytest.raises(InvalidValue, match=r"leads flange.x 0.15 away.*set reference.max_distance"):
        change()
    assert loop.reference is before


@pytest.mark.parametrize(("reported", "stops"), [(10.0, 50.0), (25.0, 50.0), (60.0, 120.0)])
def test_the_difference_that_stops_follows_the_one_that_is_reported(reported, stops):
    loop, _ = controller_of(FORCE, ForceControllerSettings, **{"limits.force_difference": reported})
    assert loop.guard.limits.force_stop == stops


def pressing_loop(**changes):
    """A loop of the 3R arm whose λ_d is zero, and its settings: 200 N/s, steps of 100 N."""
    return controller_of(FORCE, ForceControllerSettings, **{"force.reference": [0.0], **changes})


@pytest.mark.parametrize("rate", [1, 10, 500])
def test_a_force_reference_is_reached_as_soon_however_often_it_is_sent(rate):
    """50 N at 200 N/s: a quarter of a second, and never faster than that."""
    loop, settings = pressing_loop()
    seen = []
    for tick in range(300):
        time = 1e-3 * tick
        if tick % (1000 // rate) == 0:
            force_change(loop, settings, np.array([50.0]), time)(loop, time)
        seen.append(loop.force_reference.at(time).value[0])
    assert seen[0] == 0.0
    np.testing.assert_allclose(seen[250:], 50.0)
    assert np.diff(seen).max() < 0.2 * (1.0 + 1e-9)


def test_a_force_reference_that_changes_with_each_message_is_followed_at_its_rate():
    loop, settings = pressing_loop()
    for tick in range(201):
        time = 2e-3 * tick
        force_change(loop, settings, np.array([90.0 + 0.01 * tick]), time)(loop, time)
    assert loop.force_reference.at(0.4).value[0] == pytest.approx(80.0)


def test_the_step_of_a_force_reference_counts_when_it_is_accepted():
    """From 60 N on −35 is 95 N away; from 70 N, where it is when that is made, more than 100."""
    loop, settings = pressing_loop()
    force_change(loop, settings, np.array([60.0]), 0.0)(loop, 0.0)
    change = force_change(loop, settings, np.array([-35.0]), 0.3)
    with pytest.raises(InvalidValue, match=r"from \[60.0\] to \[-41.0\]; force.max_step allows"):
        force_change(loop, settings, np.array([-41.0]), 0.3)
    loop.set_force_reference(Constant([70.0]))
    change(loop, 0.4)
    assert loop.force_reference.at(2.0).value[0] == -35.0


def impedance_loop(**changes):
    given = read_parameter_file(CONFIG / "three_link_slider.yaml")
    known = {name: value for name, value in given.items() if not name.startswith("simulation.")}
    known = {**known, "law": "impedance", "impedance.stiffness": [400.0, 5.0], **changes}
    settings = MotionControllerSettings.of(
        {name: known[name] for name in known if MotionControllerSettings.parameter(name)}
    )
    loop = build.build_loop(MOTION, settings)
    loop.controller.hold([-3.0, 2.0, 1.0])
    return loop, settings


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"impedance.stiffness": [1.0, 2.0, 2.0, 1.0]}, "impedance.stiffness must be positive"),
        ({"impedance.stiffness": [1.0, 2.0, 3.0]}, "2 × 2 = 4 numbers, got 3"),
        ({"impedance.damping": [-1.0]}, "impedance.damping must not be negative"),
        ({"impedance.stiffness": [1e6]}, "would diverge here"),
        ({"impedance.inertia": [1.0]}, "cannot change while"),
    ],
)
def test_an_impedance_that_cannot_be_is_refused_live(changes, words):
    loop, settings = impedance_loop()
    with pytest.raises(ProjectedControlError, match=words):
        prepare_change(loop, settings.changed(changes), list(changes), running=True)


def test_an_impedance_changes_live():
    loop, settings = impedance_loop()
    changes = {"impedance.stiffness": [300.0, 10.0, 10.0, 6.0], "impedance.damping_ratio": 0.5}
    prepare_change(loop, settings.changed(changes), list(changes), running=True)(loop, 0.0)
    assert loop.controller.blending
    for _ in range(300):
        loop.controller.advance()
    numbers = loop.controller._terms.impedance
    np.testing.assert_array_equal(numbers[:4], [300.0, 10.0, 10.0, 6.0])
    assert numbers[-1] == 0.5


def test_a_longer_delay_counts_in_an_impedance():
    loop, _ = impedance_loop(**{"impedance.stiffness": [40000.0, 500.0]})
    allow_for_delay(loop, 1)
    with pytest.raises(UnstableMotionLoop, match="30 samples"):
        allow_for_delay(loop, 30)


def test_a_load_is_taken_up_live():
    """4 kg at the tip: from the next state on M has 4 JᵀJ more, and without it again as before."""
    given = read_parameter_file(CONFIG / "three_link_slider.yaml")
    known = {name: value for name, value in given.items() if not name.startswith("simulation.")}
    settings = MotionControllerSettings.of({**known, "payload.link": "tip"})
    loop = build.build_loop(MOTION, settings)
    arm, q = loop.controller.model.arm, np.array([0.3, 0.5, -0.2])
    empty = arm.update(q, np.zeros(3)).M.copy()
    J = arm.frame("tip").jacobian[:3].copy()
    for mass in (4.0, 0.0):
        changed = settings.changed({"payload.mass": mass})
        prepare_change(loop, changed, ["payload.mass"], running=True)(loop, 0.0)
        found = arm.update(q, np.zeros(3)).M
        np.testing.assert_allclose(found, empty + mass * J.T @ J, atol=1e-12)


@pytest.mark.parametrize("coordinate", ["centre_of_mass.x", "angular_momentum.z"])
def test_a_load_does_not_change_under_a_coordinate_made_of_masses(coordinate):
    """Its value and Jacobian follow from the masses as they were at the start: it is refused."""
    given = read_parameter_file(CONFIG / "three_link_slider.yaml")
    known = {name: value for name, value in given.items() if not name.startswith("simulation.")}
    known |= {"coordinates": [coordinate], "payload.link": "tip"}
    known |= {"gains.stiffness": [100.0], "gains.damping": [20.0]}
    settings = MotionControllerSettings.of(known)
    loop = build.build_loop(MOTION, settings)
    changed = settings.changed({"payload.mass": 1.0})
    with pytest.raises(InvalidValue, match=f"cannot change while coordinate {coordinate}"):
        prepare_change(loop, changed, ["payload.mass"], running=True)


NO_LIMITS = {
    "robot_description": re.sub(r' (effort|velocity)="[^"]*"', "", random_urdf(3, 7)),
    "constraint.kind": "none",
    "coordinates": ["joint_1"],
}
GIVEN = {"limits.effort": [1e3], "limits.velocity": [5.0]}


@pytest.mark.parametrize("given", [{}, *({name: value} for name, value in GIVEN.items()), GIVEN])
@pytest.mark.parametrize("passive", [[], ["joint_7"]], ids=["all motors", "one without"])
def test_a_real_arm_does_not_move_without_limits(passive, given):
    """Neither in the description nor in the settings; a joint without a motor needs no effort's."""
    if passive:
        more = {**given, "passive_joints": passive}
        loop = build.build_loop(PASSIVE, PassiveJointControllerSettings.of({**NO_LIMITS, **more}))
    else:
        loop = build.build_loop(MOTION, MotionControllerSettings.of({**NO_LIMITS, **given}))
    if given == GIVEN:
        require_limits(loop)
        return
    missing = [what for what in ("effort", "velocity") if f"limits.{what}" not in given]
    with pytest.raises(CannotStart, match="does not move without limits") as refused:
        require_limits(loop)
    assert ("joint_6 (effort)" in str(refused.value)) is ("effort" in missing)
    assert ("joint_7 (velocity)" in str(refused.value)) is ("velocity" in missing)
    asked = "joint_7 (effort)" in str(refused.value)
    assert asked is ("effort" in missing and not passive)


def test_a_live_change_is_checked_on_the_surface():
    """Refused with the reason where it would diverge there; nothing of it comes into force."""
    gains = {"force.proportional": 1.0, "force.integral": 20.0, "force.cutoff": 20.0}
    loop, settings = controller_of(FORCE, ForceControllerSettings, **gains, **{"force.delay": 3})
    force = loop.controller.force
    soft = settings.changed({"contact.stiffness": [5e3]})
    with pytest.raises(UnstableForceLoop, match="diverge on a surface of 5000 N/m"):
        prepare_change(loop, soft, ["contact.stiffness"], running=True)
    assert not force.contact.gives
    damping = 1.4 * np.sqrt(5e3 * float(force.masses[0]))
    both = soft.changed({"force.normal_damping": damping})
    prepare_change(loop, both, ["contact.stiffness", "force.normal_damping"], running=False)(
        loop, 0.0
    )
    assert force.contact.stiffness == (5e3,)
    assert force.gains.normal_damping == damping
    without = both.changed({"force.normal_damping": 0.0})
    with pytest.raises(UnstableForceLoop, match=r"force\.normal_damping between"):
        prepare_change(loop, without, ["force.normal_damping"], running=True)
    with pytest.raises(UnstableForceLoop, match="40 samples of delay"):
        allow_for_delay(loop, 40, only_check=True)
    assert force.gains.normal_damping == damping
    assert force.gains.delay == 3
    with pytest.raises(InvalidValue, match="one number, or the smallest"):
        both.changed({"contact.stiffness": [5e4, 5e3]})
