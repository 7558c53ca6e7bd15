"""What setup.py builds, takes from others, and refuses to build."""

import os
import re
import runpy
import shutil
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pinocchio
import pytest
import setuptools

from projected_control import kernel_library
from projected_control.compiled import COMPILED
from projected_control.control.references import ReferencePoint, SetPoint
from projected_control.errors import ProjectedControlError
from projected_control.native import build
from projected_control.native.toolchain import NoCompiler

ROOT = Path(__file__).parents[1]


@pytest.fixture
def definition(monkeypatch):
    """The names of setup.py, which sets nothing up here."""
    said = {}
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(sys, "argv", ["setup.py"])
    monkeypatch.setattr(setuptools, "setup", said.update)
    names = runpy.run_path("setup.py")
    return SimpleNamespace(**names, said=said)


@pytest.mark.parametrize("variable", ["PROJECTED_CONTROL_LOOP", "PROJECTED_CONTROL_PLUGIN"])
def test_a_switch_is_one_or_zero(definition, monkeypatch, variable):
    """A word that means neither ends the build instead of counting as nothing."""
    for value, found in (("", True), ("1", True), ("0", False)):
        monkeypatch.setenv(variable, value)
        assert definition.switch(variable, default=True) is found
    monkeypatch.setenv(variable, "yes")
    with pytest.raises(SystemExit, match=f"{variable} must be 1 or 0, got 'yes'"):
        definition.switch(variable, default=True)


# Kernels


@pytest.fixture
def here(monkeypatch, tmp_path):
    """A folder to build in; another Python has neither numba nor this package."""
    monkeypatch.delenv("PROJECTED_CONTROL_BUILD_PYTHON", raising=False)
    return tmp_path / "lib"


def python_that(tmp_path, does):
    path = tmp_path / "other_python"
    path.write_text(f"#!/bin/sh\n{does}\n")
    path.chmod(0o755)
    return str(path)


def installed_package(tmp_path, digest):
    """As pip would have installed it, of sources with this digest."""
    site = tmp_path / "site"
    ignore = shutil.ignore_patterns("lib", "__pycache__")
    shutil.copytree(ROOT / "projected_control", site / "projected_control", ignore=ignore)
    library = site / "projected_control" / "native" / "lib"
    shutil.copytree(kernel_library.folder(), library)
    (library / "digest").write_text(digest, encoding="utf-8")
    (library / build.LOOP).touch()
    return site


@pytest.mark.skipif(not COMPILED, reason="the kernels run as NumPy")
def test_kernels_of_an_installed_package_of_the_same_sources(
    definition, here, monkeypatch, tmp_path, capsys
):
    """Ubuntu 24.04 has no numba; the native loop is another Pinocchio's, and stays behind."""
    site = installed_package(tmp_path, kernel_library.digest())
    monkeypatch.setenv("PYTHONPATH", str(site))
    definition.build_kernels(here)
    assert kernel_library.is_built(here)
    assert "kernels of the installed package" in capsys.readouterr().err
    assert not (here / build.LOOP).exists()


def test_a_python_with_numba_is_named(definition, here, monkeypatch, tmp_path):
    """It is asked, and no other; it imports the sources that are built."""
    does = f'echo "$@" > {tmp_path}/asked; echo "$PYTHONPATH" >> {tmp_path}/asked'
    monkeypatch.setenv("PROJECTED_CONTROL_BUILD_PYTHON", python_that(tmp_path, does))
    definition.build_kernels(here)
    arguments, path = (tmp_path / "asked").read_text().splitlines()
    assert arguments == f"-m projected_control.native.worker {here}"
    assert path.split(os.pathsep)[0] == str(ROOT)


@pytest.mark.parametrize("python", ["", "/nowhere/python"])
def test_without_numba_both_ways_are_named(definition, here, monkeypatch, tmp_path, python, capfd):
    """A package of other sources does not serve; a Python that is not there does not, either."""
    monkeypatch.setenv("PYTHONPATH", str(installed_package(tmp_path, "0" * 64)))
    none = python_that(tmp_path, "echo there is no numba >&2; exit 1")
    monkeypatch.setenv("PROJECTED_CONTROL_BUILD_PYTHON", python or none)
    with pytest.raises(SystemExit, match=r"kernels/bin/pip install numpy numba==") as failed:
        definition.build_kernels(here)
    assert "export PROJECTED_CONTROL_BUILD_PYTHON=$PWD/kernels/bin/python" in str(failed.value)
    assert "pip install --no-deps projected_control==" in str(failed.value)
    assert ("cannot be run" if python else "there is no numba") in capfd.readouterr().err
    assert not here.exists()


# Plugins


@pytest.fixture
def ros2_control(monkeypatch, tmp_path):
    """Its development files, as far as can be seen; with them no plugin can be built."""
    (tmp_path / "ros" / "share" / "controller_interface" / "cmake").mkdir(parents=True)
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path / "ros"))
    monkeypatch.delenv("PROJECTED_CONTROL_PLUGIN", raising=False)


@pytest.mark.parametrize("command", ["bdist_wheel", "install", "develop"])
@pytest.mark.usefixtures("ros2_control")
def test_beside_ros2_control_the_plugins_are_built_or_nothing(
    definition, monkeypatch, command, capfd
):
    monkeypatch.setattr(sys, "argv", ["setup.py", command])
    with pytest.raises(SystemExit, match="leave them out: PROJECTED_CONTROL_PLUGIN=0"):
        definition.plugins()
    assert re.search("no folder of AMENT_PREFIX_PATH|CMake was not found", capfd.readouterr().err)


