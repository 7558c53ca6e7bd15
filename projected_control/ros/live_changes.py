"""Changes of a controller while it runs: checked as a whole, in force between two ticks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from projected_control.arrays import Array
from projected_control.control import ImpedanceController
from projected_control.control.loop import ControlLoop
from projected_control.control.references import ReferencePoint
from projected_control.planning.way_check import WayCheck
from projected_control.runs.runner import Change
from projected_control.settings import build
from projected_control.settings.nodes import ControllerSettings, ForceControllerSettings


def prepare_change(
    loop: ControlLoop,
    settings: ControllerSettings,
    changed: Sequence[str],
    *,
    running: bool,
    check: WayCheck | None = None,
) -> Change:
    """Validate a change of live settings; raises where it must be refused.

    Args:
        loop: What is to change.
        settings: All settings as they are to be.
        changed: Names of those that differ.
        running: Whether the arm is being moved: gains then blend in, and references are approached.
        check: Looks at the way of a new reference, where the arm is being moved.

    Returns:
        What puts all of it into force at once.
    """
    controller, model, force = loop.controller, loop.controller.model, loop.controller.force
    groups = {name.split(".")[0] for name in changed}
    seconds = settings.gains.blend_time if running else 0.0
    changes: list[Change] = []
    later = "force.delay" in changed
    arm_delay, delay = controller.arm_delay, build.delay_of(settings, controller.arm_delay)
    if later:
        changes.append(lambda loop, time: loop.controller.set_delay(delay, running=running))
    if later or groups & {"gains", "disturbance"}:
        gains = build.build_gains(settings, model.k, arm_delay)
        for sampled, name in controller.posture_loops(gains, delay):
            sampled.require_stable(name)
    if "gains" in groups:
        changes.append(lambda loop, time: loop.controller.set_gains(gains, seconds))
    if isinstance(controller, ImpedanceController) and (later or "impedance" in groups):
        behaviour = settings.impedance
        controller.check_impedance(behaviour, delay)
        if "impedance" in groups:
            changes.append(lambda loop, time: controller.set_impedance(behaviour, seconds))
    pressed = groups & {"force", "contact"}
    if pressed and isinstance(settings, ForceControllerSettings):
        contact = settings.contact
        build.check_contact(settings, with_force=force is not None)
        changes.append(lambda loop, time: loop.mailbox.post("contact_rules", contact.rules))
    if pressed and force is not None and isinstance(settings, ForceControllerSettings):
        force_gains = build.build_force_gains(settings, arm_delay)
        target = force.check_gains(force_gains, seconds, contact)
        build.check_tare(settings.force, model.n)
        changes.append(lambda loop, time: force.put_gains(force_gains, target, seconds, contact))
        changes.append(lambda loop, time: build.tare_source(loop.force_source, settings.force))
        if "force.reference" in changed:
            desired = build.build_force_reference(settings, force)
            if running:
                changes.append(force_change(loop, settings, desired.at(0.0).value, model.time))
            else:
                changes.append(lambda loop, time: loop.set_force_reference(desired))
    if "compensation" in groups:
        friction = settings.compensation
        if isinstance(settings, ForceControllerSettings):
            build.check_contact(settings, with_force=force is not None)
        loop.controller.check_compensation(friction)
        changes.append(lambda loop, time: loop.controller.set_compensation(friction, seconds))
    if "disturbance" in groups:
        rejection = settings.disturbance
        rejection.array(model.k)
        changes.append(lambda loop, time: loop.controller.set_disturbance(rejection, seconds))
    if "payload" in groups:
        build.check_payload(model.arm, settings.payload)
        build.refuse_moved_centre(model)
        changes.append(lambda loop, time: carry(loop, settings))
    if "limits" in groups:
        limits = build.build_limits(settings, model.arm)
        limits.force_numbers(model.m)  # refuses here what the loop could not take between two ticks
        changes.append(lambda loop, time: loop.guard.set_limits(limits))
    if "reference" in groups:
        build.check_reference(settings, model.k)
        bounds = build.motion_limits(settings, model.k)
        changes.append(lambda loop, time: loop.set_motion_limits(bounds))
        if running:
            smooth = settings.changed({"reference.approach": True})
            here = ReferencePoint(model.theta.copy(), *np.zeros((2, model.k)))
            q = model.arm.q.copy()
            plan = build.plan_reference(smooth, here, q, loop)
            wanted = plan(loop.beginning(model.time), model.time)
            if check is not None:
                check.require_beginning(wanted, q, model.time)
                check.require(wanted, q, model.time, bounded=False, running=loop)
            loop.get_ready_for(wanted)
            changes.append(lambda loop, time: loop.set_reference(plan(loop.beginning(time), time)))

    def change(loop: ControlLoop, time: float) -> None:
        with loop.mailbox.together():
            for each in changes:
                each(loop, time)

    return change


def carry(loop: ControlLoop, settings: ControllerSettings) -> None:
    """Carry the payload of these settings from the next tick on."""
    build.set_payload(loop.controller.model.arm, settings.payload)
    loop.take_load()


def force_change(
    loop: ControlLoop, settings: ForceControllerSettings, desired: Array, time: float
) -> Change:
    """λ_d goes to other values, at its rate; raises where they are too far away now.

    Args:
        loop: What runs.
        settings: Its settings.
        desired: λ_d of every row, m [N or N·m].
        time: Of the loop, about now [s].
    """
    build.check_force_step(settings, loop, desired, time)
    loop.get_ready_for(None, build.lead_force(settings, loop, desired, time))

    def change(running: ControlLoop, now: float) -> None:
        led = build.lead_force(settings, running, desired, now)
        if led is not running.force_reference:
            running.set_force_reference(led)

    return change


def begin_with_delay(loop: ControlLoop, settings: ControllerSettings, delay: int) -> None:
    """At the start of a run: what the arm takes now counts, not what it took in the run before.

    Args:
        loop: What is about to run.
        settings: Its settings.
        delay: From an effort to its effect in the state, at least; zero where it is not known.
    """
    controller, force = loop.controller, loop.controller.force
    as_set = build.delay_of(settings)
    controller.arm_delay = 1
    controller.set_delay(as_set)
    if force is not None and force.gains.delay != as_set:
        force.set_gains(replace(force.gains, delay=as_set), 0.0)
    allow_for_delay(loop, delay)


def allow_for_delay(
    loop: ControlLoop, delay: int, *, only_check: bool = False, running: bool = False
) -> None:
    """Take a longer delay of the arm into account in all loops; refuse gains it makes unstable.

    It is remembered for the run: no change of gains or of ``force.delay`` counts on less.

    Args:
        loop: What runs, or is about to.
        delay: From an effort to its effect in the state, at least; zero where it is not known.
        only_check: Refuse, but change nothing.
        running: Whether the arm is being moved.
    """
    controller, force = loop.controller, loop.controller.force
    longest = max(delay, controller.delay)
    for sampled, name in controller.motion_loops(longest):
        sampled.require_stable(name)
    gains = None
    if force is not None and delay > force.gains.delay:
        gains = replace(force.gains, delay=delay)
        force.check_gains(gains, 0.0)
    if only_check:
        return
    controller.arm_delay = max(delay, controller.arm_delay)
    controller.set_delay(longest, running=running)
    if force is not None and gains is not None:
        force.set_gains(gains, 0.0)
