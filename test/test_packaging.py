"""What an installed package has to contain, for pip and for ROS 2."""

import configparser
import os
import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from email import message_from_string
from email.message import Message
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import pytest

from projected_control.settings.nodes import nodes

ROOT = Path(__file__).parents[1]
NODES = set(nodes())
DATA = "projected_control-0.1.0.data/data"
INFO = "projected_control-0.1.0.dist-info"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> ZipFile:
    """Built from a copy of the sources, so that nothing stale or new stands in the tree."""
    folder = tmp_path_factory.mktemp("wheel")
    ignore = shutil.ignore_patterns(".*", "build", "install", "log", "*.egg-info", "demo_output")
    shutil.copytree(ROOT, folder / "source", ignore=ignore)
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--quiet", "-w", str(folder)]
    if find_spec("setuptools.command.bdist_wheel"):
        command.append("--no-build-isolation")
    built = subprocess.run([*command, str(folder / "source")], capture_output=True, text=True)
    assert built.returncode == 0, built.stderr
    return ZipFile(next(folder.glob("*.whl")))


@pytest.fixture(scope="module")
def metadata(wheel) -> Message:
    return message_from_string(wheel.read(f"{INFO}/METADATA").decode())


@pytest.fixture(scope="module")
def manifest() -> ET.Element:
    return ET.parse(ROOT / "package.xml").getroot()


def test_shared_files(wheel):
    files = set(wheel.namelist())
    assert "projected_control/py.typed" in files
    assert f"{DATA}/share/ament_index/resource_index/packages/projected_control" in files
    assert f"{DATA}/share/projected_control/package.xml" in files
    assert f"{DATA}/share/projected_control/urdf/three_link_slider.urdf.xacro" in files
    for top in ("launch", "config", "urdf", "worlds"):
        for path in (ROOT / top).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                relative = path.relative_to(ROOT).as_posix()
                assert f"{DATA}/share/projected_control/{relative}" in files


def test_sources_of_the_native_loop(wheel):
    """It is built where it runs: all of its C++, and what other environments are asked with."""
    files = set(wheel.namelist())
    folder = ROOT / "projected_control" / "native" / "cpp"
    sources = [path for path in folder.rglob("*") if path.is_file()]
    assert len(sources) >= 5
    missing = [p.name for p in sources if p.relative_to(ROOT).as_posix() not in files]
    assert not missing
    assert {f"projected_control/apps/bench/{name}_peer.py" for name in ("placo", "tsid")} <= files


def test_the_live_page_is_whole(wheel):
    """All that the browser loads."""
    files = set(wheel.namelist())
    page = list((ROOT / "projected_control" / "apps" / "view" / "page").iterdir())
    assert {"index.html", "main.js", "style.css"} <= {path.name for path in page}
    assert [p.name for p in page if p.relative_to(ROOT).as_posix() not in files] == []


def test_executables(wheel):
    entry_points = configparser.ConfigParser()
    entry_points.read_string(wheel.read(f"{INFO}/entry_points.txt").decode())
    assert dict(entry_points["console_scripts"]) == {
        "projected-control": "projected_control.apps.cli:main",
        **{node: f"projected_control.ros.executables:{node}" for node in NODES},
    }
    for node in NODES:
        mode = wheel.getinfo(f"{DATA}/lib/projected_control/{node}").external_attr >> 16
        assert mode & 0o111 == 0o111


def test_manifests_agree(metadata, manifest):
    assert manifest.findtext("name") == metadata["Name"].replace("-", "_")
    assert manifest.findtext("version") == metadata["Version"]
    assert manifest.findtext("license") == (metadata["License-Expression"] or metadata["License"])
    assert manifest.find("maintainer").get("email") == metadata["Maintainer-email"]


NOT_ON_PYPI = {"controller_manager_msgs"}


def test_ros_dependencies_agree(metadata, manifest):
    """What the extra `ros` installs from PyPI is what package.xml asks of a ROS 2 install."""
    requirements = [r for r in metadata.get_all("Requires-Dist") if re.search("extra == .ros", r)]
    names = {re.match(r"ros-([a-z-]+)", r)[1].replace("-", "_") for r in requirements}
    keys = {element.text for element in manifest.iter("exec_depend")} - NOT_ON_PYPI
    assert all("==" in requirement.split(";")[0] for requirement in requirements)
    assert names == {k for k in keys if re.search(r"^rcl|_(msgs|srvs|interfaces)$", k)}


def test_an_editable_install_is_found_by_ros2_launch(wheel, tmp_path):
    """What pip leaves out of one stands there as links, the same files as in a wheel."""
    from projected_control.apps.launch.ament_links import link_package

    (tmp_path / "bin").mkdir()
    for name in (*NODES, "projected-control"):
        (tmp_path / "bin" / name).touch(mode=0o755)
    (tmp_path / "share" / "projected_control" / "config").mkdir(parents=True)
    gone = tmp_path / "share" / "projected_control" / "config" / "gone.yaml"
    gone.symlink_to(tmp_path / "nowhere")
    link_package(ROOT, tmp_path)
    link_package(ROOT, tmp_path)  # again, as after a change of setup.py
    assert not gone.is_symlink()
    there = {
        path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()
    }
    packed = {name.removeprefix(f"{DATA}/") for name in wheel.namelist() if name.startswith(DATA)}
    assert {name for name in there if not name.startswith("bin/")} == packed
    share = tmp_path / "share" / "projected_control"
    launch = [
        Path(folder, "gazebo.launch.py")
        for folder, _, files in os.walk(share)
        if "gazebo.launch.py" in files
    ]  # as ros2 launch looks for it
    assert launch == [share / "launch" / "gazebo.launch.py"]
    assert launch[0].resolve() == ROOT / "launch" / "gazebo.launch.py"


def test_make_links_what_an_editable_install_lacks():
    recipe = (ROOT / "Makefile").read_text(encoding="utf-8")
    install, link = "pip install --editable", "-m projected_control.apps.launch.ament_links"
    assert recipe.count(install) == recipe.count(link) == 1
    assert recipe.index(install) < recipe.index(link)


def test_no_page_replaces_the_editable_install_of_make():
    replaced = re.compile(r"\.venv/bin/(?:python -m )?pip install (?!.*--editable)['\"]?\.")
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
    assert [p.name for p in pages if replaced.search(p.read_text(encoding="utf-8"))] == []
