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
from projected_control.settings.declaration import NAMES, Parameter, unknown_parameter
from projected_control.settings.files import DESCRIPTION, is_ros_own, read_file
from projected_control.settings.nodes import NodeSettings, parameters_of, settings_class

S = TypeVar("S", bound=NodeSettings)

EMPTY_LIST = RosParameter.Type.DOUBLE_ARRAY
"""The type in which ROS keeps an empty list; the first value that is set brings its own."""


UNSAID = object()  # in place of a value that was not given, of a parameter where that matters


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
        self._node, self._accept = node, accept
        given = {name: declare(node, parameter) for name, parameter in kind.parameters().items()}
        unsaid = {name for name, value in given.items() if value is UNSAID}
        given |= {name: say_default(node, kind.parameters()[name]) for name in unsaid}
        self._table = kind.parameters_with(given)
        for name, parameter in self._table.items():  # those of groups that were named just now
            if name not in given:
                given[name] = declare(node, parameter)
        if DESCRIPTION in given:
            namespace = node.get_namespace().rstrip("/")
            given[DESCRIPTION] = beside_its_file(kind.title(), given[DESCRIPTION], namespace)
        self.settings: S = kind.of(given).saying(set(given) - unsaid)
        node.add_on_set_parameters_callback(self._on_set)

    def put(self, values: dict[str, Any]) -> None:
        """Set parameters on behalf of the node itself; raises where they are refused."""
        result = self._node.set_parameters_atomically(
            [RosParameter(name, value=value) for name, value in values.items()]
        )
        if not result.successful:
            raise ProjectedControlError(result.reason)

    def _on_set(self, changes: Sequence[RosParameter]) -> SetParametersResult:
        requested = {p.name: p.value for p in changes if p.name in self._table}
        if not requested:
            return SetParametersResult(successful=True)
        try:
            settings = self.settings.changed(requested)
            before, after = self.settings.values(), settings.values()
            changed = [name for name in requested if after[name] != before[name]]
            renamed = [name for name in changed if name.endswith(f".{NAMES}")]
            if renamed:
                raise ProjectedControlError(
                    f"{', '.join(renamed)} counts when the node starts; start it anew"
                )
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
    fixed = [name for name in changed if not is_live(kind, name)]
    if active and fixed:
        raise ProjectedControlError(
            f"{', '.join(fixed)} cannot change while the node is active; deactivate it first"
        )


def is_live(kind: type[NodeSettings], name: str) -> bool:
    """Whether a parameter may change while a node is active."""
    parameter = kind.parameter(name)
    return parameter is not None and parameter.live


def declare(node: Node, parameter: Parameter, arguments: Sequence[str] | None = None) -> Any:
    """Declare a parameter; returns its value, or `UNSAID`.

    ROS has no empty list in a parameter file: its parser says that the parameter is *not set*. As
    every parameter here has a default that is set, "not set" can only be such a list. On the
    command line (``-p name:=[]``) an empty list is lost altogether and has to be looked for.

    Args:
        node: That gets it.
        parameter: What is declared.
        arguments: The command line; None for that of the process.
    """
    if parameter.said:
        value = node.declare_parameter(parameter.name, "", _descriptor(parameter)).value
        return UNSAID if value == "" else value
    default = list(parameter.default) if parameter.is_list else parameter.default
    unset = default if default != [] else [""]
    value = node.declare_parameter(parameter.name, unset, _descriptor(parameter)).value
    if parameter.is_list:
        argv = sys.argv if arguments is None else arguments
        if value is None or value == [""] or parameter.name in emptied(argv):
            node.set_parameters([RosParameter(parameter.name, EMPTY_LIST, [])])
            return []
    return value


def say_default(node: Node, parameter: Parameter) -> Any:
    """Give a declared parameter its default, which is its value then."""
    node.set_parameters([RosParameter(parameter.name, value=parameter.default)])
    return parameter.default


def emptied(arguments: Sequence[str]) -> set[str]:
    """Names of the parameters that a command line sets to an empty list last of all."""
    names: dict[str, bool] = {}
    for rule in _rules(arguments):
        name, _, value = rule.partition(":=")
        names[name.rpartition(":")[2]] = value.replace(" ", "") == "[]"
    return {name for name, empty in names.items() if empty}


def check_arguments(kind: str, arguments: Sequence[str]) -> None:
    """Raise where parameter files or the command line have unknown names.

    ROS drops them without a word, and what was meant keeps its default.
    """
    for path in _following(arguments, "--params-file"):
        read_file(path).require_names()
    table = parameters_of(kind)
    for rule in _rules(arguments):
        node, _, name = rule.partition(":=")[0].rpartition(":")
        known = settings_class(kind).parameter(name) is not None
        if not known and node in ("", kind) and not is_ros_own(name):
            raise unknown_parameter(name, table, kind)


def beside_its_file(
    kind: str, name: str, namespace: str | None = None, arguments: Sequence[str] | None = None
) -> str:
    """A description by its path, where it is beside the parameter file that names it."""
    argv = sys.argv if arguments is None else arguments
    for path in reversed(list(_following(argv, "--params-file"))):
        try:
            given = read_file(path).given(kind, namespace or None).get(DESCRIPTION)
        except ProjectedControlError:
            continue  # a file that this node has no part in
        if given is not None and given.value.endswith(name) and name:
            return str(given.value)
    return name


def _rules(arguments: Sequence[str]) -> Iterator[str]:
    yield from _following(arguments, "-p", "--param")


def _following(arguments: Sequence[str], *flags: str) -> Iterator[str]:
    for flag, value in pairwise(arguments):
        if flag in flags:
            yield value


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
