"""Independent coordinates θ(q): what one wants to move, in the directions the constraint leaves.

Each coordinate has a name, by which references refer to it: ``tip.x``, ``tip.angle``, ``joint_1``.
How the names in a parameter file are read is said by one record per kind, in `kinds`; kinds of
other packages come in through the entry points ``projected_control.coordinates``.
"""

from projected_control.model.coordinates.coordinate import CENTRE_OF_MASS, Coordinate, Coordinates
from projected_control.model.coordinates.kinds import (
    COORDINATES,
    CoordinateKind,
    PlaneSettings,
    coordinate_named,
)
from projected_control.model.coordinates.own import (
    ORIENTATION,
    OWN_COORDINATES,
    CoordinateSettings,
    own_coordinate,
    own_group,
)

__all__ = [
    "CENTRE_OF_MASS",
    "COORDINATES",
    "ORIENTATION",
    "OWN_COORDINATES",
    "Coordinate",
    "CoordinateKind",
    "CoordinateSettings",
    "Coordinates",
    "PlaneSettings",
    "coordinate_named",
    "own_coordinate",
    "own_group",
]
