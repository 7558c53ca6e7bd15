"""The model of a constrained arm."""
