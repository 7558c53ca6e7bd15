"""Versions of packages whose insides are used; tried with these, bit for bit."""

NUMBA, LLVMLITE = "0.68.1", "0.50.0"
"""For kernels that are compiled in parts (`kernel_parts`) and for their export (`native`)."""
