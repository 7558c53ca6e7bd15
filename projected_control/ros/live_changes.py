"""Changes of a controller while it runs: checked as a whole, in force between two ticks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from projected_control.control.loop import ControlLoop
from projected_control.control.stability import MotionLoop
from projected_control.ports.runner import Change
from projected_control.settings import build
from projected_control.settings.nodes import ControllerSettings, ForceControllerSettings


def prepare_change(
    loop: ControlLoop, settings: ControllerSettings, changed: Sequence[str], *, running: bool
) -> Change:
    """Validate a change of live settings; raises where it must be refused.

    Args:
        loop: What is to change.
        settings: All settings as they are to be.
        changed: Names of those that differ.
        running: Whether the arm is being moved: gains then blend in, and references are approached.

    Returns:
        What puts all of it into force at once.
    """
    model, force = loop.controller.model, loop.controller.force
    groups = {name.split(".")[0] for name in changed}
    seconds = settings.gains.blend_time if running else 0.0
    changes: list[Change] = []
    if "gains" in groups:
        gains = build.build_gains(settings, model.k)
        changes.append(lambda loop, time: loop.controller.set_gains(gains, seconds))
    if "force" in groups and force is not None and isinstance(settings, ForceControllerSettings):
        force_gains = build.build_force_gains(settings)
        force.check_gains(force_gains, seconds)
        build.check_tare(settings.force)
        changes.append(lambda loop, time: force.set_gains(force_gains, seconds))
        changes.append(lambda loop, time: build.tare_source(loop.force_source, settings.force))
        if "force.reference" in changed:
            desired = build.build_force_reference(settings, force)
            changes.append(lambda loop, time: loop.set_force_reference(desired))
    if "payload" in groups:
        build.check_payload(model.arm, settings.payload)
        changes.append(
            lambda loop, time: build.set_payload(loop.controller.model.arm, settings.payload)
        )
    if "limits" in groups:
        limits = build.build_limits(settings, model.arm)
        changes.append(lambda loop, time: loop.guard.set_limits(limits))
    if "reference" in groups:
        build.check_reference(settings, model.k)
        if running:
            changes.append(lambda loop, time: _replan(loop, settings, time))

    def change(loop: ControlLoop, time: float) -> None:
        with loop.mailbox.together():
            for each in changes:
                each(loop, time)

    return change


def _replan(loop: ControlLoop, settings: ControllerSettings, time: float) -> None:
    """Go over smoothly to the reference of new settings."""
    smooth = settings.changed({"reference.approach": True})
    loop.set_reference(build.build_reference(smooth, loop.reference.at(time), time))


def allow_for_delay(loop: ControlLoop, delay: int, *, only_check: bool = False) -> None:
    """Take a longer delay of both loops into account; refuse gains it makes unstable.

    Args:
        loop: What runs, or is about to.
        delay: From an effort to its effect in the state, at least; zero where it is not known.
        only_check: Refuse, but change nothing.
    """
    if delay > 1:
        _require_stable_motion(loop, delay)
    force = loop.controller.force
    if force is None or delay <= force.gains.delay:
        return
    gains = replace(force.gains, delay=delay)
    force.check_gains(gains, 0.0)
    if not only_check:
        force.set_gains(gains, 0.0)


def _require_stable_motion(loop: ControlLoop, delay: int) -> None:
    controller, coordinates = loop.controller, loop.controller.model.coordinates
    stiffness, damping, _ = controller.gains.array(controller.model.k)
    for name, K, D in zip(
        coordinates.names if coordinates else (), stiffness, damping, strict=True
    ):
        MotionLoop(float(K), float(D), controller.period, delay).require_stable(name)
