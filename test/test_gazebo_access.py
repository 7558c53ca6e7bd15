"""What Python says to the compiled library for Gazebo, with a library of the same interface."""

from __future__ import annotations

import subprocess

import numpy as np
import pytest

from projected_control.errors import ProjectedControlError
from projected_control.native import gazebo_build
from projected_control.native.toolchain import NoCompiler, compiler
from projected_control.ros.gazebo_joints import CompiledJoints

STAND_IN = """
#include <cstring>
#include <cstdio>
#include "arm_access.h"
static double kept[8];
static int64_t joints;
static int32_t status = 1;
void *projected_control_access_open(uint64_t entity, int64_t n, const char *const *names,
                                    const char *sensor, char *message, int64_t size) {
  joints = n;
  if (entity != 5 || n != 2 || std::strcmp(names[1], "elbow") || !sensor) {
    std::snprintf(message, size, "the model has no joint %s", names[1]);
    return nullptr;
  }
  return kept;
}
int32_t projected_control_access_read(void *access, double *q, double *v, double *wrench) {
  for (int i = 0; i < joints; ++i) { q[i] = 1 + i; v[i] = 10 * (1 + i); }
  for (int i = 0; i < 6; ++i) { wrench[i] = 100 + i + static_cast<double *>(access)[0]; }
  return status == 1 ? (status = 2, 1) : (status == 2 ? (status = 0, 2) : 0);
}
void projected_control_access_write(void *access, const double *efforts) {
  std::memcpy(access, efforts, joints * sizeof(double));
}
void projected_control_access_close(void *) {}
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    folder = tmp_path_factory.mktemp("access")
    source, result = folder / "stand_in.cpp", folder / "libstand_in.so"
    source.write_text(STAND_IN)
    try:
        command = [compiler(), "-std=c++17", "-shared", "-fPIC", f"-I{gazebo_build.SOURCES}"]
    except NoCompiler as error:
        pytest.skip(str(error))
    subprocess.run([*command, "-o", str(result), str(source)], check=True)
    return str(result)


def test_joints_and_wrench_are_read_and_efforts_written(library):
    """The first step has no positions, the second no wrench."""
    joints = CompiledJoints(library, 5, ["shoulder", "elbow"], "sensor")
    assert not joints.read(None)
    assert joints.read(None)
    assert joints.wrench() is None
    assert joints.read(None)
    assert joints.q.tolist() == [1.0, 2.0]
    assert joints.v.tolist() == [10.0, 20.0]
    assert joints.wrench().tolist() == [100.0, 101.0, 102.0, 103.0, 104.0, 105.0]
    joints.force[:] = 0.5, -0.5
    joints.write(None)
    joints.read(None)
    np.testing.assert_array_equal(joints.wrench(), 100.5 + np.arange(6))


def test_what_the_library_does_not_find_is_said(library):
    with pytest.raises(ProjectedControlError, match="the model has no joint wrist"):
        CompiledJoints(library, 5, ["shoulder", "wrist"], "sensor")


def test_without_development_files_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setattr(gazebo_build, "_prefixes", lambda: iter([tmp_path]))
    with pytest.raises(gazebo_build.NoGazebo, match="apt install libgz-sim8-dev"):
        gazebo_build.find_development_files()


def test_development_files_of_ros_vendor_packages_are_found(monkeypatch, tmp_path):
    """With ROS 2 every library of Gazebo has a prefix of its own below opt/."""
    vendor = tmp_path / "opt" / "gz_sim_vendor"
    folder = vendor / "lib" / "cmake" / "gz-sim8"
    folder.mkdir(parents=True)
    (folder / "gz-sim8-config.cmake").touch()
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    monkeypatch.setenv("CMAKE_PREFIX_PATH", "")
    found = gazebo_build.find_development_files()
    assert (found.package, found.folder) == ("gz-sim8", folder)
    assert vendor in found.prefixes
