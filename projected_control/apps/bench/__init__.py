"""Measurements, one subcommand of ``projected-control bench`` each.

A measurement is a module here, named in `MEASUREMENTS`, with the two functions of a subcommand (see
`apps.commands`): ``add_parser(subparsers)`` and ``run(args)``. What it imports at its
top is imported for every ``--help``: leave heavy imports to `run`.
"""

MEASUREMENTS = ("tick", "faults")
"""Modules of this package that are measurements, as they stand in the help."""
