"""From settings to a path that is timed for the arm that follows it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from projected_control.arrays import Array
from projected_control.control.loop import ControlLoop
from projected_control.control.references import Reference, ReferencePoint, Waypoints
from projected_control.errors import InvalidValue, UnknownName
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.planning import paths
from projected_control.planning.following import Follower
from projected_control.planning.tasks import SquareAxis
from projected_control.planning.timed_paths import PathLimits, time_strokes
from projected_control.settings import groups, reference_kinds
from projected_control.settings.build.arms import build_limits
from projected_control.settings.build.controllers import build_controller, build_force_reference
from projected_control.settings.nodes import (
    ControllerSettings,
    ForceControllerSettings,
    MovedArmSettings,
)
from projected_control.settings.reference_kinds import REFERENCES


def moved_columns(group: groups.Reference, names: Sequence[str]) -> list[int]:
    """Which coordinates a path moves: those of its file, of reference.along, or the first ones."""
    kind = group.kind
    listed = kind == "waypoints" and bool(group.file)
    words = paths.read_points(group.file).names if listed else group.along
    if not words:
        words = tuple(names[:1] if kind in ("line", "waypoints") else names[:2])
    for word in words:
        if word not in names:
            raise UnknownName(
                "coordinate of the path (reference.along)", word, names, "reference.along"
            )
    if len(set(words)) != len(words):
        raise InvalidValue(
            f"a path moves each coordinate once, got {list(words)}", key="reference.along"
        )
    return [list(names).index(word) for word in words]


def check_path(group: groups.Reference, names: Sequence[str]) -> None:
    """Raise where the settings make no path; whether the arm can follow it is not looked at."""
    strokes = REFERENCES[group.kind].strokes
    assert strokes is not None
    strokes(group, np.zeros(len(moved_columns(group, names))))


def plan_path(
    settings: ControllerSettings,
    start: ReferencePoint,
    q: Array,
    running: ControlLoop | None = None,
) -> Reference:
    """The path of the settings, from its beginning at time zero to rest at its end.

    Args:
        settings: Of a controller.
        start: Where its reference is; coordinates that the path does not move stay there.
        q: Where the arm is, n [rad or m].
        running: What is to follow it, whose posture and λ_d count where it runs already; else
            those of the settings.
    """
    group = settings.reference
    controller = build_controller(settings.title(), settings)
    model = controller.model
    names = model.coordinates.names if model.coordinates is not None else ()
    columns = moved_columns(group, names)
    timed = _timed(group, columns, start)
    if timed is not None:
        return timed
    make = REFERENCES[group.kind].strokes
    assert make is not None
    strokes = make(group, start.value[columns])
    posture = posture_of(settings, model, q) if running is None else running.controller.drawn_to
    square = SquareAxis.of(model, q) if group.square else None
    force, desired = controller.force, None
    if force is not None and isinstance(settings, ForceControllerSettings):
        desired = build_force_reference(settings, force).at(0.0).value
        led = None if running is None else running.force_reference
        if led is not None:
            now = led.end if np.isfinite(led.end) else 0.0
            desired = led.at(now).value
    return time_strokes(
        controller,
        Follower(model, q, posture, square),
        strokes,
        columns,
        start.value,
        _limits(settings, model),
        desired,
        back=group.back,
        repeats=group.repeats,
    )


def posture_of(settings: MovedArmSettings, model: ConstrainedArm, q: Array) -> Array | None:
    """Where free motions are drawn to that no coordinate describes, n; None where nothing does.

    Args:
        settings: Of the controller.
        model: Its arm, evaluated here.
        q: Where the arm stands at the start, n [rad or m].
    """
    if settings.posture.has_target:
        return settings.posture.array(model.n)
    model.evaluate(q, np.zeros(model.n))
    held = settings.posture.hold > 0.0 and model.undescribed_directions > 0
    return np.array(q) if held else None


def _timed(group: groups.Reference, columns: list[int], start: ReferencePoint) -> Waypoints | None:
    """Waypoints with times of their own; None for a path that has none."""
    if group.kind != "waypoints" or not group.file:
        return None
    listed = paths.read_points(group.file)
    if listed.times is None:
        return None
    values = np.tile(start.value, (listed.times.size, 1))
    values[:, columns] = listed.points
    return Waypoints(listed.times - listed.times[0], values)


def _limits(settings: MovedArmSettings, model: ConstrainedArm) -> PathLimits:
    group, limits = settings.reference, build_limits(settings, model.arm)
    members = model.coordinates.members if model.coordinates is not None else ()
    effort = np.where(model.arm.actuated > 0.0, limits.effort, np.inf)
    return PathLimits(
        group.rate_share * limits.velocity,
        np.minimum(group.effort_share * effort, 1e12),
        reference_kinds.motion_limits(group, model.k).array(model.k),
        group.speed,
        np.array([member.unit == "m" for member in members]),
    )
