"""What counts when the same parameter is given in several places, and where each value came from.

The order is: defaults, the preset, one's own files, the command line; later ones win. `check`, the
launch files and the demo all put their settings together here.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from projected_control.errors import InvalidValue, ProjectedControlError
from projected_control.resources import PRESETS, share_file
from projected_control.settings.declaration import Value
from projected_control.settings.files import (
    Given,
    ParameterFile,
    combined,
    one_namespace,
    read_file,
)
from projected_control.settings.nodes import (
    ARM,
    CONTROLLERS,
    FORCE,
    ControllerSettings,
    NodeSettings,
    SimulatedArmSettings,
    checked,
    settings_class,
)

DEFAULT = "default"


@dataclass(frozen=True)
class Layers:
    """Sources of parameters, in the order in which they count."""

    # Files that were read, the preset first, and values by full name: of the command line, of
    # a launch file, of a case.
    layers: tuple[ParameterFile | Mapping[str, Given], ...] = ()
    # Of the nodes that are meant; None for the one for which the files have sections.
    namespace: str | None = None

    @classmethod
    def read(
        cls,
        files: Iterable[Path | str],
        preset: str = "",
        more: Mapping[str, Given] | None = None,
    ) -> Layers:
        """Read a preset, by name or path, and files; all are checked for unknown names."""
        paths = [preset_file(preset)] if preset else []
        return cls().with_files([*paths, *files]).with_given(more or {})

    @property
    def files(self) -> list[ParameterFile]:
        """Those that were read."""
        return [layer for layer in self.layers if isinstance(layer, ParameterFile)]

    def with_files(self, files: Iterable[Path | str]) -> Layers:
        """The same with what files say on top."""
        read = [read_file(path) for path in files]
        for file in read:
            file.require_known()
        return replace(self, layers=(*self.layers, *read))

    def with_given(self, given: Mapping[str, Given]) -> Layers:
        """The same with more values on top, each with where it came from."""
        return replace(self, layers=(*self.layers, dict(given)))

    def on_top(self, values: Mapping[str, Value], origin: str) -> Layers:
        """The same with more values on top."""
        return self.with_given({name: Given(value, origin) for name, value in values.items()})

    def of_node(self, name: str) -> tuple[Layers, str]:
        """The same for a node by its full name, and its kind: /left/force_controller."""
        namespace, _, kind = f"/{name.strip('/')}".rpartition("/")
        return replace(self, namespace=namespace or self.namespace), kind

    def of_controller(self, name: str | None) -> tuple[Layers, str]:
        """`of_node`; unless named, the one that a file has a section for, else force control."""
        sections = [section for file in self.files for section, _ in file.sections]
        kinds = [kind for each in sections if (kind := each.rpartition("/")[2]) in CONTROLLERS]
        return self.of_node(name or (kinds[0] if kinds else FORCE))

    def given(self, node: str) -> dict[str, Given]:
        """What is given to a node, and where."""
        kind = settings_class(node)
        namespace = self.namespace
        if namespace is None:
            found = {name for file in self.files for name in file.namespaces(node)}
            paths = ", ".join(str(file.path) for file in self.files)
            namespace = one_namespace(node, found, paths)
        everything = combined(
            layer.given(node, namespace) if isinstance(layer, ParameterFile) else layer
            for layer in self.layers
        )
        return {name: g for name, g in everything.items() if kind.parameter(name) is not None}

    def values(self, node: str) -> dict[str, Value]:
        """What is given to a node."""
        return {name: given.value for name, given in self.given(node).items()}

    def settings(self, node: str) -> NodeSettings:
        """The complete settings of a node; raises where a value is wrong, with its place."""
        kind, everything, values = settings_class(node), self.given(node), {}
        plain = {name: given.value for name, given in everything.items()}
        for name, given in everything.items():
            try:
                table = kind.parameters_with(plain)
                if name not in table:
                    raise kind.unknown(name, plain)
                values[name] = table[name].check(given.value)
            except ProjectedControlError as error:
                raise InvalidValue(f"{given.origin}: {error}") from None
        origins = {name: given.origin for name, given in everything.items()}
        return checked(node, values).from_origins(origins)

    def controller(self, node: str) -> ControllerSettings:
        """The complete settings of a controller node."""
        settings = self.settings(node)
        if not isinstance(settings, ControllerSettings):
            raise InvalidValue(f"{node} is no controller")
        return settings

    def arm(self) -> SimulatedArmSettings:
        """The complete settings of the simulated arm."""
        settings = self.settings(ARM)
        assert isinstance(settings, SimulatedArmSettings)
        return settings

    def origins(self, node: str) -> dict[str, str]:
        """Where each value of a node comes from."""
        given = self.given(node)
        table = settings_class(node).parameters_with(self.values(node))
        return {name: given[name].origin if name in given else DEFAULT for name in table}

    def table(self, node: str) -> list[str]:
        """Every value of a node and where it came from, one line each."""
        values, origins = self.settings(node).values(), self.origins(node)
        rows = [(name, _text(values[name]), origins[name]) for name in values]
        widths = [max(len(row[column]) for row in rows) for column in (0, 1)]
        return [f"{name:{widths[0]}}  {text:{widths[1]}}  {at}" for name, text, at in rows]


def preset_file(name: str) -> Path:
    """The parameter file of a preset: by name from config/presets/, or by path."""
    if Path(name).suffix in (".yaml", ".yml"):
        return Path(name).expanduser()
    if name not in PRESETS:
        raise InvalidValue(
            f"the preset {name!r} is neither a path to a .yaml file nor one of {', '.join(PRESETS)}"
        )
    return share_file("config", "presets", f"{name}.yaml")


def _text(value: Value, most: int = 40) -> str:
    if isinstance(value, Sequence) and not isinstance(value, str):
        text = f"[{', '.join(_text(item) for item in value)}]"
    elif isinstance(value, bool):
        text = str(value).lower()
    elif isinstance(value, str):
        text = value or '""'
    else:
        text = f"{value:g}"
    text = " ".join(text.split())
    return text if len(text) <= most else f"{text[: most - 1]}…"
