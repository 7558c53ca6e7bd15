"""Projected inverse dynamics control of constrained arms."""

__version__ = "0.1.0"
