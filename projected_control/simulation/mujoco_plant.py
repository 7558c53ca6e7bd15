"""A constrained arm that MuJoCo moves, behind the face of `Plant`.

Effort, push, brakes, faults, sensors and motors are the same as on our own plant: they lie in the
workspace that both share. What differs is a step: MuJoCo's semi-implicit Euler, with constraints
that are stiff springs of its own (``solref``, ``solimp``) and the arm's inertias as Pinocchio has
them. F is what MuJoCo's equalities take from the joints; λ is F in our rows.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control.errors import SimulationFailed
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.friction import FRICTIONLESS, JointFriction
from projected_control.simulation.dry_friction import RATE
from projected_control.simulation.engine_kernels import observe_engine, take_engine_step
from projected_control.simulation.mujoco_base import FreeBase
from projected_control.simulation.mujoco_carriages import set_length
from projected_control.simulation.mujoco_holds import Holder
from projected_control.simulation.mujoco_model import (
    SOFTNESS,
    ArmSpec,
    import_mujoco,
    require_inertia,
    take_inertias,
)
from projected_control.simulation.mujoco_plates import require_short
from projected_control.simulation.mujoco_rubbing import Rubbing
from projected_control.simulation.plant import Plant, PlantState, row_laws
from projected_control.simulation.surfaces import RIGID, Extent, Row, Surface

Array = NDArray[np.float64]

IMPEDANCE = 0.9999
"""d, the hardest that MuJoCo takes (``solimp``): a share 1 − d of a force is lost to softness."""

FRICTION_IMPEDANCE = 0.999
"""The same of dry friction, which creeps by it: at some 1e-5 rad/s."""

TOUCH_IMPEDANCE = 0.9
"""The same of contacts, which there are only where they are pressed in: by some 1e-7 m at 10 N."""

NOSLIP = 10
"""Iterations that keep friction of contacts from creeping (``noslip_iterations``): a robot of 10 kg
that stands slid 3.6 mm in 4 s without them, and 2e-8 m with them."""

SHAPE = (0.001, 0.5, 2.0)
"""The rest of ``solimp``, which means nothing where the impedance is one number."""

STEPS = 2.0
"""Time constant of a constraint in steps (``solref``): the shortest that MuJoCo takes."""

TOLERANCE = 1e-15
"""Of MuJoCo's solver."""

OFF = 1e-2
"""‖Φ‖ from which the arm counts as off its constraint, which is soft here."""


