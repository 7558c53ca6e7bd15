"""Declaring the table of parameters on a node, and checking what is set."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from rcl_interfaces.msg import (
    FloatingPointRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

from projected_control.errors import ProjectedControlError
from projected_control.settings.parameters import Parameter, Settings, checked, parameters_of

Accept = Callable[[dict[str, Any], list[str]], None]
"""Takes complete new settings and the names that changed; raises to refuse them."""


class DeclaredParameters:
    """The parameters of a node, all of which are declared, checked and kept as one set.

    A change is accepted or refused as a whole; refused, everything stays as it was.

    Args:
        node: That has them.
        kind: Its name in the table.
        accept: Asked about every change before it is made.
    """

    def __init__(self, node: Node, kind: str, accept: Accept) -> None:
        self._table, self._kind, self._accept = parameters_of(kind), kind, accept
        given = {}
        for name, parameter in self._table.items():
            given[name] = declare(node, parameter)
        self.settings: dict[str, Any] = checked(
            kind, {k: v for k, v in given.items() if v is not None}
        )
        node.add_on_set_parameters_callback(self._on_set)

    def _on_set(self, changes: Sequence[RosParameter]) -> SetParametersResult:
        wanted = {p.name: p.value for p in changes if p.name in self._table}
        if not wanted:
            return SetParametersResult(successful=True)
        try:
            settings = checked(self._kind, {**self.settings, **wanted})
            changed = [name for name in wanted if settings[name] != self.settings[name]]
            if changed:
                self._accept(settings, changed)
        except ProjectedControlError as error:
            return SetParametersResult(successful=False, reason=str(error))
        except Exception as error:  # whatever a value may do, the node goes on
            return SetParametersResult(successful=False, reason=f"{type(error).__name__}: {error}")
        self.settings = settings
        return SetParametersResult(successful=True)


def require_inactive(kind: str, changed: Sequence[str], active: bool) -> None:
    """Refuse changes of parameters that only count at configuration while a node is active."""
    table = parameters_of(kind)
    fixed = [name for name in changed if not table[name].live]
    if active and fixed:
        raise ProjectedControlError(
            f"{', '.join(fixed)} cannot change while the node is active; deactivate it first"
        )


def declare(node: Node, parameter: Parameter) -> Any:
    """Declare a parameter; its value as ROS has it, None for an empty list from a file."""
    default = parameter.default if parameter.default != [] else [""]
    return node.declare_parameter(parameter.name, default, _descriptor(parameter)).value


def _descriptor(parameter: Parameter) -> ParameterDescriptor:
    unit = f" [{parameter.unit}]" if parameter.unit else ""
    bounds = []
    if parameter.minimum is not None and parameter.maximum is not None:
        bounds = [
            FloatingPointRange(
                from_value=float(parameter.minimum), to_value=float(parameter.maximum), step=0.0
            )
        ]
    choices = f"one of {', '.join(parameter.choices)}" if parameter.choices else ""
    scalar = isinstance(parameter.default, float)
    limits = ""
    if not scalar and bounds:
        limits = f"each from {parameter.minimum:g} to {parameter.maximum:g}"
    changes = "" if parameter.live else "only while inactive"
    return ParameterDescriptor(
        description=parameter.description + unit,
        additional_constraints="; ".join(text for text in (choices, limits, changes) if text),
        floating_point_range=bounds if scalar else [],
        dynamic_typing=True,
    )


def copy_settings(settings: Settings) -> dict[str, Any]:
    """Settings of one's own."""
    return {k: list(v) if isinstance(v, list) else v for k, v in settings.items()}
