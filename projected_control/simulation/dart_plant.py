"""A constrained arm that DART moves, the physics that Gazebo uses, behind the face of `Plant`.

DART works at the level of velocities: a step of Euler's without constraints, then the impulses that
take Φ̇ away, then positions with the new velocities. What of Φ is left comes back by a share a step
(``error reduction``).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from projected_control.extras import require
from projected_control.simulation.bare_plant import BarePlant
from projected_control.simulation.mechanism import Place, bodies_of, equalities_of

Array = NDArray[np.float64]

REDUCTION = 0.2  # share of an error of position that a step takes back
MIXING = 1e-9  # share of softness, the least that DART takes (``constraint force mixing``)


HEAVIER = 1e3
"""By how much carriages are heavier than in MuJoCo: softness is a share of how easily they move."""

LEAST = 1e-12  # mass of what lies between two joints of a body [kg]


class DartPlant(BarePlant):
    """An arm that DART moves, held as it is held in MuJoCo."""

    engine = "DART"

    def take_load(self) -> None:
        super().take_load()
        dart, mj = require("dartpy", "simulation.engine dart"), self.mj_model
        self._dart, self._arm = dart, dart.dynamics.Skeleton("arm")
        self._carried: dict[int, tuple[Any, Any]] = {0: (None, dart.math.Isometry3())}
        riding = {mj.body(carriage.body).id for carriage in self._holds.carriages}
        for body in bodies_of(mj):
            made, place = self._carried[body.parent]
            place = place.multiply(self._isometry(body.place))
            for each in body.joints:
                kind = "Prismatic" if each.slides else "Revolute"
                joint, made = getattr(self._arm, f"create{kind}JointAndBodyNodePair")(made)
                joint.setTransformFromParentBodyNode(place)
                joint.setAxis(each.axis)
                made.setInertia(dart.dynamics.Inertia(LEAST, np.zeros(3), LEAST * np.eye(3)))
                place = dart.math.Isometry3()
            if body.joints:
                more = HEAVIER if body.number in riding else 1.0
                mass, inertia = more * body.mass, more * body.inertia
                made.setInertia(dart.dynamics.Inertia(mass, body.lever, inertia))
                made.setGravityMode(body.number not in riding)
            self._carried[body.number] = made, place
        if any(joint.armature for body in bodies_of(mj) for joint in body.joints):
            self._refuse("armature", "inertia of rotors")
        self._equalities = equalities_of(mj, self.engine)
        self._world: Any = None

    def _isometry(self, place: Place) -> Any:
        found = self._dart.math.Isometry3()
        found.set_rotation(place.rotation)
        found.set_translation(place.position)
        return found

    def _correct(self) -> None:
        super()._correct()
        self._world = None

    def _make_world(self) -> Any:
        """The world, whose constraints hold what is together now."""
        world = self._dart.simulation.World()
        world.setTimeStep(self.step_size)
        world.setGravity(np.array(self.mj_model.opt.gravity))
        world.addSkeleton(self._arm)
        solver, kinds = world.getConstraintSolver(), self._dart.constraint
        self._arm.setPositions(self._qpos)
        for equality in self._equalities:
            bodies, point = [], None
            for number, at in (
                (equality.first, equality.at_first),
                (equality.second, equality.at_second),
            ):
                body, place = self._carried[number]
                place = place.multiply(self._isometry(at))
                if body is not None:
                    bodies.append(body)
                    point = body.getWorldTransform().multiply(place).translation()
            if equality.welded:
                held = kinds.WeldJointConstraint(*bodies)
            else:
                held = kinds.BallJointConstraint(*bodies, point)
            held.setErrorReductionParameter(REDUCTION)
            held.setConstraintForceMixing(MIXING)
            solver.addConstraint(held)
        return world

    def _go(self) -> Array:
        """Let DART make a step from where the arm is; its velocities before it."""
        if self._world is None:
            self._world = self._make_world()
        arm, before = self._arm, self._qvel.copy()
        arm.setPositions(self._qpos)
        arm.setVelocities(before)
        forces = np.zeros(before.size)
        forces[self._dofs] = self.terms.effort
        arm.setForces(forces)
        self._needed = forces - arm.getCoriolisAndGravityForces()
        self._M = arm.getMassMatrix()
        self._world.step(True)
        return before

    def _act(self) -> None:
        before = self._go()
        self._acceleration = (self._arm.getVelocities() - before) / self.step_size

    def _answer(self) -> tuple[Array, Array]:
        """Over a step, as impulses act in steps."""
        return self._acceleration, self._needed - self._M @ self._acceleration

    def _advance(self) -> None:
        self._go()
        self._qpos[:], self._qvel[:] = self._arm.getPositions(), self._arm.getVelocities()
