"""The constraint force λ: from a sensor, from the model, or from the arm's momentum.

This is the one place where it is decided what λ is, from the raw wrench and after this tick's
kinematics.

* ``sensor``: the wrench w at a frame, turned into world axes, gives λ = W⁺ w. Column i of W is the
  wrench that λ_i = 1 exerts on the surroundings (see `Constraint.multiplier_map`).
* ``model``: F = (I − P)(f − h − M q̈), with q̈ what the effort f in force gives (Aghili 32).
* ``momentum``: compares the arm's momentum p = M q̇ with what it should have become,

      r = K [p − p₀ − ∫ (f + Cᵀq̇ − g + r) dτ],    −r → F,    τ ṙ + r = −F with τ = 1/K,

  so that it also sees what the model does not know (friction, a push), late by 1/K, and without
  differentiating the velocity (De Luca and Mattone, 2003).

In both of the latter λ = A⁺ᵀ (F − F₀), F₀ being what they show without contact (see `runs.tare`),
and friction that the controller compensates is known. A second estimate r, with a bandwidth of its
own, serves as disturbance observer whatever λ comes from (see `disturbance`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from numpy.typing import ArrayLike, NDArray

from projected_control import validate
from projected_control.control.force_kernels import (
    COMPARE_EVERY,
    SENSOR_NUMBERS,
    SOURCE,
    SOURCES,
    SourceKind,
    SourceTerms,
    find_force,
    follow_bends,
)
from projected_control.control.wrench_map import WRENCH, write_map
from projected_control.errors import InvalidValue, UnknownName
from projected_control.model.constrained_arm import ConstrainedArm

Array = NDArray[np.float64]

WORLD = ""  # stands for the world's axes where the name of a frame is expected


_NO_WRENCH = np.full(6, np.nan)
_AXES, _OFFSET, _TOOL, _JOINT = slice(0, 9), slice(9, 15), slice(15, 19), 19
_EFFORT_TARE = slice(SENSOR_NUMBERS, None)  # where things lie in `SourceTerms.sensor`

_SENSOR, _MOMENTUM = int(SourceKind.SENSOR), int(SourceKind.MOMENTUM)


class ForceSource:
    """Where a control loop takes λ from.

    Args:
        model: The arm and its constraint.
        kind: One of `SOURCES`, or none at all for an arm without a constraint.
        frame: Where the sensor sits; the constraint's own frame unless given.
        bandwidth: K/2π of the momentum observer [Hz].
        period: Time between ticks [s].

    Attributes:
        number: A `SourceKind`, for the compiled tick; zero where there is no λ to find.
        work: All the source knows and remembers, for the compiled tick.
        coriolis: Pinocchio's C, n × n, which `prepare` has computed where it is needed.
        observes: Whether the momentum is followed for a disturbance observer too.
        computed_in_python: Whether W⁺ is worked out in Python in every tick.
        post: How what is known of the sensor reaches the tick; None where nothing ticks, and it is
            in force at once.
    """

    def __init__(
        self,
        model: ConstrainedArm,
        kind: str = "sensor",
        *,
        frame: str | None = None,
        bandwidth: float = 50.0,
        period: float = 1e-3,
    ) -> None:
        if kind not in SOURCES:
            raise UnknownName("source of the constraint force", kind, SOURCES)
        self._model, self.name = model, kind
        self.number = int(SourceKind[kind.upper()])
        if model.constraint is None and kind != "momentum":  # which is observed for its own sake
            self.number = 0
        self.work: Array = SOURCE.new(n=model.n, m=model.m)
        self._terms = SOURCE.view(self.work, n=model.n, m=model.m)
        period = validate.positive("period", period)
        gain = 2.0 * np.pi * validate.positive("observer bandwidth", bandwidth)
        self._terms.decay[:] = np.exp(-gain * period), 1.0 / period
        self._period, self.observes = period, False
        self._terms.gravity[:] = model.arm.gravity
        self._data = model.arm.pinocchio_model.createData()
        self.coriolis: Array = self._data.C.reshape(model.n, model.n)
        self._sensor = np.zeros(SENSOR_NUMBERS + model.n)
        self._terms.sign[0] = 1.0
        self._unknown = np.zeros(model.n)
        self.post: Callable[[str, Array], None] | None = None
        self.computed_in_python = False
        self.frame = frame
        if self.number == _SENSOR and model.constraint is not None:
            self.frame = frame or model.constraint.frame
            if self.frame is None:
                self.number = 0
            else:
                self._learn_basis()
                if not model.constraint.basis_is_constant(self.frame):
                    directions = WRENCH.view(self._terms.directions, m=model.m)
                    table = None if model.computed_in_python else model.table
                    known = write_map(model.arm, model.constraint, self.frame, directions, table)
                    self._terms.varies[0], self.computed_in_python = float(known), not known
        self.set_axes(WORLD)
        self.reset()

    @property
    def needs_wrench(self) -> bool:
        """Whether there is no λ without a measured wrench."""
        return self.name == "sensor" and self._model.constraint is not None

    def require_frame(self) -> None:
        """Refuse to measure a force at no frame."""
        if self.needs_wrench and self.frame is None:
            raise InvalidValue(
                "the constraint does not say at which frame its force is measured: set its "
                "attribute `frame`, or give the force source one (ForceSource(frame=…))"
            )

    def set_axes(self, frame: str) -> None:
        """The wrench is measured in the axes of this frame; `WORLD` for the world's.

        Raises:
            UnknownName: Where the arm has no such frame.
        """
        if frame == WORLD:
            self._sensor[_AXES], self._sensor[_JOINT] = np.eye(3).reshape(-1), 0.0
        else:
            place = self._model.arm.attachment(frame)
            self._sensor[_AXES], self._sensor[_JOINT] = place.rotation.reshape(-1), place.joint
        self._put_into_force()

    def set_sign(self, sign: float) -> None:
        """Multiply what is measured, without its offset, by 1 or −1.

        A sensor that shows what acts on the tool, not what the constraint takes, has −1. It does
        not change while a loop runs.
        """
        if sign not in (1.0, -1.0):
            raise InvalidValue(f"the sign of the wrench must be 1 or -1, got {sign!r}")
        self._terms.sign[0] = sign

    @property
    def sign(self) -> float:
        """1 or −1, by which what is measured is multiplied."""
        return float(self._terms.sign[0])

    def set_offset(self, wrench: Array) -> None:
        """Subtract this wrench from what is measured, in the sensor's axes [N, N·m]."""
        self._sensor[_OFFSET] = validate.finite_array("wrench offset", wrench, (6,))
        self._put_into_force()

    def set_tool(self, mass: float, centre: ArrayLike = (0.0, 0.0, 0.0)) -> None:
        """What hangs beyond the sensor: its mass [kg] and its centre in the sensor's axes [m]."""
        heavy = validate.not_negative("tool mass", mass)
        self._sensor[_TOOL] = heavy, *validate.finite_array("centre of the tool", centre, (3,))
        self._put_into_force()

    def set_effort_tare(self, efforts: ArrayLike) -> None:
        """Subtract these efforts from F of model and momentum, n [N·m or N]."""
        n = self._model.n
        self._sensor[_EFFORT_TARE] = validate.finite_array("effort tare", efforts, (n,))
        self._put_into_force()

    @property
    def effort_tare(self) -> Array:
        """What is subtracted from F of model and momentum, n [N·m or N]."""
        return self._sensor[_EFFORT_TARE].copy()

    def observe_disturbance(self, bandwidth: float | None, felt: bool = False) -> None:
        """Follow the momentum with this bandwidth [Hz] beside whatever λ comes from; None: not.

        So it is where something else looks at its innovation (``felt``).
        """
        self.observes = bandwidth is not None or bool(felt)
        if bandwidth is not None:
            gain = 2.0 * np.pi * validate.positive("disturbance observer bandwidth", bandwidth)
            self._terms.disturbance_decay[0] = np.exp(-gain * self._period)

    @property
    def needs_coriolis(self) -> bool:
        """Whether a tick reads Pinocchio's C."""
        return self.observes or self.number == _MOMENTUM

    @property
    def terms(self) -> SourceTerms:
        """The parts of `work`."""
        return self._terms

    @property
    def estimate(self) -> Array:
        """r of the momentum observer, n; a live array [N·m or N]."""
        return self._terms.estimate

    def _put_into_force(self) -> None:
        if self.post is None:
            self._terms.sensor[:] = self._sensor
        else:
            self.post("sensor", self._sensor)

    @property
    def tool_mass(self) -> float:
        """What hangs beyond the sensor [kg]."""
        return float(self._sensor[_TOOL][0])

    @property
    def tool_centre(self) -> Array:
        """Its centre of mass in the sensor's axes, 3 [m]."""
        return self._sensor[_TOOL][1:].copy()

    def prepare(self, q: Array, v: Array) -> None:
        """What is not compiled: after the arm was computed for this state, before the tick."""
        if self.computed_in_python:
            self._learn_basis()
        if self.observes or self.number == _MOMENTUM:
            self._model.arm.compute_coriolis(self._data, q, v)

    def _learn_basis(self) -> None:
        constraint = self._model.constraint
        if constraint is not None and self.frame is not None:
            try:
                self._terms.to_lambda[:] = constraint.multiplier_map(self._model.arm, self.frame)
            except np.linalg.LinAlgError:  # a state that is not finite has no directions
                self._terms.to_lambda[:] = np.nan

    def at_present(self, effort: Array) -> Array:
        """λ at the state that the model was last evaluated at, under this effort; a new array.

        For those who look on: the tick finds its own λ.
        """
        model, arm, force = self._model, self._model.arm, np.empty(self._model.m)
        self.prepare(arm.q, arm.v)
        follow_bends(arm.placements, model.arguments.functions, self._terms)
        find_force(
            self.number,
            _NO_WRENCH,
            arm.v,
            arm.h,
            arm.placements,
            self.coriolis,
            effort,
            self._unknown,
            False,
            model.terms,
            self._terms,
            force,
        )
        return force

    @contextmanager
    def switched_off(self) -> Iterator[None]:
        """Find no force within this block."""
        number, self.number = self.number, 0
        try:
            yield
        finally:
            self.number = number

    def reset(self) -> None:
        """Start from rest."""
        self._terms.estimate[:] = self._terms.filtered[:] = self._terms.disturbance[:] = 0.0
        self._terms.started[0] = 0.0
        self._terms.compared[:] = COMPARE_EVERY, 0.0  # first when our effort has come to act
        self._terms.far_off[:] = 0.0
        self._terms.sign_seen[:] = self._terms.sign_look[:] = self._terms.apart[:] = 0.0
        self._terms.sign_for[:] = 0.0
