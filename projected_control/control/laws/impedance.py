"""Impedance: a spring and a damper between the coordinates and their reference.

Coordinates may be joints (joint impedance) or the place and orientation of a frame (Cartesian);
F_ext is the force of the surroundings in their directions, e = θ_d − θ. With the inertia that the
arm has there (natural), or with another one (shaped):

    natural:  Λ (θ̈ − θ̈_d)   = K e + D ė + F_ext,      Λ = (J Φ Jᵀ)⁺,   Φ = M_c⁻¹ P
              f∥ = P (h + M u_p + Jᵀ (K e + D ė)),      J u_p = θ̈_d − J̇ q̇
    shaped:   Λ_d (θ̈ − θ̈_d) = K e + D ė + F_ext
              f∥ = P (h − τ_ext + M u_p),    J u_p = θ̈_d + Λ_d⁻¹ (K e + D ė + F_ext) − J̇ q̇

Under a constraint the projector leaves the spring along it only, and across it the force loop goes
on (Lin and others 2018, Xin and others 2019); coordinates that the constraint holds still do no
harm. Without the projector (P = I) the law knows of no constraint, and a force on it is what
controllers for ROS 2 offer: f = … + Aᵀλ_d, open-loop. The null space is that of
`operational_space`: N M (u_p − w) = 0.

**Damping by ratio.** D = 2ζ Λ # K, with the geometric mean of the two matrices,

    Λ # K = L (Lᵀ Λ⁻¹ L)^-½ Lᵀ,    K = L Lᵀ,

the one matrix with which every mode of Λ, K has the damping ratio ζ, wherever the arm is (double
diagonalisation, Albu-Schäffer and others 2003). It needs Λ⁻¹ only, which the constraint may make
singular.

**Shaping needs τ_ext**, which the disturbance observer estimates (`disturbance.kind: observer`);
it holds below that one's bandwidth. All of h is cancelled: at the port (F_ext, θ̇) the shaped law
stores ½ ėᵀΛ_d ė + ½ eᵀKe and never gives more energy away than that; the natural one stores
½ ėᵀΛė + ½ eᵀKe and does not as long as D ≥ ½ Λ̇, that is unless it moves very fast.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.compiled import compiled
from projected_control.control.compensation import compensate_friction
from projected_control.control.controllers import Controller, SampledLoop, refuse_passive
from projected_control.control.disturbance import Disturbance, DisturbanceKind, take_disturbance
from projected_control.control.force import ForceGains
from projected_control.control.gains import BLEND_SECONDS, MotionGains
from projected_control.control.impedance_stability import (
    IMMOBILE,
    ImpedanceLoop,
    impedance_loop,
)
from projected_control.control.law_kinds import (
    FORCE,
    LAWS,
    MOTION,
    PASSIVE,
    Law,
    LawKind,
    LawRequest,
)
from projected_control.control.laws.operational_space import follow_levels
from projected_control.control.laws.passive import press
from projected_control.control.motion import (
    INDEPENDENCE_TOLERANCE,
    brake,
    carry_all,
    find_effort,
    invert_motion,
    keep_all,
    stop_damping,
    tracking_error,
)
from projected_control.control.rejoining import followed_error
from projected_control.control.task_axes import into_coordinates, locate_axes, write_axes
from projected_control.control.task_terms import TaskTerms, unpack_task
from projected_control.control.terms import ControlTerms
from projected_control.declaration import (
    Group,
    OneOrMore,
    called,
    is_given,
    key_of,
    parameter,
)
from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import ConstrainedArm, Terms
from projected_control.model.dynamics import Regularisation, constraint_inertia
from projected_control.model.linalg import (
    axpy,
    cholesky,
    copy,
    dot,
    fill,
    matmul,
    matvec,
    matvec_add,
    matvec_transposed,
    matvec_transposed_add,
    solve_columns,
    svd,
)
from projected_control.model.on_constraint import find_acceleration, free_part
from projected_control.model.projection import pseudo_inverse
from projected_control.model.span import unpack_svd

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Impedance(Group):
    """The behaviour asked for, in the axes of a frame; k coordinates.

    Each of stiffness, damping and inertia is one number for all coordinates, one each, or a
    symmetric positive definite matrix: k × k, or its k² numbers row by row. Damping and inertia may
    be None as well as empty. Between a length and an angle the stiffness is in N/rad.
    """

    stiffness: OneOrMore = parameter(
        (100.0,),
        "K, one number, one per coordinate, or a symmetric positive definite matrix row by row",
        "N/m or N·m/rad",
        minimum=-1e6,
        maximum=1e6,
        live=True,
    )
    damping_ratio: float = parameter(
        1.0,
        "ζ of every mode, wherever the arm is, unless impedance.damping is given",
        minimum=0.0,
        maximum=10.0,
        live=True,
    )
    damping: OneOrMore | None = parameter(
        (),
        "D, given as stiffness is, not negative; empty for damping by ratio",
        "N·s/m or N·m·s/rad",
        minimum=-1e6,
        maximum=1e6,
        live=True,
    )
    inertia: OneOrMore | None = parameter(
        (),
        "Λ_d, given as stiffness is, positive definite; needs disturbance.kind observer, which "
        "tells the force of the surroundings. Empty for the inertia that the arm has",
        "kg or kg·m²",
        minimum=-1e6,
        maximum=1e6,
        live=True,
    )
    frame: str = parameter(
        "",
        "Frame in whose axes these matrices are, for coordinates link.x, link.y, link.z and "
        "link.rx, link.ry, link.rz; empty for the world's",
    )

    def __post_init__(self) -> None:
        validate.not_negative("damping ratio", self.damping_ratio)
        for name in ("stiffness", "damping", "inertia"):
            if getattr(self, name) is not None and np.ndim(getattr(self, name)) > 2:
                raise InvalidValue(f"{name} must be a number, a list or a matrix")

    @property
    def shaped(self) -> bool:
        """Whether the inertia is another one than the arm's."""
        return is_given(self.inertia)

    @property
    def by_ratio(self) -> bool:
        """Whether the damping follows from its ratio and the arm's inertia, tick by tick."""
        return not is_given(self.damping) and not self.shaped

    def matrices(self, k: int) -> tuple[Array, Array, Array | None]:
        """K, D (zero where it follows from the ratio and the arm's inertia) and Λ_d.

        Raises:
            InvalidValue: Where one is not finite, of the wrong size, not symmetric or not positive.
        """
        K = self._matrix("stiffness", k)
        inertia = self._matrix("inertia", k) if self.shaped else None
        if is_given(self.damping):
            return K, self._matrix("damping", k, semi=True), inertia
        if inertia is None:
            return K, np.zeros((k, k)), None
        return K, 2.0 * self.damping_ratio * geometric_mean(inertia, K), inertia

    def array(self, k: int) -> Array:
        """`ControlTerms.impedance`: K, D, Λ_d⁻¹ row by row, and ζ where the tick finds D."""
        K, D, inertia = self.matrices(k)
        compliance = np.zeros((k, k)) if inertia is None else np.linalg.inv(inertia)
        ratio = self.damping_ratio if self.by_ratio else 0.0
        return np.concatenate([K.reshape(-1), D.reshape(-1), compliance.reshape(-1), [ratio]])

    def _matrix(self, name: str, k: int, *, semi: bool = False) -> Array:
        try:
            return definite_matrix(called(self, name), getattr(self, name), k, semi=semi)
        except InvalidValue as error:
            error.key = key_of(self, name)
            raise


