"""What the plugin does where an interface of ros2_control does not take a command, without one."""

from __future__ import annotations

import ctypes
import subprocess

import pytest

from projected_control.native.plugin_build import SOURCES
from projected_control.native.toolchain import NoCompiler, compiler

STAND_IN = """
#include <cstdint>
#include "interfaces.hpp"
struct Interface {  // that another thread holds for so many tries
  int64_t held;
  double value;
  bool set_value(double wanted) {
    if (held-- > 0) return false;
    value = wanted;
    return true;
  }
};
extern "C" int64_t give(int64_t n, const int64_t *held, double *values, int64_t patience_us,
                        int64_t *at_first) {
  std::vector<Interface> interfaces;
  for (int64_t i = 0; i < n; ++i) interfaces.push_back({held[i], values[i]});
  const auto taking = projected_control::set_all(
      interfaces, 0.0, std::chrono::microseconds(patience_us), std::chrono::microseconds(1));
  for (int64_t i = 0; i < n; ++i) values[i] = interfaces[i].value;
  *at_first = static_cast<int64_t>(taking.at_first);
  return static_cast<int64_t>(taking.never);
}
"""


@pytest.fixture(scope="module")
def give(tmp_path_factory):
    """Zero to interfaces with these efforts: their efforts then, and how many did not take it."""
    folder = tmp_path_factory.mktemp("interfaces")
    source, result = folder / "stand_in.cpp", folder / "libstand_in.so"
    source.write_text(STAND_IN)
    try:
        command = [compiler(), "-std=c++17", "-shared", "-fPIC", f"-I{SOURCES}"]
    except NoCompiler as error:
        pytest.skip(str(error))
    subprocess.run([*command, "-o", str(result), str(source)], check=True)
    library = ctypes.CDLL(str(result))
    library.give.restype = ctypes.c_int64

    def call(held: list[int], efforts: list[float], patience: float):
        n = len(held)
        values, at_first = (ctypes.c_double * n)(*efforts), ctypes.c_int64()
        never = library.give(
            ctypes.c_int64(n),
            (ctypes.c_int64 * n)(*held),
            values,
            ctypes.c_int64(round(1e6 * patience)),
            ctypes.byref(at_first),
        )
        return list(values), at_first.value, never

    return call


def test_the_last_zero_is_tried_again_where_it_is_not_taken(give):
    """The second joint's interface is held for thirty tries, the third's for one."""
    assert give([0, 30, 1], [5.0, -7.0, 2.0], patience=60.0) == ([0.0, 0.0, 0.0], 2, 0)


def test_an_interface_that_never_takes_it_ends_the_trying_and_is_counted(give):
    """All others have their zero all the same."""
    assert give([0, 2**60, 3], [5.0, -7.0, 2.0], patience=0.05) == ([0.0, -7.0, 0.0], 2, 1)


def test_where_all_take_it_nothing_is_waited_for(give):
    assert give([0, 0], [1.0, 2.0], patience=0.0) == ([0.0, 0.0], 0, 0)
