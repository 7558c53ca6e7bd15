"""What can move a simulated arm: our own plant, or another engine behind the same face.

The word had another meaning once, for what makes the ticks of a loop; names of that meaning, in
files and scripts of before, are told apart here.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from projected_control.errors import InvalidValue
from projected_control.registry import Registry

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from projected_control.model.constrained_arm import ConstrainedArm
    from projected_control.model.friction import JointFriction
    from projected_control.simulation.plant import Plant
    from projected_control.simulation.surfaces import Extent, Surface

BUILT_IN = "built_in"  # name of our own

LOOP_ENGINES = ("numba", "native", "auto")
"""What once was called engine: who makes the ticks of a loop."""


class MakePlant(Protocol):
    """What makes a plant; see `Plant` for the arguments."""

    def __call__(
        self,
        model: ConstrainedArm,
        step: float = ...,
        *,
        friction: JointFriction = ...,
        contact_friction: float = ...,
        surface: Surface = ...,
        one_sided: Sequence[int] | None = ...,
        extents: Sequence[Extent | None] | None = ...,
        stops: ArrayLike | None = ...,
    ) -> Plant:
        """The plant, not reset yet."""


@dataclass(frozen=True)
class EngineKind:
    """An engine that a parameter file can name."""

    name: str  # in ``simulation.engine`` and ``--engine``
    summary: str  # what it is, in a few words
    # Returns the class, a `Plant`; refuses with how to install what is missing.
    load: Callable[[], MakePlant]


class Engines(Registry[EngineKind]):
    """Engines by name."""

    def __contains__(self, name: object) -> bool:
        if name in LOOP_ENGINES:
            raise InvalidValue(
                f"simulation.engine is what moves a simulated arm, one of {', '.join(self)}; "
                f"{name} was a choice of engine, which said what makes a loop's ticks and is no "
                "longer needed: leave it out"
            )
        return super().__contains__(name)


ENGINES = Engines("engine", "projected_control.engines")  # what ``simulation.engine`` can name


class FormerEngines(tuple[str, ...]):
    """What the former ``engine`` can name; names of `ENGINES` are told apart."""

    def __contains__(self, name: object) -> bool:
        if name and name not in LOOP_ENGINES and name in ENGINES:
            raise InvalidValue(
                f"engine said what makes a loop's ticks, and is no longer needed; {name} moves a "
                "simulated arm: say simulation.engine, or --engine of demo"
            )
        return super().__contains__(name)


FORMER_ENGINES = FormerEngines(LOOP_ENGINES)


def _built_in() -> MakePlant:
    from projected_control.simulation.plant import Plant

    return Plant


def _mujoco() -> MakePlant:
    from projected_control.simulation.mujoco_plant import MujocoPlant

    return MujocoPlant


def _dart() -> MakePlant:
    from projected_control.simulation.dart_plant import DartPlant

    return DartPlant


def _pinocchio() -> MakePlant:
    from projected_control.simulation.pinocchio_plant import PinocchioPlant

    return PinocchioPlant


ENGINES.add(EngineKind(BUILT_IN, "our own plant: rigid constraints, fourth order", _built_in))
ENGINES.add(EngineKind("mujoco", "MuJoCo: stiff constraints, first order", _mujoco))
ENGINES.add(EngineKind("dart", "DART, as in Gazebo: impulses, first order; a bare arm", _dart))
ENGINES.add(
    EngineKind("pinocchio", "Pinocchio's constraintDynamics, fourth order; a bare arm", _pinocchio)
)


def make_plant(engine: str, model: ConstrainedArm, step: float, **parts: Any) -> Plant:
    """A plant of the engine of this name; ``parts`` as for `Plant`."""
    return ENGINES[engine].load()(model, step, **parts)
