"""Versions of packages whose insides are used; tried with these, bit for bit."""

NUMBA, LLVMLITE = "0.68.1", "0.50.0"
"""What the library of kernels is compiled with (`native.numba_insides`)."""

ALSO = ("0.64.0",)
"""Other releases of numba with which it was made, to 1e-12."""
