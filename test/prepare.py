"""Make what the tests need, once: the library of kernels and the native loop.

The first test of each process would wait for it otherwise. What goes wrong with the loop is no
failure: the tests that need it will say so.
"""

from projected_control import kernel_library
from projected_control.native import library

if __name__ == "__main__":
    kernel_library.load()
    print(library.reason_against() or "the native loop is there")
