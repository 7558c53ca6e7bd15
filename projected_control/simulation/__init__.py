"""The plant: an arm that moves on its constraint when efforts act on it.

Integrators with drift correction, friction and sensors belong here. As an arm that a control loop
can be run on it is `ports.SimulatedArm`; where it may start is for `planning`.
"""

from projected_control.model.friction import FRICTIONLESS, JointFriction
from projected_control.simulation.engines import BUILT_IN, ENGINES, make_plant
from projected_control.simulation.integrators import DORMAND_PRINCE, RK4, TABLEAUX, Tableau
from projected_control.simulation.plant import Plant, PlantState
from projected_control.simulation.sensors import Encoders, ForceSensor, Motors

__all__ = [
    "BUILT_IN",
    "DORMAND_PRINCE",
    "ENGINES",
    "FRICTIONLESS",
    "RK4",
    "TABLEAUX",
    "Encoders",
    "ForceSensor",
    "JointFriction",
    "Motors",
    "Plant",
    "PlantState",
    "Tableau",
    "make_plant",
]
