"""Reading ROS parameter files as nodes read them, without ROS, and saying what is wrong with them.

A file has sections: one for all nodes (``/**``), or one per node, as ``ros2 param dump`` writes
them. Sections that fit count in their order in the file, later ones first, as in ROS. Names
that no node has are errors with file, line and the nearest name; what belongs to another of
our nodes may be in a section for all. Every value remembers where it came from.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import yaml

from projected_control.errors import InvalidValue, UnknownName
from projected_control.settings.declaration import NAMES, Value, nearest
from projected_control.settings.nodes import nodes, parameters_of, settings_class

T = TypeVar("T")

ALL_NODES = "/**"
PARAMETERS = "ros__parameters"
DESCRIPTION = "robot_description_file"
HEIGHTS = "heights_file"
POINTS = "reference.file"

ROS_OWN = ("use_sim_time", "start_type_description_service")
ROS_OWN_GROUPS = ("qos_overrides.",)  # parameters that every ROS node has


class Given(NamedTuple):
    """A value and where it came from."""

    value: Value  # as it was written
    origin: str  # in words, such as ``my_arm.yaml, line 7``


class Entry(NamedTuple):
    """A parameter of a file: its value and its line, counted from one."""

    value: Value
    line: int


@dataclass(frozen=True)
class ParameterFile:
    """A parameter file that was read."""

    path: Path  # where it is
    # Parameters by full name, per section, in the order of the file.
    sections: tuple[tuple[str, Mapping[str, Entry]], ...]

    def given(self, node: str, namespace: str | None = None) -> dict[str, Given]:
        """What the file says to a node of ours; raises where it says what no node understands.

        Args:
            node: Which kind; empty for what it says to all nodes.
            namespace: Of the node; unless given, the one for which the file has a section.
        """
        self.require_known()
        if namespace is None:
            namespace = one_namespace(node, self.namespaces(node), str(self.path))
        given: dict[str, Given] = {}
        for section, entries in self.sections:
            if section == ALL_NODES or (node and _fits(section, node, namespace)):
                for name, entry in entries.items():
                    if not is_ros_own(name):
                        given[name] = Given(self._value(name, entry), self.place(entry))
        return given

    def namespaces(self, node: str) -> set[str]:
        """The namespaces for which there are sections of a kind of node; empty for the root."""
        plain = [name for name, _ in self.sections if _kind_of(name) == node and "*" not in name]
        return {_namespace_of(name) for name in plain}

    def place(self, entry: Entry) -> str:
        """Where a parameter is given, in words."""
        return f"{self.path}, line {entry.line}"

    def require_known(self) -> None:
        """Raise where there is no section for a node of ours, or a name that none of them has."""
        self._require_section()
        self.require_names()

    def _require_section(self) -> None:
        ours = [ALL_NODES, *nodes()]
        names = [name for name, _ in self.sections]
        if not any(name == ALL_NODES or _kind_of(name) in ours for name in names):
            near = next((n for name in names if (n := nearest(_kind_of(name), ours))), "")
            hint = f"did you mean {near}?" if near else f"expected one of {', '.join(ours)}"
            raise InvalidValue(
                f"{self.path} has no section for a node of this package, only for "
                f"{', '.join(names) or 'no node'}; {hint}"
            )

    def require_names(self) -> None:
        """Raise where a section has names that its nodes do not have.

        Sections of nodes that are not ours, or of ours under another name, are left alone.
        """
        for section, entries in self.sections:
            known = _known_in(section)
            if known is None and (near := _misspelt(section)):
                line = min((entry.line for entry in entries.values()), default=1)
                raise InvalidValue(
                    f"{self.path}, line {line}: there is no node {section!r}; did you mean {near}?"
                )
            for name, entry in entries.items():
                if known is None or name in known or is_ros_own(name):
                    continue
                if not _is_in_named_group(name, section):
                    raise self._unknown(name, entry, known, section)

    def _unknown(self, name: str, entry: Entry, known: Iterable[str], section: str) -> UnknownName:
        whose = "our nodes" if section == ALL_NODES else _kind_of(section)
        error = UnknownName(f"parameter of {whose}", name, known)
        if near := nearest(name, [*known, *_names_like(name, section)]):
            error.args = (f"unknown parameter {name!r} of {whose}; did you mean {near!r}?",)
        error.args = (f"{self.place(entry)}: {error}",)
        return error

    def _value(self, name: str, entry: Entry) -> Value:
        """The value; a description or heights beside the file are named by their path."""
        is_file = name in (DESCRIPTION, POINTS) or name.rpartition(".")[2] == HEIGHTS
        if is_file and isinstance(entry.value, str) and entry.value:
            beside = self.path.parent / entry.value
            if not Path(entry.value).is_absolute() and beside.is_file():
                return str(beside.resolve())
        return entry.value


def read_file(path: Path | str) -> ParameterFile:
    """Read a parameter file; raises where it is none."""
    path = Path(path)
    sections = tuple(_read(path, "a parameter file", _sections))
    if not sections:
        raise InvalidValue(f"{path} is not a parameter file: nothing stands under {PARAMETERS}")
    return ParameterFile(path, sections)


def read_entries(path: Path | str) -> list[tuple[str, Entry]]:
    """What is in a file that is no parameter file, by full names, each with its line."""
    return _read(
        Path(path), "a file of names with values", lambda loader, root: _entries(loader, root, 1)
    )


def _read(path: Path, what: str, entries: Callable[[_Loader, yaml.Node], Iterator[T]]) -> list[T]:
    """All that a function finds in a YAML file; raises where the file is not what it should be."""
    try:
        loader = _Loader(path.read_text(encoding="utf-8"))
        try:
            root = loader.get_single_node()
            return list(entries(loader, root)) if root is not None else []
        finally:
            loader.dispose()
    except OSError as error:
        raise InvalidValue(f"cannot read {path}: {error.strerror or error}") from None
    except (UnicodeError, yaml.YAMLError, _NotParameters) as error:
        raise InvalidValue(f"{path} is not {what}: {error}") from None


def read_parameter_file(path: Path | str, node: str = "") -> dict[str, Value]:
    """What a parameter file says to all nodes, or to one of ours, by full parameter names."""
    return {name: given.value for name, given in read_file(path).given(node).items()}


def parameter_text(sections: Mapping[str, Mapping[str, Any]]) -> str:
    """A parameter file with these sections, each with its parameters."""
    content = {section: {PARAMETERS: dict(values)} for section, values in sections.items()}
    return str(
        yaml.safe_dump(content, sort_keys=False, allow_unicode=True, default_flow_style=None)
    )


def combined(layers: Iterable[Mapping[str, Given]]) -> dict[str, Given]:
    """Several sources as one; later ones count before earlier ones."""
    values: dict[str, Given] = {}
    for layer in layers:
        values |= layer
    return values


def from_command_line(items: Iterable[str], flag: str) -> dict[str, Given]:
    """Values of ``name:=value`` items; the values are YAML, as for ``ros2 run … -p``."""
    given: dict[str, Given] = {}
    known = _known_in(ALL_NODES) or {}
    for item in items:
        name, separator, text = item.partition(":=")
        if not separator:
            raise InvalidValue(f"{flag} must be name:=value, got {item!r}")
        if name not in known and not _is_in_named_group(name, ALL_NODES):
            near = nearest(name, [*known, *_names_like(name, ALL_NODES)])
            raise InvalidValue(
                f"{flag} {item}: unknown parameter {name!r}"
                + (f"; did you mean {near!r}?" if near else "")
            )
        given[name] = Given(yaml.load(text, _Loader), f"command line ({flag})")
    return given


class _NotParameters(ValueError):
    pass


class _Loader(yaml.SafeLoader):
    """YAML in which 1e-3 is a number, as ROS reads it."""


_Loader.add_implicit_resolver(
    "tag:yaml.org,2002:float",
    re.compile(r"^[-+]?(\d+\.?\d*|\.\d+)[eE][-+]?\d+$"),
    list("-+.0123456789"),
)


def _sections(
    loader: _Loader, node: yaml.Node, name: str = ""
) -> Iterator[tuple[str, dict[str, Entry]]]:
    """Sections of a file: mappings with ros__parameters in them, at any depth of namespaces."""
    for key, value, line in _items(loader, node):
        if key == PARAMETERS:
            yield name, dict(_entries(loader, value, line))
        elif isinstance(value, yaml.MappingNode):
            inner = key if key.startswith("/") else f"{name}/{key}" if name else key
            yield from _sections(loader, value, inner)
        else:
            raise _NotParameters(
                f"line {line}: {key!r} stands outside of {PARAMETERS}; parameters stand under "
                f"{ALL_NODES}: {PARAMETERS}:"
            )


def _entries(
    loader: _Loader, node: yaml.Node, line: int, prefix: str = ""
) -> Iterator[tuple[str, Entry]]:
    if not isinstance(node, yaml.MappingNode):
        raise _NotParameters(f"line {line}: {prefix or PARAMETERS} holds no parameters")
    for key, value, at in _items(loader, node):
        if isinstance(value, yaml.MappingNode):
            yield from _entries(loader, value, at, f"{prefix}{key}.")
        else:
            yield prefix + key, Entry(loader.construct_object(value, deep=True), at)


def _items(loader: _Loader, node: yaml.Node) -> Iterator[tuple[str, yaml.Node, int]]:
    if not isinstance(node, yaml.MappingNode):
        raise _NotParameters(f"line {node.start_mark.line + 1}: expected names with values")
    for key, value in node.value:
        yield str(loader.construct_object(key, deep=True)), value, key.start_mark.line + 1


def _kind_of(section: str) -> str:
    return section.rpartition("/")[2]


def _namespace_of(section: str) -> str:
    return f"/{section.strip('/')}".rpartition("/")[0]


def _fits(section: str, node: str, namespace: str) -> bool:
    """Whether a section is for the node of this kind in this namespace, as ROS matches names."""
    if _kind_of(section) != node:
        return False
    wanted = re.escape(_namespace_of(section)).replace(r"/\*\*", "(/.*)?").replace(r"\*", "[^/]*")
    return re.fullmatch(wanted, namespace) is not None


def one_namespace(node: str, namespaces: set[str], where: str) -> str:
    """The namespace that is meant where none is named: the root, or the only one there is.

    Raises:
        InvalidValue: Where there are several, each for another node.
    """
    if "" in namespaces or not namespaces:
        return ""
    if len(namespaces) > 1:
        names = [f"{namespace}/{node}" for namespace in sorted(namespaces)]
        raise InvalidValue(
            f"{where} has sections for {' and '.join(names)}, which are different nodes: say which "
            f"with --node, such as --node {names[0]}"
        )
    return next(iter(namespaces))


def _misspelt(section: str) -> str:
    """The node of ours that was meant, or nothing; ours with something added is another name."""
    kind = _kind_of(section)
    near = nearest(kind, nodes(), 0.85)
    return near if near and near not in kind else ""


def _known_in(section: str) -> Mapping[str, Any] | None:
    """The names a section may have; None where it is not ours."""
    if section == ALL_NODES:
        return {name: p for node in nodes() for name, p in parameters_of(node).items()}
    kind = _kind_of(section)
    return parameters_of(kind) if kind in nodes() else None


def _kinds_in(section: str) -> list[str]:
    return list(nodes()) if section == ALL_NODES else [_kind_of(section)]


def _is_in_named_group(name: str, section: str) -> bool:
    """Whether it is a parameter of a group under a name of its own (see `declaration.Named`)."""
    return any(settings_class(node).parameter(name) is not None for node in _kinds_in(section))


def _names_like(name: str, section: str) -> list[str]:
    """The parameters there are in the named group that a name means."""
    own = name.split(".")
    if len(own) < 3:
        return []
    values = {f"{own[0]}.{NAMES}": [own[1]]}
    with suppress(InvalidValue):
        return [
            n for node in _kinds_in(section) for n in settings_class(node).parameters_with(values)
        ]
    return []


def is_ros_own(name: str) -> bool:
    """Whether a parameter is one that every ROS node has."""
    return name in ROS_OWN or name.startswith(ROS_OWN_GROUPS)
