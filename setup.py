"""Build definition, for colcon and for pip."""

import ast
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections import defaultdict
from pathlib import Path

from setuptools import Distribution, find_packages, setup
from setuptools.command.build_py import build_py
from setuptools.command.develop import develop

try:
    from setuptools.command.bdist_wheel import bdist_wheel
except ImportError:  # before setuptools 70.1, as on Ubuntu 24.04; colcon makes no wheel
    bdist_wheel = None

NAME = "projected_control"

# colcon's --symlink-install runs a link to this file, in a folder without the others.
SOURCES = Path(__file__).resolve().parent

# Version, description, licence, maintainer and addresses are said there and nowhere else.
MANIFEST = ET.parse(SOURCES / "package.xml").getroot()
MAINTAINER = MANIFEST.find("maintainer")
ADDRESSES = {"website": "Homepage", "repository": "Source", "bugtracker": "Issues"}


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


def switch(variable: str, default: bool) -> bool:
    """A variable of the environment that is 1, 0 or not set."""
    value = os.environ.get(variable, "")
    if value not in ("", "0", "1"):
        raise SystemExit(f"{NAME}: {variable} must be 1 or 0, got {value!r}")
    return value == "1" if value else default


WITH_LOOP = switch("PROJECTED_CONTROL_LOOP", default=False)

# For the native loop in a wheel: the Pinocchio it is for, and headers that its wheels lack.
LOOP = ["pin==4.1.0", "cmeel-eigen>=3.4,<3.5"]


def build_libraries(folder: Path) -> None:
    """Put the library of kernels into a folder; with PROJECTED_CONTROL_LOOP=1 the native loop."""
    build_kernels(folder)
    if WITH_LOOP:
        command = [sys.executable, "-m", f"{NAME}.native.build", str(folder.absolute())]
        if subprocess.run(command, env=of_these_sources(), check=False).returncode:
            raise SystemExit(
                f"{NAME}: PROJECTED_CONTROL_LOOP is 1, and the native loop could not be built (see "
                f"above); it needs a C++ compiler and {', '.join(LOOP)}"
            )


def build_kernels(folder: Path) -> None:
    """Put the library of kernels into a folder, where it is not there already.

    That of an installed package of the same sources is taken; otherwise numba compiles it: that of
    this Python, or of the one that ``PROJECTED_CONTROL_BUILD_PYTHON`` names.
    """
    state = "from projected_control import kernel_library as k; "
    digest = answer(state + "print(k.digest())", of_these_sources())
    if digest and (folder / "digest").is_file() and (folder / "digest").read_text() == digest:
        return
    python = os.environ.get(BUILD_PYTHON)
    if not python:
        state += "print(k.digest(), k.is_built(k.BUILT), k.BUILT)"
        there, _, library = answer(state, dict(os.environ), cwd="/").partition(" True ")
        if digest and there == digest:
            print(f"{NAME}: kernels of the installed package, from {library}", file=sys.stderr)
            without_loop = shutil.ignore_patterns("*loop*", "*allocations*")
            shutil.copytree(library, folder, ignore=without_loop, dirs_exist_ok=True)
            return
    command = [python or sys.executable, "-m", f"{NAME}.native.worker", str(folder.absolute())]
    try:
        if subprocess.run(command, env=of_these_sources(), check=False).returncode == 0:
            return
    except OSError as error:
        print(f"{NAME}: {BUILD_PYTHON} cannot be run: {error}", file=sys.stderr)
    versions = ast.parse(Path(NAME, "tested_versions.py").read_text(encoding="utf-8")).body[1]
    numba, llvmlite = ast.literal_eval(versions.value)
    raise SystemExit(
        f"{NAME}: its kernels are compiled by numba, which could not be used (see above). Either\n"
        "  python3 -m venv kernels\n"
        f"  kernels/bin/pip install numpy numba=={numba} llvmlite=={llvmlite}\n"
        f"  export {BUILD_PYTHON}=$PWD/kernels/bin/python\n"
        "and build again; or take the library from the package of the same version:\n"
        f"  pip install --no-deps {NAME}=={MANIFEST.findtext('version')}\n"
        "and build again beside it."
    )


def of_these_sources() -> dict[str, str]:
    """The environment of a Python that imports the package as it lies here."""
    path = os.pathsep.join([str(Path.cwd()), os.environ.get("PYTHONPATH", "")])
    return {**os.environ, "PYTHONPATH": path.rstrip(os.pathsep)}


def answer(code: str, environment: dict[str, str], cwd: str | None = None) -> str:
    """What Python prints; nothing where it fails."""
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, env=environment, cwd=cwd, capture_output=True, text=True, check=False
    )
    return done.stdout.strip() if done.returncode == 0 else ""


