"""What has to be said of an arm that is real, where a default could hurt."""

from __future__ import annotations

from projected_control.errors import InvalidValue
from projected_control.runs.port import PORTS
from projected_control.settings.nodes import ControllerSettings

NO_WATCHDOG = "none"
"""What the parameter ``watchdog`` says of a controller that is to go without."""

NO_BASE_STATE = "joint_states do not say where the base is, and nothing else is listened to"
"""Why nodes do not serve a floating base."""

WEIGHT = "effort_includes_gravity"


def is_real(settings: ControllerSettings) -> bool:
    """Whether the arm is a real one.

    It is where a controller manager has it, of simulated hardware too: nothing tells them apart
    from here.
    """
    return PORTS[settings.hardware].needs_limits


def unsaid(settings: ControllerSettings) -> list[str]:
    """What is not said of a real arm and has to be, each with the line to add; else nothing."""
    if not is_real(settings):
        return []
    port, found = PORTS[settings.hardware], []
    arm = f"hardware: {settings.hardware} is a real arm"
    if WEIGHT not in settings.said:
        found.append(
            f"{arm}, and nothing says who carries its weight: add {WEIGHT}: true (the efforts do), "
            f"or {WEIGHT}: false (its firmware does, as on a UR or a Franka)"
        )
    if port.needs_watchdog and not settings.watchdog:
        found.append(
            f"{arm}, whose last torque stays where the controller dies, and watchdog names none: "
            f"add watchdog: effort_watchdog, and start it, or watchdog: {NO_WATCHDOG} to go without"
        )
    return found


def require_said(settings: ControllerSettings) -> None:
    """Raise where something has to be said of a real arm, with the lines to add."""
    if found := unsaid(settings):
        raise InvalidValue("; ".join(found))
