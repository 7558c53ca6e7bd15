"""Where a controller's ticks are made: in the controller manager by our plugin, or in its node."""

from __future__ import annotations

from typing import NamedTuple

from projected_control.apps.launch.choices import Choice
from projected_control.control.activation import require_held
from projected_control.errors import InvalidValue, ProjectedControlError
from projected_control.native.engine import refuse_python_parts
from projected_control.native.plugin_build import plugin_there
from projected_control.native.simulation import refuse_hardware
from projected_control.settings import build
from projected_control.settings.nodes import ControllerSettings, SimulatedArmSettings

PLUGIN, TOPICS, AUTO = "plugin", "topics", "auto"
LOOPS = (AUTO, PLUGIN, TOPICS)  # what ``loop:=`` takes
CONTROLLER = "projected_controller"  # our plugin's name in config/ros2_control.yaml


class LoopChoice(NamedTuple):
    """Where the ticks are made."""

    plugin: bool  # whether in the controller manager
    said: str = ""  # why not, where the plugin is the default; empty where nothing is to be said


def choose_loop(
    asked: str,
    chosen: Choice,
    settings: ControllerSettings,
    arm: SimulatedArmSettings | None,
) -> LoopChoice:
    """The plugin where it is there and can do it, unless told otherwise.

    Args:
        asked: One of `LOOPS`.
        chosen: Controller and arm.
        settings: Of the controller.
        arm: Settings of the simulated arm, where that is wanted.

    Raises:
        InvalidValue: Where the plugin is asked for by name, and it cannot be.
    """
    if asked == TOPICS:
        return LoopChoice(False)
    reason = reason_against(chosen, settings, arm)
    if reason and asked == PLUGIN:
        raise InvalidValue(f"loop:=plugin cannot be: {reason}; loop:=topics can")
    if reason:
        return LoopChoice(False, f"the loop runs in the node (loop:=topics): {reason}")
    return LoopChoice(True)


def refuse_falling(settings: ControllerSettings, choice: LoopChoice) -> None:
    """Raise where an arm with weight would be carried over topics, and nothing asks for that.

    Args:
        settings: Of the controller, on a real arm.
        choice: Where its ticks are made.
    """
    if choice.plugin or settings.ros2_control.may_fall:
        return
    arm = build.build_model(settings).arm
    require_held(arm, build.build_limits(settings, arm), choice.said)


def reason_against(
    chosen: Choice, settings: ControllerSettings, arm: SimulatedArmSettings | None
) -> str:
    """Why the plugin cannot make the ticks; empty where it can."""
    if missing := plugin_there():
        return missing
    try:
        refuse_python_parts(build.build_loop(chosen.case.node, settings))
        if arm is not None:
            refuse_hardware(build.build_plant(arm))
    except ProjectedControlError as error:
        return str(error)
    return ""
