"""Build definition, for colcon and for pip."""

import ast
import sys
from collections import defaultdict
from pathlib import Path

from setuptools import find_packages, setup

NAME = "projected_control"


def node_names() -> list[str]:
    """The nodes, as the records in settings/nodes.py name them; it cannot be imported here."""
    tree = ast.parse(Path(NAME, "settings", "nodes.py").read_text(encoding="utf-8"))
    constants = {
        target.id: statement.value.value
        for statement in tree.body
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)
        for target in statement.targets
        if isinstance(target, ast.Name)
    }
    controllers = [
        constants[call.args[0].id]
        for call in ast.walk(tree)
        if isinstance(call, ast.Call) and getattr(call.func, "id", "") == "ControllerKind"
    ]
    return [*controllers, constants["ARM"], constants["WATCHDOG"]]


NODES = node_names()
EXECUTABLES = [*NODES, "projected-control"]

# ROS 2 Jazzy from PyPI. Pinned together: a part left free is upgraded to another distribution.
ROS_JAZZY = [
    "ros-rclpy[fastrtps]==7.1.6",
    *(f"ros-{name}==2.0.3" for name in ("rcl-interfaces", "lifecycle-msgs", "rosgraph-msgs")),
    *(
        f"ros-{name}==5.3.6"
        for name in (
            "std-msgs",
            "std-srvs",
            "sensor-msgs",
            "geometry-msgs",
            "trajectory-msgs",
            "diagnostic-msgs",
            "visualization-msgs",
        )
    ),
]

# `ros2 run` looks in lib/<package>/, where colcon puts the executables but pip does not.
LAUNCHER = """\
#!/bin/sh
exec "$(dirname "$0")/../../bin/$(basename "$0")" "$@"
"""


def shared_files() -> list[tuple[str, list[str]]]:
    """Launch files, configurations and descriptions, under share/ as they stand here."""
    folders = defaultdict(list)
    for top in ("launch", "config", "urdf", "worlds"):
        for path in sorted(Path(top).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                folders[f"share/{NAME}/{path.parent.as_posix()}"].append(str(path))
    return list(folders.items())


def launchers() -> list[tuple[str, list[str]]]:
    """Write one launcher per node, for a wheel."""
    folder = Path("build", "launchers")
    folder.mkdir(parents=True, exist_ok=True)
    for name in EXECUTABLES:
        (folder / name).write_text(LAUNCHER)
        (folder / name).chmod(0o755)
    return [(f"lib/{NAME}", [str(folder / name) for name in EXECUTABLES])]


setup(
    name=NAME,
    version="0.1.0",
    description="Motion and force control of constrained arms by projected dynamics",
    author="projected_control developers",
    maintainer="projected_control developers",
    maintainer_email="projected_control@example.com",
    license="BSD-3-Clause",
    packages=find_packages(include=[NAME, f"{NAME}.*"]),
    package_data={NAME: ["py.typed"], f"{NAME}.native": ["cpp/*"]},
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        *shared_files(),
        *(launchers() if "bdist_wheel" in sys.argv else []),
    ],
    zip_safe=False,
    python_requires=">=3.10",
    install_requires=[
        "numpy",
        "scipy",
        "pin>=3.0",  # Pinocchio
        "numba",
        "pyyaml",
        "xacro",
        "ruckig",
    ],
    extras_require={
        # What the command line draws and shows; the library and the nodes work without.
        "apps": ["matplotlib", "rich"],
        # Headers that Pinocchio's wheels lack, to build the native loop where there is a compiler.
        "native": ["cmeel-eigen>=3.4,<3.5"],
        "ros": ROS_JAZZY,
        # Descriptions of real arms, on which test/test_real_arms.py runs.
        "arms": ["example-robot-data>=4.3"],
        "test": [
            "cmeel-eigen>=3.4,<3.5",
            "pytest",
            "pytest-timeout",
            "hypothesis",
            "ruff",
            "mypy",
            "import-linter",
            "mujoco",
            "setuptools>=70.1",
        ],
    },
    entry_points={
        "console_scripts": [
            f"projected-control = {NAME}.apps.cli:main",
            *(f"{node} = {NAME}.ros.executables:{node}" for node in NODES),
        ],
    },
)