class BuildLibraries(build_py):
    """The Python files, and the libraries beside them; in place where it is editable."""

    def run(self) -> None:
        super().run()
        editable = getattr(self, "editable_mode", False)
        build_libraries(KERNELS if editable else Path(self.build_lib) / KERNELS)


class DevelopLibraries(develop):
    """As colcon's --symlink-install runs it."""

    def run(self) -> None:
        build_libraries(KERNELS)
        super().run()


class WithLibrary(Distribution):
    """Not of Python alone."""

    def has_ext_modules(self) -> bool:
        return True


COMMANDS = {"build_py": BuildLibraries, "develop": DevelopLibraries}

if bdist_wheel is not None:

    class PlatformWheel(bdist_wheel):
        """One wheel for every Python, and for every Linux whose C library is new enough."""

        def get_tag(self) -> tuple[str, str, str]:
            return "py3", "none", platform_tag(super().get_tag()[2], Path(self.bdist_dir))

    COMMANDS["bdist_wheel"] = PlatformWheel


def platform_tag(platform: str, folder: Path) -> str:
    """manylinux with the newest symbols that the libraries in a folder ask of the C library."""
    found = [
        int(minor)
        for path in folder.rglob("*.so")
        for minor in re.findall(rb"GLIBC_2\.(\d+)", path.read_bytes())
    ]
    if not (found and platform.startswith("linux_")):
        return platform  # another C library, or no library yet (an editable install)
    return platform.replace("linux", f"manylinux_2_{max(17, *found)}", 1)


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
    """Build the plugins for ros2_control where its development files are.

    In a process of its own: what it imports need not be here. Where ros2_control is there and they
    cannot be built, so is the package not; ``PROJECTED_CONTROL_PLUGIN=0`` leaves them out.
    """
    if not {"bdist_wheel", "install", "develop"} & set(sys.argv):
        return []
    if why := reason_against_plugins():
        print(f"{NAME}: built without the plugins for ros2_control: {why}", file=sys.stderr)
        return []
    folder = Path("build", "plugins").absolute()
    command = [sys.executable, "-m", f"{NAME}.native.plugin_build"]
    command += [str(folder / "prefix"), str(folder / "build")]
    if subprocess.run(command, env=of_these_sources(), check=False).returncode:
        raise SystemExit(
            f"{NAME}: ros2_control is here, and its plugins could not be built (see above). Mend "
            "that (pip: with --no-build-isolation it sees this environment's Pinocchio), or leave "
            "them out: PROJECTED_CONTROL_PLUGIN=0"
        )
    found = defaultdict(list)
    for path in sorted((folder / "prefix").rglob("*")):
        if path.is_file():
            found[path.parent.relative_to(folder / "prefix").as_posix()].append(
                str(path.relative_to(Path.cwd()))
            )
    return list(found.items())


def reason_against_plugins() -> str:
    """Why they are not wanted; empty where they are."""
    if not switch("PROJECTED_CONTROL_PLUGIN", default=True):
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
    version=MANIFEST.findtext("version"),
    description=" ".join(MANIFEST.findtext("description").partition(":")[0].split()),
    long_description=(SOURCES / "README.md").read_text(encoding="utf-8"),
    long_description_content_type="text/markdown",
    author=MAINTAINER.text,
    maintainer=MAINTAINER.text,
    maintainer_email=MAINTAINER.get("email"),
    license=MANIFEST.findtext("license"),
    project_urls={
        ADDRESSES[address.get("type", "website")]: address.text
        for address in MANIFEST.findall("url")
    },
    classifiers=[
        "Development Status :: 4 - Beta",
        "Intended Audience :: Science/Research",
        "Operating System :: POSIX :: Linux",
        "Programming Language :: Python :: 3",
        "Programming Language :: C++",
        "Topic :: Scientific/Engineering",
        "Typing :: Typed",
    ],
    keywords="robotics, ROS 2, constrained dynamics, force control, projected inverse dynamics",
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
    cmdclass=COMMANDS,
    distclass=WithLibrary,
    zip_safe=False,
    python_requires=">=3.10",
    setup_requires=LOOP if WITH_LOOP else [],
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
        # What many runs need: their table, searches, sensitivities, clusters.
        "sweep": ["pyarrow>=15", "optuna>=4", "SALib>=1.5", "distributed>=2024.8"],
        # Another engine for simulated arms: simulation.engine mujoco.
        "mujoco": ["mujoco>=3.3"],
        # And engines to compare with: simulation.engine dart and pinocchio.
        "engines": ["mujoco>=3.3", "dartpy>=6.15"],
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
            "mpmath",
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