@pytest.mark.usefixtures("ros2_control")
def test_plugins_can_be_left_out(definition, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["setup.py", "install"])
    monkeypatch.setenv("PROJECTED_CONTROL_PLUGIN", "0")
    assert definition.plugins() == []
    assert "built without the plugins" in capsys.readouterr().err
    monkeypatch.delenv("PROJECTED_CONTROL_PLUGIN")
    monkeypatch.setenv("AMENT_PREFIX_PATH", "")
    assert definition.plugins() == []
    assert "development files were not found" in capsys.readouterr().err


# Wheels


def test_the_tag_says_which_c_library_is_needed(definition, tmp_path):
    (tmp_path / "a.so").write_bytes(b"\0GLIBC_2.2.5\0GLIBC_2.29\0")
    (tmp_path / "b.so").write_bytes(b"\0GLIBC_2.3.4\0GLIBC_2.31\0GLIBCXX_3.4.29\0")
    assert definition.platform_tag("linux_x86_64", tmp_path) == "manylinux_2_31_x86_64"
    (tmp_path / "b.so").unlink()
    assert definition.platform_tag("linux_aarch64", tmp_path) == "manylinux_2_29_aarch64"
    (tmp_path / "a.so").write_bytes(b"libc.musl\0")
    assert definition.platform_tag("linux_x86_64", tmp_path) == "linux_x86_64"


def test_the_manifest_says_who_and_what(definition):
    """Once, in package.xml."""
    said = definition.said
    assert said["maintainer"] == said["author"] == definition.MAINTAINER.text
    assert set(said["project_urls"]) == {"Homepage", "Source", "Issues"}
    assert said["description"] == (
        "Motion and force control of constrained arms by projected dynamics"
    )
    assert "@" not in (ROOT / "setup.py").read_text(encoding="utf-8").replace("$@", "")
    assert said["long_description"].startswith("# projected_control")


def test_it_may_be_a_link(monkeypatch, tmp_path):
    """As colcon's --symlink-install runs it: beside links to what is installed, and no others."""
    for name in ("setup.py", "projected_control", "package.xml"):
        (tmp_path / name).symlink_to(ROOT / name)
    said = {}
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", ["setup.py"])
    monkeypatch.setattr(setuptools, "setup", said.update)
    runpy.run_path("setup.py")
    assert said["version"]
    assert said["long_description"].startswith("# projected_control")


# The native loop of a wheel


@pytest.fixture
def packed(monkeypatch, tmp_path):
    """A folder as a wheel has it; no compiler."""
    for name in (build.LOOP, build.NOTE, kernel_library.LIBRARY):
        (tmp_path / name).touch()
    monkeypatch.setattr(kernel_library, "folder", lambda: tmp_path)

    def none():
        raise NoCompiler("no C++ compiler was found")

    monkeypatch.setattr(build, "compiler", none)
    sources = build._sources(tmp_path).hexdigest()

    def note(version=pinocchio.__version__, of=sources):
        (tmp_path / build.NOTE).write_text(f"{of} {version}")

    return tmp_path, note


def test_a_wheel_has_the_loop_for_its_pinocchio(packed):
    folder, note = packed
    note()
    assert build.loop_folder() == folder


@pytest.mark.parametrize(
    ("differs", "words"),
    [
        ({"version": "3.9.9"}, f"is for Pinocchio 3.9.9, and loaded is {pinocchio.__version__}"),
        ({"of": "0" * 64}, "was built from other sources"),
    ],
)
def test_another_pinocchio_or_source_is_refused(packed, differs, words):
    """With both reasons: it does not fit, and there is nothing to build another with."""
    _, note = packed
    note(**differs)
    with pytest.raises(NoCompiler, match=f"{words}; no C\\+\\+ compiler was found"):
        build.loop_folder()


# What has no key of rosdep


def test_without_ruckig_it_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "ruckig", None)
    here = ReferencePoint(*np.zeros((3, 1)))
    with pytest.raises(ProjectedControlError, match="--user --break-system-packages ruckig"):
        SetPoint(here, [1.0])


# Releases


def test_workflows_and_pixi_call_targets_that_there_are():
    """They do what `make` does, and nothing else."""
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M))
    files = [ROOT / "pixi.toml", *(ROOT / ".github" / "workflows").glob("*.yml")]
    called = {name: set(re.findall(r"\bmake ([a-z-]+)", name.read_text())) for name in files}
    assert len(files) == 3
    assert all(called.values())
    assert set().union(*called.values()) <= targets
    assert {"demo", "test"} <= called[ROOT / "pixi.toml"]


def test_a_release_is_refused_until_all_say_the_same(tmp_path):
    """Tag, manifest, citation and changelog; and the addresses must be real."""
    problems = runpy.run_path(str(ROOT / "test" / "release_check.py"))["problems"]
    names = ("package.xml", "CITATION.cff", "CHANGELOG.md")
    texts = {name: (ROOT / name).read_text(encoding="utf-8") for name in names}
    version = re.search("<version>(.*)</version>", texts["package.xml"])[1]
    texts["package.xml"] = texts["package.xml"].replace("example.com", "example.org")
    texts["CHANGELOG.md"] = f"## [{version}] - 2026-11-18\n"
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    assert list(problems(tmp_path, f"v{version}")) == []
    (tmp_path / "CHANGELOG.md").write_text(f"## [{version}] - unreleased\n", encoding="utf-8")
    (tmp_path / "CITATION.cff").write_text("version: 0.0.9\n", encoding="utf-8")
    (tmp_path / "package.xml").write_text(
        texts["package.xml"].replace("example.org", "example.com"), encoding="utf-8"
    )
    tag, citation, changes, addresses = problems(tmp_path, "v9.9.9")
    assert f"it should be v{version}" in tag
    assert version in citation
    assert version in changes
    assert addresses.count("example.com") == 4