def definite_matrix(name: str, value: ArrayLike, k: int, *, semi: bool = False) -> Array:
    """A symmetric positive definite k × k matrix of one number, k numbers or k² numbers.

    Args:
        name: What it is called in the error.
        value: The numbers.
        k: How many coordinates.
        semi: Whether zero is positive enough.
    """
    numbers = np.asarray(value, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise InvalidValue(f"{name} must be finite, got {numbers.tolist()}")
    if numbers.shape == (k, k) or numbers.size == k * k:
        matrix = numbers.reshape(k, k)
    elif numbers.size in (1, k) and numbers.ndim < 2:
        matrix = np.diag(np.broadcast_to(numbers.reshape(-1), (k,)))
    else:
        raise InvalidValue(
            f"{name} must be one number, {k} numbers, one per coordinate, or a matrix of {k} × {k} "
            f"= {k * k} numbers, got {numbers.size}"
        )
    if np.abs(matrix - matrix.T).max() > 1e-9 * max(np.abs(matrix).max(), 1e-300):
        raise InvalidValue(f"{name} must be symmetric, got {matrix.tolist()}")
    matrix = 0.5 * (matrix + matrix.T)
    lowest, highest = np.linalg.eigvalsh(matrix)[[0, -1]]
    least = -1e-12 * abs(highest) if semi else 1e-12 * abs(highest)
    if not (lowest >= least if semi else lowest > least):
        asked = "must not be negative" if semi else "must be positive definite"
        raise InvalidValue(f"{name} {asked}, but has the eigenvalue {lowest:.4g}")
    return matrix


def geometric_mean(A: Array, B: Array) -> Array:
    """A # B = A^½ (A^-½ B A^-½)^½ A^½ of two positive definite matrices."""
    L = np.linalg.cholesky(B)
    sizes, axes = np.linalg.eigh(L.T @ np.linalg.solve(A, L))
    mean = L @ (axes / np.sqrt(sizes)) @ axes.T @ L.T
    return np.asarray(0.5 * (mean + mean.T))


@compiled
def find_mobility(t: Terms, c: ControlTerms, s: TaskTerms) -> None:
    """answer = Φ Jᵀ and mobility = J Φ Jᵀ; Φ = M_c⁻¹ P, or M⁻¹ where the law is not projected."""
    n, k = t.v.size, t.theta.size
    if s.projected[0] != 0.0:
        fill(c.pressed, 0.0)
        for r in range(k):
            free_part(t, t.J_theta[r], c.net)
            find_acceleration(t, c.net, c.pressed, c.load)
            for i in range(n):
                s.answer[i, r] = c.load[i]
    else:
        for i in range(n):
            copy(t.M[i], t.M_c[i])
            for r in range(k):
                s.answer[i, r] = t.J_theta[r, i]
        solve_columns(t.M_c, s.answer)
    matmul(t.J_theta, s.answer, s.mobility)


@compiled
def damp_by_ratio(ratio: float, rate: Array, s: TaskTerms) -> None:
    """force += 2ζ (Λ # K) ė; modes that the constraint holds need none."""
    k = rate.size
    cholesky(s.K, s.L)
    matmul(s.mobility, s.L, s.buffer)
    for i in range(k):
        for j in range(k):
            total = 0.0
            for r in range(i, k):  # L is lower triangular
                total += s.L[r, i] * s.buffer[r, j]
            s.D[i, j] = total
    d = unpack_svd(s.scratch, k, k)
    svd(s.D, d.U, d.sigma, d.V)
    largest = 0.0
    for r in range(k):
        largest = max(largest, d.sigma[r])
    matvec_transposed(s.L, rate, s.share)
    fill(s.missing, 0.0)
    for r in range(k):
        if d.sigma[r] > IMMOBILE * largest:
            along = 2.0 * ratio * dot(d.V[r], s.share) / np.sqrt(d.sigma[r])
            axpy(along, d.V[r], s.missing)
    matvec_add(s.L, s.missing, s.force)


@compiled
def spring_force(t: Terms, c: ControlTerms, s: TaskTerms) -> None:
    """force = K e + D ė."""
    k = t.theta.size
    into_coordinates(c.impedance[: k * k], s, s.K)
    matvec(s.K, c.error[0], s.force)
    ratio = c.impedance[3 * k * k]
    if ratio > 0.0:
        find_mobility(t, c, s)
        damp_by_ratio(ratio, c.error[1], s)
    into_coordinates(c.impedance[k * k : 2 * k * k], s, s.D)
    matvec_add(s.D, c.error[1], s.force)


@compiled
def shape_inertia(t: Terms, c: ControlTerms, s: TaskTerms) -> None:
    """a ← a + Λ_d⁻¹ (force + F_ext), F_ext = (J Φ Jᵀ)⁺ J Φ τ_ext."""
    k = t.theta.size
    find_mobility(t, c, s)
    matvec_transposed(s.answer, s.external, s.share)
    pseudo_inverse(s.mobility, INDEPENDENCE_TOLERANCE, s.buffer, s.scratch)
    matvec_add(s.buffer, s.share, s.force)
    into_coordinates(c.impedance[2 * k * k : 3 * k * k], s, s.D)
    matvec_add(s.D, s.force, c.a)


@compiled
def take_external(stop: bool, t: Terms, c: ControlTerms, s: TaskTerms) -> None:
    """h ← h − τ_ext and τ_ext itself, as the observer has it, which waits in a stop alone."""
    fill(s.external, 0.0)
    if s.shaped[0] == 0.0:
        return
    copy(c.h, s.external)
    take_disturbance(t, c)
    axpy(-1.0, c.h, s.external)
    c.waits[0] = 1.0 if stop or c.limited[0] != 0.0 else 0.0


@compiled
def impedance_law(stop: bool, passive: NDArray[np.int64], t: Terms, c: ControlTerms) -> None:
    """Spring and damper along the constraint and a force across it; or all of it, open-loop."""
    s = unpack_task(c.task, t.v.size, t.theta.size)
    tracking_error(t, c)
    followed_error(stop_damping(c), t, c)
    invert_motion(s.projected[0] != 0.0, t, c)
    compensate_friction(stop, t, c)
    take_external(stop, t, c, s)
    fill(c.integral, 0.0)
    if stop:
        brake(t, c)
    else:  # not a function of its own, to which numba would hand on all of t, c and s: 0.6 µs
        spring_force(t, c, s)
        for i in range(c.a.size):
            c.a[i] = c.feedforward[i] - t.theta_bias[i]
        if s.shaped[0] != 0.0:
            shape_inertia(t, c, s)
        follow_levels(t, c, s)
        find_effort(t, c)
        if s.shaped[0] == 0.0:
            matvec_transposed_add(t.J_theta, s.force, c.full)
            free_part(t, c.full, c.tangent)
            c.as_asked[0] = 0.0
    if s.projected[0] != 0.0:
        press(stop, passive, t, c)
        return
    if stop:
        carry_all(t, c)
        return
    keep_all(t, c)
    for j in range(c.u_lambda.size):
        c.u_lambda[j] = c.controlled[j] * (1.0 - c.withheld[0]) * c.lambda_desired[j]
    matvec_transposed_add(t.A, c.u_lambda, c.normal)


@dataclass(frozen=True)
class ImpedanceSettings(Impedance):
    """What the law impedance behaves like, and in which directions."""

    projected: bool = parameter(
        True,
        "Along the constraint only, with the force loop across it; false for a law that knows of "
        "no constraint, and λ_d open-loop on top",
    )


class ImpedanceController(Controller):
    """A spring and a damper between the coordinates and their reference.

    Args:
        model: The arm, its constraint and its coordinates; some joints may be passive.
        impedance: Stiffness, damping, inertia.
        force_gains: On λ, or None where no force is controlled.
        period: Period of the loop [s].
        projected: Whether the law knows of the constraint: stiffness then acts along it only, and
            the force loop across it. Otherwise the force reference acts open-loop.
        gains: Of these, only the damping of the null space counts.

    Attributes:
        impedance: In force, or blending in.
    """

    needs_independence = False

    def __init__(
        self,
        model: ConstrainedArm,
        impedance: Impedance,
        force_gains: ForceGains | None = None,
        period: float = 1e-3,
        *,
        projected: bool = True,
        gains: MotionGains | None = None,
    ) -> None:
        super().__init__(model, gains or MotionGains(1.0, 1.0), period, Law.IMPEDANCE)
        assert model.coordinates is not None
        if not projected:
            refuse_passive(model)
            if impedance.shaped:
                raise InvalidValue(
                    "another inertia than the arm's needs the projected law: set projected, or "
                    "leave the inertia as it is",
                    key="impedance.inertia",
                )
        write_axes(model.arm, model.coordinates, impedance.frame, self.task)
        self.task.projected[0] = float(projected)
        self.task.shaped[0] = float(impedance.shaped)
        self._terms.impedance[:] = impedance.array(model.k)
        self.impedance = impedance
        self._close_force_loop(force_gains)
        self.feeds_force_back = projected
        self._terms.force_loop[0] = float(projected and force_gains is not None)

    def set_impedance(self, impedance: Impedance, seconds: float = BLEND_SECONDS) -> None:
        """Change stiffness, damping and inertia while running, over this time [s]."""
        numbers = self.check_impedance(impedance)
        self.mailbox.post("impedance", numbers, validate.not_negative("blend time", seconds))
        self.impedance = impedance

    def check_impedance(self, impedance: Impedance, delay: int | None = None) -> Array:
        """What `set_impedance` would blend to; raises where it would refuse it.

        That is, also, where the sampled loop would diverge at the present configuration, with this
        delay or, unless given, the one in force [samples].
        """
        if impedance.frame != self.impedance.frame or impedance.shaped != self.impedance.shaped:
            raise InvalidValue(
                "the frame of an impedance, and whether the inertia is shaped, cannot change while "
                "the controller runs: deactivate it first"
            )
        numbers = impedance.array(self.model.k)
        if self.model.M.any() and np.isfinite(self.model.M).all():  # it was evaluated
            self._loop(impedance, delay or self.delay).require_stable()
        return numbers

    def set_disturbance(self, disturbance: Disturbance, seconds: float = BLEND_SECONDS) -> None:
        if disturbance.number is DisturbanceKind.INTEGRAL:
            raise InvalidValue(
                "an impedance gives way to a force, which disturbance.kind integral would take "
                "back; use none"
            )
        if disturbance.observes and not self.impedance.shaped:
            raise InvalidValue(
                "disturbance.kind observer would cancel the force to which the impedance is to "
                "give way; use none, or shape the inertia (impedance.inertia), which needs it"
            )
        super().set_disturbance(disturbance, seconds)

    @property
    def mobility(self) -> Array:
        """Λ⁻¹ of the coordinates at the state last evaluated, k × k [1/kg, 1/(kg·m²)]."""
        model = self.model
        P = model.P if self.task.projected[0] else np.eye(model.n)
        M_c = constraint_inertia(Regularisation.INERTIA, model.M, P)
        found = model.J_theta @ np.linalg.solve(M_c, P @ model.J_theta.T)
        return np.asarray(0.5 * (found + found.T))

    def _loop(self, impedance: Impedance, delay: int) -> ImpedanceLoop:
        locate_axes(self.model.arm.placements, self.model.n, self._terms)
        turned = self.task.T.copy()
        return impedance_loop(impedance, self.mobility, turned, self.period, delay)

    def motion_loops(self, delay: int) -> list[tuple[SampledLoop, str]]:
        """One loop of all coordinates, at the state last evaluated, and one of the posture."""
        return [(self._loop(self.impedance, delay), ""), *self.posture_loops(self.gains, delay)]


def make_controller(asked: LawRequest) -> ImpedanceController:
    """As parameters say."""
    behaviour: ImpedanceSettings = asked.settings.impedance
    behaviour.array(asked.model.k)
    if behaviour.shaped and asked.settings.disturbance.kind != "observer":
        raise InvalidValue(
            "impedance.inertia needs to know the force of the surroundings: set "
            "disturbance.kind to observer, or leave impedance.inertia empty",
            key="impedance.inertia",
        )
    return ImpedanceController(
        asked.model,
        behaviour,
        asked.force_gains,
        asked.period,
        projected=behaviour.projected,
        gains=asked.gains,
    )


LAWS.add(
    LawKind(
        "impedance",
        "a spring and a damper between the coordinates and their reference (impedance.*)",
        Law.IMPEDANCE,
        (MOTION, FORCE, PASSIVE),
        kernel=impedance_law,
        make=make_controller,
        uses_gains=False,
    )
)