class MujocoPlant(Plant):
    """An arm in MuJoCo.

    Args:
        model: Arm and constraint; what MuJoCo cannot hold is refused with the reason.
        step: Step of the integration [s].
        friction: Friction of the joints.
        contact_friction: µ at the constraint's frame, which rubs along what holds it.
        surface, one_sided, extents: As for `Plant`; a plane that gives, or that can be left, is a
            plate (see `mujoco_plates`), and anything else is refused; a plane that ends is a box.
        stops: Where the joints meet their stops, lower above upper [rad or m]; None for none.

    Attributes:
        mj_model, mj_data: MuJoCo's own, for what is not offered here.
    """

    def __init__(
        self,
        model: ConstrainedArm,
        step: float = 1e-3,
        *,
        friction: JointFriction = FRICTIONLESS,
        contact_friction: float = 0.0,
        surface: Surface = RIGID,
        one_sided: Sequence[int] | None = None,
        extents: Sequence[Extent | None] | None = None,
        stops: ArrayLike | None = None,
    ) -> None:
        units = () if model.constraint is None else model.constraint.row_units
        laws, sides = row_laws(units, surface, one_sided)
        mujoco = self._mujoco = import_mujoco()
        require_inertia(model.arm.update(model.arm.q, model.arm.v))
        spec = ArmSpec(model.arm)
        self._holds = holds = Holder(spec, laws, sides, surface, extents or ()).add(
            model.constraint
        )
        self._touches = any(plate.touched for plate in holds.plates)
        require_short(holds.plates, surface, step)
        off, option = mujoco.mjtDisableBit, spec.spec.option
        option.tolerance, option.cone = TOLERANCE, mujoco.mjtCone.mjCONE_ELLIPTIC
        option.disableflags |= int(off.mjDSBL_AUTORESET)
        if not self._touches:
            option.disableflags |= int(off.mjDSBL_CONTACT)
        self.mj_model = m = spec.spec.compile()
        self.mj_data = d = mujoco.MjData(m)
        base = model.arm.base_size
        names = model.arm.joint_names[base:]
        dofs = [*range(base), *(m.joint(name).dofadr[0] for name in names)]
        ordered = dofs == list(range(model.n))
        self._dofs = slice(0, model.n) if ordered else np.array(dofs)
        self._base = FreeBase(m, d, [m.joint(name).qposadr[0] for name in names]) if base else None
        self._riding = [
            np.array([m.joint(name).dofadr[0] for name in carriage.joints], dtype=np.int64)
            for carriage in self._holds.carriages
        ]
        self._places = [riding + (1 if base else 0) for riding in self._riding]
        self._qpos, self._qvel, self._applied = d.qpos, d.qvel, d.qfrc_applied
        self._qacc, self._held_by = d.qacc, d.qfrc_constraint
        self._made, self._acted = False, False
        super().__init__(
            model,
            step,
            friction=friction,
            contact_friction=contact_friction,
            surface=surface,
            one_sided=one_sided,
            stops=stops,
            correct_position=False,
            correct_velocity=False,
        )
        self._harden(stops)
        self.take_load()

    def _harden(self, stops: ArrayLike | None) -> None:
        """Constraints, friction and stops as hard as the step allows."""
        m, T = self.mj_model, self.step_size
        m.opt.timestep = T
        m.eq_solref[:] = m.geom_solref[:] = m.dof_solref[:] = [STEPS * T, 1.0]
        m.eq_solimp[:] = [IMPEDANCE, IMPEDANCE, *SHAPE]
        m.geom_solimp[:] = [TOUCH_IMPEDANCE, TOUCH_IMPEDANCE, *SHAPE]
        m.dof_solimp[:] = [FRICTION_IMPEDANCE, FRICTION_IMPEDANCE, *SHAPE]
        m.jnt_solref[:] = [T / RATE, 1.0]
        for plate in self._holds.plates:
            if plate.joint:
                spring = m.joint(plate.joint)
                m.jnt_stiffness[spring.id] = self.surface.K
                m.dof_damping[spring.dofadr[0]] = plate.damping
        if stops is None:
            return
        lower, upper = np.asarray(stops, dtype=np.float64)
        base = self.model.arm.base_size
        for i, name in enumerate(self.model.arm.joint_names[base:], start=base):
            joint = m.joint(name).id
            if np.isfinite([lower[i], upper[i]]).any():
                m.jnt_limited[joint] = 1
                m.jnt_range[joint] = np.nan_to_num([lower[i], upper[i]], posinf=1e9, neginf=-1e9)

    def take_load(self) -> None:
        """Compute with the masses that the arm has now (see `Arm.set_payload`)."""
        bodies = [self.mj_model.body(c.body).id for c in self._holds.carriages]
        take_inertias(self.mj_model, self.mj_data, self.model.arm, bodies)
        if self._touches:  # MuJoCo's own softness, without which a contact comes and goes
            self.mj_model.body_invweight0[:] /= SOFTNESS
        for equality, length in self._holds.lengths.items():
            set_length(self.mj_model, equality, length)
        self._made = self._acted = False

    @property
    def friction(self) -> JointFriction:
        """Friction of the joints; may be changed at any time."""
        return self._friction

    @friction.setter
    def friction(self, friction: JointFriction) -> None:
        coulomb, viscous, blend, static, _ = friction.of_joints(self.model.n)
        m = self.mj_model
        m.dof_damping[self._dofs] = viscous
        m.dof_frictionloss[self._dofs] = coulomb if friction.sticks else 0.0
        self._smooth = bool(coulomb.any()) and not friction.sticks
        self._varies = friction.sticks and bool((static > coulomb).any())
        self._viscous, self._blend = viscous, blend
        Plant.friction.fset(self, friction)  # type: ignore[attr-defined]

    @property
    def contact_friction(self) -> float:
        """µ at the constraint's frame; may be changed at any time."""
        return float(self.terms.contact[0])

    @contact_friction.setter
    def contact_friction(self, mu: float) -> None:
        Plant.contact_friction.fset(self, mu)  # type: ignore[attr-defined]
        self._rubbing: Rubbing | None = None
        for dofs in self._riding:
            self.mj_model.dof_frictionloss[dofs] = 0.0
        self.mj_model.geom_friction[:, 0] = mu
        self.mj_model.geom_condim[:] = 3 if mu > 0.0 else 1
        self.mj_model.opt.noslip_iterations = NOSLIP if self._touches and mu > 0.0 else 0
        constraint = self.model.constraint
        if (
            mu > 0.0
            and not self._touches
            and constraint is not None
            and constraint.frame is not None
        ):
            riding = [
                dofs
                for carriage, dofs in zip(self._holds.carriages, self._riding, strict=True)
                if carriage.frame == constraint.frame and carriage.stands
            ]
            place = self.model.arm.attachment(constraint.frame)
            self._rubbing = Rubbing(self.mj_model, self.mj_data, riding, place)

    def reset(self, q: ArrayLike, v: ArrayLike | None = None, time: float = 0.0) -> PlantState:
        self.mj_data.qacc_warmstart[:] = 0.0
        return super().reset(q, v, time)

    def _correct(self) -> None:
        """After a reset: our state into MuJoCo's, where the carriages follow."""
        d, m, mujoco = self.mj_data, self.mj_model, self._mujoco
        model = self.model
        self._v[:] = model.P @ self._v + model.A_pinv @ model.terms.target[1]
        d.time = self.time
        d.qpos[:] = d.qvel[:] = 0.0
        if self._base is None:
            d.qpos[self._dofs], d.qvel[self._dofs] = self._q, self._v
        else:
            self._base.put(self._q, self._v, self._dofs)
        for carriage, places in zip(self._holds.carriages, self._places, strict=True):
            d.qpos[places] = carriage.settle(model.arm)
        self._move(self.time)
        riding = np.concatenate([np.zeros(0, np.int64), *self._riding])
        if riding.size and m.neq:
            mujoco.mj_fwdPosition(m, d)
            J = self._jacobian()[: d.ne]
            pulled = J[:, self._dofs] @ d.qvel[self._dofs]
            d.qvel[riding] = np.linalg.lstsq(J[:, riding], -pulled, rcond=None)[0]
        self._made = self._acted = False

    def _jacobian(self) -> Array:
        """Of MuJoCo's rows."""
        m, d, mujoco = self.mj_model, self.mj_data, self._mujoco
        if not mujoco.mj_isSparse(m):
            return np.asarray(d.efc_J).reshape(-1, m.nv)
        J = np.zeros((d.nefc, m.nv))
        mujoco.mju_sparse2dense(J, d.efc_J, d.efc_J_rownnz, d.efc_J_rowadr, d.efc_J_colind)
        return J

    def _move(self, time: float) -> None:
        """Put constraints that move where they have to be.

        MuJoCo knows no rate of them: a spring of stiffness k and damping b that is to follow x is
        told x + (b ẋ + ẍ)/k.
        """
        if not self._holds.movers or self.model.constraint is None:
            return
        target = self.model.constraint.target(time)
        if target is None:
            return
        constant = IMPEDANCE * STEPS * self.step_size
        k, b = IMPEDANCE / constant**2, 2.0 / constant
        lead = target.x + (b * target.x_rate + target.x_acceleration) / k
        for mover in self._holds.movers:
            x = lead if mover.lead is None else target.x + mover.lead * target.x_rate
            mover.apply(self.mj_model, self.mj_data, x[mover.rows])

    def _look(self) -> None:
        """MuJoCo's positions and velocities, and its constraints there, once per state."""
        if not self._made:
            if self._holds.movers:
                self._move(self.time)
            self._mujoco.mj_step1(self.mj_model, self.mj_data)
            self._made, self._acted = True, False

    def _load(self) -> None:
        """Give MuJoCo the effort, and friction that is not a number of its model."""
        effort = self.terms.effort
        if self._smooth:  # linear in q̇ over the step, so that MuJoCo takes it implicitly
            level, ratio = self._friction.level(self._v), self._v / self._blend
            slope = level / self._blend / np.cosh(np.minimum(np.abs(ratio), 300.0)) ** 2
            self.mj_model.dof_damping[self._dofs] = self._viscous + slope
            effort = effort - level * np.tanh(ratio) + slope * self._v
        elif self._varies:
            self.mj_model.dof_frictionloss[self._dofs] = self._friction.level(self._v)
        self._applied[self._dofs] = effort
        if self._base is not None:
            self._applied[:3] = self._base.rotation @ effort[:3]

    def _act(self) -> None:
        """q̈ and forces of MuJoCo under the effort, where it stands."""
        m, d, mujoco = self.mj_model, self.mj_data, self._mujoco
        self._look()
        self._load()
        mujoco.mj_fwdActuation(m, d)
        mujoco.mj_fwdAcceleration(m, d)
        mujoco.mj_fwdConstraint(m, d)
        self._acted = True

    @property
    def state(self) -> PlantState:
        """Everything at this instant; raises where the arm has left its constraint."""
        found = super().state
        if not found.residual <= OFF:
            raise SimulationFailed(
                f"the arm left its constraint in MuJoCo at t = {self.time:.6g} s: it is off by "
                f"{found.residual:.3g} at q = {found.q.tolist()}; its constraints are springs, "
                "which a smaller simulation.step makes harder"
            )
        return found

    def _observe(self) -> None:
        n, model, terms = self.model.n, self.model, self.terms
        self._act()
        acceleration, held = self._answer()
        terms.slope[:n], terms.slope[n : 2 * n] = self._v, acceleration[self._dofs]
        terms.force[:] = held[self._dofs]
        if self._base is not None:
            self._base.turn(terms.force, self._v, terms.slope)
        terms.contact_force[:] = 0.0 if self._rubbing is None else self._rubbing.force()
        if self._touches and self.contact_friction > 0.0:
            terms.contact_force[:] = self._friction_at_contacts()
        model.prepare(self._q, self._v, self.time)
        observe_engine(self.sizes, self.work, *model.arguments)
        if self._holds.plates:
            self._observe_plates()

    def _observe_plates(self) -> None:
        """‖Φ‖ is of rows that hold on both sides, and what presses on plates rubs there."""
        terms = self.terms
        held = [law is Row.HELD for law in self.laws]
        terms.residual[0] = np.linalg.norm(self.model.residual[held])
        terms.pressing[0] = np.linalg.norm(terms.contact_rows * terms.multipliers)

    def _answer(self) -> tuple[Array, Array]:
        """Accelerations, and what equalities take from the joints, of all that moves in MuJoCo."""
        d = self.mj_data
        if d.ne == d.nefc:
            return self._qacc, -self._held_by
        touching = int(self._mujoco.mjtConstraint.mjCNSTR_CONTACT_FRICTIONLESS)
        hold = (np.arange(d.nefc) < d.ne) | (d.efc_type >= touching)
        return self._qacc, -(d.efc_force[hold] @ self._jacobian()[hold])

    def _friction_at_contacts(self) -> Array:
        """Of what touches, on the arm, in world axes [N]."""
        total, force = np.zeros(3), np.zeros(6)
        for i in range(self.mj_data.ncon):
            touch = self.mj_data.contact[i]
            self._mujoco.mj_contactForce(self.mj_model, self.mj_data, i, force)
            arm_is_second = (
                self.mj_model.geom_type[touch.geom2] == self._mujoco.mjtGeom.mjGEOM_SPHERE
            )
            side = 1.0 if arm_is_second else -1.0
            total += side * (force[1:3] @ np.reshape(touch.frame, (3, 3))[1:])
        return total

    @property
    def touching(self) -> Array:
        """Forces of all that touches at the last step: along the normal, and two across it [N]."""
        force, found = np.zeros(6), np.zeros((self.mj_data.ncon, 3))
        for i, each in enumerate(found):
            self._mujoco.mj_contactForce(self.mj_model, self.mj_data, i, force)
            each[:] = force[:3]
        return found

    @property
    def force_below(self) -> Array:
        """On the springs of plates; without plates what holds the arm [N or N·m]."""
        found = super().force_below
        for plate in self._holds.plates:
            if plate.joint:
                joint = self.mj_model.joint(plate.joint)
                place, rate = joint.qposadr[0], self._qvel[joint.dofadr[0]]
                depth = self._qpos[place] - self.mj_model.qpos_spring[place]
                found[plate.row] = self.surface.K * depth + plate.damping * rate
        return found

    def _advance(self) -> None:
        """One step."""
        self._look()
        self._load()
        if self._rubbing is not None:
            self._rubbing.bound(self.terms.contact[0] * self.terms.pressing[0])
        self._mujoco.mj_step2(self.mj_model, self.mj_data)

    def step(self, effort: ArrayLike | None = None) -> None:
        """Apply joint efforts [N·m or N] for one step; those applied last unless given."""
        if effort is not None:
            self.apply(effort)
        if self._holds.movers and not self._acted:
            self._observe()  # for the work that they do
        self._advance()
        self._made = self._acted = False
        if self._base is None:
            q, v = self._qpos[self._dofs], self._qvel[self._dofs]
        else:
            q, v = self._base.state(self._dofs)
        if not take_engine_step(self.sizes, self.work, q, v, self.model.arguments.sizes):
            raise SimulationFailed(
                f"MuJoCo left the finite numbers at t = {self.time:.6g} s; use a smaller "
                "simulation.step"
            )
