"""Declaring the parameters of a node, and checking what is set."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Generic, TypeVar

from rcl_interfaces.msg import (
    FloatingPointRange,
    ParameterDescriptor,
    SetParametersResult,
)
from rclpy.node import Node
from rclpy.parameter import Parameter as RosParameter

from projected_control.errors import ProjectedControlError
from projected_control.settings.declaration import Parameter
from projected_control.settings.nodes import NodeSettings

S = TypeVar("S", bound=NodeSettings)

EMPTY_LIST = RosParameter.Type.DOUBLE_ARRAY
"""The type in which ROS keeps an empty list; the first value that is set brings its own."""


class DeclaredParameters(Generic[S]):
    """The parameters of a node, all of which are declared, checked and kept as one set.

    A change is accepted or refused as a whole; refused, everything stays as it was.

    Args:
        node: That has them.
        kind: The class of its settings.
        accept: Asked about every change before it is made: takes complete new settings and the
            names that changed, and raises to refuse them.
    """

    def __init__(self, node: Node, kind: type[S], accept: Callable[[S, list[str]], None]) -> None:
        self._table, self._accept = kind.parameters(), accept
        given = {name: declare(node, parameter) for name, parameter in self._table.items()}
        self.settings: S = kind.of(given)
        node.add_on_set_parameters_callback(self._on_set)

    def _on_set(self, changes: Sequence[RosParameter]) -> SetParametersResult:
        wanted = {p.name: p.value for p in changes if p.name in self._table}
        if not wanted:
            return SetParametersResult(successful=True)
        try:
            settings = self.settings.changed(wanted)
            before, after = self.settings.values(), settings.values()
            changed = [name for name in wanted if after[name] != before[name]]
            if changed:
                self._accept(settings, changed)
        except ProjectedControlError as error:
            return SetParametersResult(successful=False, reason=str(error))
        except Exception as error:  # whatever a value may do, the node goes on
            return SetParametersResult(successful=False, reason=f"{type(error).__name__}: {error}")
        self.settings = settings
        return SetParametersResult(successful=True)


def require_inactive(kind: type[NodeSettings], changed: Sequence[str], active: bool) -> None:
    """Refuse changes of parameters that only count at configuration while a node is active."""
    table = kind.parameters()
    fixed = [name for name in changed if not table[name].live]
    if active and fixed:
        raise ProjectedControlError(
            f"{', '.join(fixed)} cannot change while the node is active; deactivate it first"
        )


def declare(node: Node, parameter: Parameter, arguments: Sequence[str] | None = None) -> Any:
    """Declare a parameter; returns its value.

    ROS has no empty list in a parameter file: its parser says that the parameter is *not set*. As
    every parameter here has a default that is set, "not set" can only be such a list. On the
    command line (``-p name:=[]``) an empty list is lost altogether and has to be looked for.

    Args:
        node: That gets it.
        parameter: What is declared.
        arguments: The command line; None for that of the process.
    """
    default = list(parameter.default) if parameter.is_list else parameter.default
    unset = default if default != [] else [""]
    value = node.declare_parameter(parameter.name, unset, _descriptor(parameter)).value
    if parameter.is_list:
        argv = sys.argv if arguments is None else arguments
        if value is None or value == [""] or parameter.name in emptied(argv):
            node.set_parameters([RosParameter(parameter.name, EMPTY_LIST, [])])
            return []
    return value


def emptied(arguments: Sequence[str]) -> set[str]:
    """Names of the parameters that a command line sets to an empty list last of all."""
    names: dict[str, bool] = {}
    for rule in _rules(arguments):
        name, _, value = rule.partition(":=")
        names[name.rpartition(":")[2]] = value.replace(" ", "") == "[]"
    return {name for name, empty in names.items() if empty}


def _rules(arguments: Sequence[str]) -> Iterator[str]:
    for flag, rule in pairwise(arguments):
        if flag in ("-p", "--param"):
            yield rule


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
    scalar = parameter.type is float and not parameter.is_list
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
