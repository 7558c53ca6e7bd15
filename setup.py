"""Build definition, for colcon and for pip."""

import ast
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from pathlib import Path

from setuptools import Distribution, find_packages, setup
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build_py import build_py
from setuptools.command.develop import develop

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

# What the kernels are compiled with; pyproject.toml asks for the same when the package is built.
COMPILER = ["numba==0.68.1", "llvmlite==0.50.0"]

# `ros2 run` looks in lib/<package>/, where colcon puts the executables but pip does not.
LAUNCHER = """\
#!/bin/sh
exec "$(dirname "$0")/../../bin/$(basename "$0")" "$@"
"""


KERNELS = Path(NAME, "native", "lib")
BUILD_PYTHON = "PROJECTED_CONTROL_BUILD_PYTHON"


def build_kernels(folder: Path) -> None:
    """Put the library of kernels into a folder, where it is not there already.

    It is compiled by numba: of this Python, or of the one that ``PROJECTED_CONTROL_BUILD_PYTHON``
    names. Where there is none, the library of an installed package of the same sources is taken.
    """
    path = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
    ours = {**os.environ, "PYTHONPATH": path.rstrip(os.pathsep)}
    state = "from projected_control import kernel_library as k; "
    digest = answer(state + "print(k.digest())", ours)
    if digest and (folder / "digest").is_file() and (folder / "digest").read_text() == digest:
        return
    python = os.environ.get(BUILD_PYTHON) or sys.executable
    command = [python, "-m", f"{NAME}.native.worker", str(folder.absolute())]
    if subprocess.run(command, env=ours, check=False).returncode == 0:
        return
    elsewhere = answer(state + "print(k.BUILT, k.digest())", dict(os.environ), cwd="/").split()
    if digest and elsewhere[1:] == [digest]:
        shutil.copytree(elsewhere[0], folder, dirs_exist_ok=True)
        return
    versions = ast.parse(Path(NAME, "tested_versions.py").read_text(encoding="utf-8")).body[1]
    numba, llvmlite = ast.literal_eval(versions.value)
    raise SystemExit(
        f"{NAME}: its kernels are compiled by numba, which could not be used (see above). Either\n"
        "  python3 -m venv kernels\n"
        f"  kernels/bin/pip install numpy numba=={numba} llvmlite=={llvmlite}\n"
        f"  export {BUILD_PYTHON}=$PWD/kernels/bin/python\n"
        "and build again; or take the library from the package of the same version:\n"
        f"  pip install {NAME}\n"
        "and build again beside it."
    )


def answer(code: str, environment: dict[str, str], cwd: str | None = None) -> str:
    """What Python prints; nothing where it fails."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, env=environment, cwd=cwd, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else ""


class BuildKernels(build_py):
    """The Python files, and the library of kernels beside them; in place where it is editable."""

    def run(self) -> None:
        super().run()
        build_kernels(KERNELS if self.editable_mode else Path(self.build_lib) / KERNELS)


class DevelopKernels(develop):
    """As colcon's --symlink-install runs it."""

    def run(self) -> None:
        build_kernels(KERNELS)
        super().run()


class WithLibrary(Distribution):
    """Not of Python alone."""

    def has_ext_modules(self) -> bool:
        return True


class PlatformWheel(bdist_wheel):
    """One wheel for every Python: the library knows none."""

    def get_tag(self) -> tuple[str, str, str]:
        return "py3", "none", super().get_tag()[2]


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


def plugins() -> list[tuple[str, list[str]]]:
    """Build the plugins for ros2_control where they can be built; otherwise say why not.

    In a process of its own: what it imports need not be there, and it must not stop an install.
    ``PROJECTED_CONTROL_PLUGIN=0`` leaves them out.
    """
    if not {"bdist_wheel", "install", "develop"} & set(sys.argv):
        return []
    folder = Path("build", "plugins").absolute()
    why = reason_against_plugins()
    if not why:
        command = [sys.executable, "-m", f"{NAME}.native.plugin_build"]
        path = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
        done = subprocess.run(
            [*command, str(folder / "prefix"), str(folder / "build")],
            env={**os.environ, "PYTHONPATH": path},
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stderr.strip().splitlines()
        why = "" if done.returncode == 0 else "\n".join(said[-5:]) or "the build failed"
    if why:
        print(
            f"projected_control: built without the plugins for ros2_control: {why}", file=sys.stderr
        )
        return []
    found = defaultdict(list)
    for path in sorted((folder / "prefix").rglob("*")):
        if path.is_file():
            found[path.parent.relative_to(folder / "prefix").as_posix()].append(
                str(path.relative_to(Path.cwd()))
            )
    return list(found.items())


def reason_against_plugins() -> str:
    """Why they need not be tried; empty where they may be built."""
    if os.environ.get("PROJECTED_CONTROL_PLUGIN") == "0":
        return "PROJECTED_CONTROL_PLUGIN is 0"
    prefixes = os.environ.get("AMENT_PREFIX_PATH", "").split(os.pathsep)
    if not any(Path(prefix, "share/controller_interface/cmake").is_dir() for prefix in prefixes):
        return (
            "ros2_control's development files were not found in AMENT_PREFIX_PATH; with them, "
            "colcon build or projected-control plugin --prefix <folder> builds them"
        )
    return ""


setup(
    name=NAME,
    version="0.1.0",
    description="Motion and force control of constrained arms by projected dynamics",
    author="projected_control developers",
    maintainer="projected_control developers",
    maintainer_email="projected_control@example.com",
    license="BSD-3-Clause",
    packages=find_packages(include=[NAME, f"{NAME}.*"]),
    package_data={
        NAME: ["py.typed"],
        f"{NAME}.apps.view": ["page/*"],
        f"{NAME}.native": ["c/*", "cpp/*", "cpp/gazebo/*", "cpp/ros2_control/*"],
    },
    data_files=[
        ("share/ament_index/resource_index/packages", [f"resource/{NAME}"]),
        (f"share/{NAME}", ["package.xml"]),
        *shared_files(),
        *(launchers() if "bdist_wheel" in sys.argv else []),
        *plugins(),
    ],
    cmdclass={
        "bdist_wheel": PlatformWheel,
        "build_py": BuildKernels,
        "develop": DevelopKernels,
    },
    distclass=WithLibrary,
    zip_safe=False,
    python_requires=">=3.10",
    install_requires=[
        "numpy",
        "scipy",
        "pin>=3.0",  # Pinocchio
        "pyyaml",
        "xacro",
        "ruckig",
        "mcap",  # recordings
    ],
    extras_require={
        # What the command line draws and shows; the library and the nodes work without.
        "apps": ["matplotlib", "rich"],
        # What serves the live page.
        "view": ["aiohttp>=3.9"],
        # Headers that Pinocchio's wheels lack, to build the native loop where there is a compiler.
        "native": ["cmeel-eigen>=3.4,<3.5"],
        "ros": ROS_JAZZY,
        # Descriptions of real arms, on which test/test_real_arms.py runs.
        "arms": ["example-robot-data>=4.3"],
        # `make docs`: the documentation site.
        "docs": ["mkdocs>=1.6,<2", "mkdocs-material>=9.6", "mkdocstrings-python>=1.16"],
        "test": [
            "cmeel-eigen>=3.4,<3.5",
            *COMPILER,  # for kernels that are changed
            "pytest",
            "pytest-timeout",
            "pytest-xdist",
            "hypothesis",
            "ruff",
            "mypy",
            "import-linter",
            "dartpy",
            "mcap-ros2-support",
            "mujoco",
            "selenium",  # drives a browser through the live page, where there is one
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
