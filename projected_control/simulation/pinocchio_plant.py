"""A constrained arm that Pinocchio's own constraint solver moves, behind the face of `Plant`.

``pinocchio.constraintDynamics`` finds q̈ and the forces of equalities together, by the proximal
method of Carpentier, Budhiraja and Mansard (2021); a Runge-Kutta step of fourth order integrates
it. What of the position's error is left Baumgarte's terms take back, at a rate that does not depend
on the step.
"""

from __future__ import annotations

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from projected_control.simulation.bare_plant import BarePlant
from projected_control.simulation.mechanism import Place, bodies_of, equalities_of

Array = NDArray[np.float64]

RATE = 100.0  # ω of the terms that take errors of position back: q̈ has −2ω Φ̇ − ω² Φ [1/s]

ACCURACY, MU, ITERATIONS = 1e-13, 1e-6, 30
"""Of the proximal method: when it ends, its damping, and its most steps."""


class PinocchioPlant(BarePlant):
    """An arm that Pinocchio moves, held as it is held in MuJoCo."""

    engine = "Pinocchio"

    def take_load(self) -> None:
        super().take_load()
        mj, made = self.mj_model, pin.Model()
        made.gravity.linear = np.array(mj.opt.gravity)
        carried: dict[int, tuple[int, pin.SE3]] = {0: (0, pin.SE3.Identity())}
        armature: list[float] = []
        for body in bodies_of(mj):
            joint, placement = carried[body.parent]
            placement = placement * _se3(body.place)
            for each in body.joints:
                unaligned = (
                    pin.JointModelPrismaticUnaligned
                    if each.slides
                    else pin.JointModelRevoluteUnaligned
                )
                joint = made.addJoint(joint, unaligned(each.axis), placement, each.name)
                placement = pin.SE3.Identity()
                armature.append(each.armature)
            inertia = pin.Inertia(body.mass, body.lever, body.inertia)
            made.appendBodyToJoint(joint, inertia, placement)
            carried[body.number] = joint, placement
        made.armature = np.array(armature)
        self.pin_model, self.pin_data = made, made.createData()
        self._contacts = pin.StdVec_RigidConstraintModel()
        for equality in equalities_of(mj, self.engine):
            kind = pin.ContactType.CONTACT_6D if equality.welded else pin.ContactType.CONTACT_3D
            first, at_first = carried[equality.first]
            second, at_second = carried[equality.second]
            held = pin.RigidConstraintModel(
                kind,
                made,
                first,
                at_first * _se3(equality.at_first),
                second,
                at_second * _se3(equality.at_second),
                pin.ReferenceFrame.LOCAL,
            )
            if hasattr(held, "corrector"):  # Pinocchio 3
                held.corrector.Kp[:], held.corrector.Kd[:] = RATE**2, 2.0 * RATE
            else:
                corrector = pin.BaumgarteCorrectorParameters(RATE**2, 2.0 * RATE)
                held.setBaumgarteCorrectorParameters(corrector)
            self._contacts.append(held)
        self._contact_data = pin.StdVec_RigidConstraintData()
        for held in self._contacts:
            self._contact_data.append(held.createData())
        pin.initConstraintDynamics(made, self.pin_data, self._contacts, self._contact_data)
        self._settings = pin.ProximalSettings(ACCURACY, MU, ITERATIONS)
        self._effort: Array = np.zeros(made.nv)

    def _accelerate(self, q: Array, v: Array) -> Array:
        return np.array(
            pin.constraintDynamics(
                self.pin_model,
                self.pin_data,
                q,
                v,
                self._effort,
                self._contacts,
                self._contact_data,
                self._settings,
            )
        )

    def _act(self) -> None:
        self._effort[self._dofs] = self.terms.effort
        self._acceleration = self._accelerate(self._qpos, self._qvel)

    def _answer(self) -> tuple[Array, Array]:
        needed = pin.rnea(self.pin_model, self.pin_data, self._qpos, self._qvel, self._acceleration)
        return self._acceleration, self._effort - needed

    def _advance(self) -> None:
        self._act()
        T, q, v = self.step_size, self._qpos.copy(), self._qvel.copy()
        rates, slopes = [v], [self._acceleration]
        for share in (0.5, 0.5, 1.0):
            rates.append(v + share * T * slopes[-1])
            slopes.append(self._accelerate(q + share * T * rates[-2], rates[-1]))
        for kept, now, k in ((self._qpos, q, rates), (self._qvel, v, slopes)):
            kept[:] = now + T / 6.0 * (k[0] + 2.0 * k[1] + 2.0 * k[2] + k[3])


def _se3(place: Place) -> pin.SE3:
    return pin.SE3(place.rotation, place.position)
