"""The tick without Python: kernels exported ahead of time, and the C++ loop that calls them.

The kernels are those of the other packages, unchanged; nothing is computed here that is not
computed there. This package turns them into a shared library with a C header (`export`), builds the
native loop on top (`build`), loads both (`library`, `loop`) and lets a run use them (`engine`).
"""
