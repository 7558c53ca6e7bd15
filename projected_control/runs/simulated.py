"""The simulated arm as a port, and a run on it in one call.

There is one simulated arm: experiments, tests, benches and films run on it in process, where time
passes when an effort is written; the node `simulated_arm` lets it pass by the clock or in lockstep;
C++ steps the same plant in the same memory (`NativeSimulation`), or a copy of it for ros2_control
(`native/cpp/plant.h`, with the same few verbs). MuJoCo is another plant behind the same face
(`simulation.engines`). Gazebo has an arm of its own, and calls us: see `SteppedArm`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from projected_control import validate
from projected_control.arrays import Array
from projected_control.control.controllers import Controller
from projected_control.control.law_kinds import EFFORT, VELOCITY
from projected_control.control.loop import ControlLoop, Tick
from projected_control.control.references import Reference
from projected_control.control.state import RawState
from projected_control.control.wrench_map import WRENCH, write_map
from projected_control.errors import InvalidValue
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.friction import FRICTIONLESS, JointFriction
from projected_control.planning import start_of
from projected_control.planning.start import guess_within
from projected_control.runs.port import Port
from projected_control.runs.runner import Runner
from projected_control.runs.statistics import Statistics
from projected_control.simulation.dry_friction import stops_within
from projected_control.simulation.engines import BUILT_IN, make_plant
from projected_control.simulation.plant import Plant, PlantState
from projected_control.simulation.plant_sensing import drive_motors, sense_force, sense_joints
from projected_control.simulation.sensors import FAULTS, Encoders, ForceSensor, Motors

BACK_PERIODS = 5
"""How far stamps go back, in every other state [periods]."""


class SimulatedArm(Port):
    """A plant that is read and moved like an arm.

    Args:
        plant: What moves.
        q0: Where it starts.
        v0: How fast; at rest unless given.
        period: Period of the control loop [s]: a whole number of the plant's steps.
        sensor: What measures the constraint force; an ideal one unless given.
        measures_force: False for an arm without a force sensor.
        frame: Where the sensor sits; the constraint's own frame unless given.
        encoders: What measures positions and velocities; ideal ones unless given.
        motors: What gives the efforts; ideal ones unless given.

    Attributes:
        effort: The effort that is held, n [N·m or N]: commanded last, in force while time passes.
        push: Joint efforts on top of that, of which no controller knows, n [N·m or N].
        braked: Whether brakes hold it: no time passes for it.
        fault: What is wrong with what it tells, one of `FAULTS`.
        computed_in_python: Whether Python finds the wrench from λ, in every reading.
        truth: The plant's state at the last reading, with what no sensor shows.
        residual_max: Largest ‖Φ‖ of all readings since the start [m or rad].
        effort_peaks: Largest effort that each joint was given since then, n [N·m or N].
    """

    def __init__(
        self,
        plant: Plant,
        q0: ArrayLike,
        v0: ArrayLike | None = None,
        *,
        period: float | None = None,
        sensor: ForceSensor | None = None,
        measures_force: bool = True,
        frame: str | None = None,
        encoders: Encoders | None = None,
        motors: Motors | None = None,
    ) -> None:
        self.plant = plant
        self.effort, self.push = np.zeros(plant.model.n), np.zeros(plant.model.n)
        self._told: RawState | None
        self.braked, self.fault, self._told = False, FAULTS[0], None
        self.sensor = (sensor or ForceSensor()) if measures_force else None
        constraint = plant.model.constraint
        self.frame = frame or (None if constraint is None else constraint.frame)
        self.computed_in_python = False
        self.tell_sensor()
        self._start = (q0, v0)
        self._carried: Array | None = None
        steps = validate.positive("period", period or plant.step_size) / plant.step_size
        self.substeps = round(steps)
        if self.substeps < 1 or abs(steps - self.substeps) > 1e-9 * steps:
            raise InvalidValue(
                f"the loop's period must be a whole number of integration steps, got {period:g} s "
                f"with steps of {plant.step_size:g} s"
            )
        self.period = self.substeps * plant.step_size
        self.motors = motors or Motors()
        self.encoders = encoders or Encoders()
        self.truth: PlantState = plant.reset(*self._start)
        self.residual_max, self.effort_peaks = 0.0, np.zeros(plant.model.n)
        self.reset()

    def start_at(self, q: ArrayLike, v: ArrayLike | None = None) -> None:
        """Start here, now and after every reset, at rest unless a velocity is given."""
        self._start = (q, v)
        self.reset()

    def carry(self, force: ArrayLike | None = None) -> None:
        """Start, now and after every reset, with the weight carried, as behind brakes that open.

        f = h + M A⁺b + Aᵀλ is applied before the first reading, which then shows λ; an arm that
        begins without effort leans on its constraint with its whole weight instead.

        Args:
            force: λ, m [N or N·m]; zero unless given.
        """
        model = self.plant.model
        wanted = np.zeros(model.m) if force is None else force
        self._carried = validate.finite_array("force at the start", wanted, (model.m,))
        self.reset()

    def tell_sensor(self) -> None:
        """Write into the plant how a wrench follows from λ at the sensor.

        W where it is the same for every q, else how it follows from q, where kernels know that.
        """
        model, terms = self.plant.model, self.plant.terms
        if model.constraint is None or not self.frame:
            return
        terms.varies[0] = 0.0
        if model.constraint.basis_is_constant(self.frame):
            terms.basis[:] = model.constraint.wrench_basis(model.arm, self.frame)
            return
        w = WRENCH.view(terms.directions, m=model.m)
        table = None if model.computed_in_python else model.table
        known = write_map(model.arm, model.constraint, self.frame, w, table)
        terms.varies[0], self.computed_in_python = float(known), not known

    @property
    def sensor(self) -> ForceSensor | None:
        """What measures the constraint force, if anything; may be changed between two ticks."""
        return self._sensor

    @sensor.setter
    def sensor(self, sensor: ForceSensor | None) -> None:
        self.plant.make_room(delay=0 if sensor is None else sensor.delay)
        self.plant.terms.readings[0] = 0.0
        self.plant.terms.noise[:] = 0.0
        self._sensor = sensor

    @property
    def encoders(self) -> Encoders:
        """What measures positions and velocities; may be changed between two ticks."""
        return self._encoders

    @encoders.setter
    def encoders(self, encoders: Encoders) -> None:
        n, terms = self.plant.model.n, self.plant.terms
        base = self.plant.model.arm.base_size
        terms.resolution[:base], terms.resolution[base:] = -1.0, encoders.of_joints(n - base)
        terms.rate_filter[:] = encoders.rate_filter(self.period)
        self._encoders = encoders

    @property
    def motors(self) -> Motors:
        """What gives the efforts; may be changed between two ticks."""
        return self._motors

    @motors.setter
    def motors(self, motors: Motors) -> None:
        base = self.plant.model.arm.base_size
        _, limits = motors.of_joints(self.plant.model.n - base)
        if limits.any() and self.plant.drive > 0.0:
            raise InvalidValue(
                "the motors' limit is one of efforts, and joints with drives (simulation.drive) "
                "take velocities",
                key="motor.limit",
            )
        self.plant.make_room(wait=motors.delay)
        self.plant.terms.commands[:] = self.plant.terms.commanded[0] = 0.0
        self.plant.terms.motor_noise[:] = 0.0
        self.plant.terms.motor_limit[base:] = limits
        self._motors = motors

    def open(self) -> RawState:
        self.reset()
        state = self.sense()
        self.reset()
        return state

    def reset(self) -> None:
        """Back to the start."""
        self.truth = self.plant.reset(*self._start)
        if self._carried is not None:
            model = self.plant.model
            effort = model.h + model.M @ model.A_pinv @ model.b + model.A.T @ self._carried
            self.plant.apply(effort)
            self.truth = self.plant.state
        self.residual_max = 0.0
        self.effort_peaks[:] = 0.0
        if self.sensor is not None:
            self.sensor.reset()
        self.motors.reset()
        self.effort[:] = 0.0
        terms = self.plant.terms
        terms.read_before[0] = terms.commanded[0] = terms.readings[0] = 0.0

    def sense(self) -> RawState:
        """What encoders and force sensor show of the arm now."""
        self.truth = state = self.plant.state
        self.residual_max = max(self.residual_max, state.residual)
        plant, model = self.plant, self.plant.model.arguments
        sense_joints(plant.sizes, plant.work, model.state, model.sizes)
        q, v = plant.terms.measured_q.copy(), plant.terms.measured_v.copy()
        return RawState(q, v, state.time, self._measure())

    def tell(self, state: RawState) -> RawState | None:
        """What comes of a reading where something is wrong (see `fault`); None for nothing."""
        if self.fault == "silent":
            return None
        if self.fault == "nan":
            state = state._replace(q=np.full_like(state.q, np.nan))
        elif self.fault == "back" and round(state.stamp / self.period) % 2:
            state = state._replace(stamp=max(state.stamp - BACK_PERIODS * self.period, 0.0))
        elif self.fault == "no_wrench":
            state = state._replace(wrench=None)
        elif self.fault == "frozen" and self._told is not None:
            state = state._replace(q=self._told.q, v=self._told.v)
        self._told = state
        return state

    def read(self) -> RawState | None:
        return self.tell(self.sense())

    @property
    def measures(self) -> bool:
        """Whether readings come with a wrench."""
        constraint = self.plant.model.constraint
        return self.sensor is not None and self.frame is not None and constraint is not None

    def _measure(self) -> Array | None:
        plant, model = self.plant, self.plant.model
        if self.sensor is None or self.frame is None or model.constraint is None:
            return None
        if self.sensor.disturbed:
            plant.terms.noise[:] = self.sensor.draw(1, model.m)[0]
        if self.computed_in_python:
            plant.terms.basis[:] = np.asarray(model.constraint.wrench_basis(model.arm, self.frame))
        known = model.arguments
        sense_force(
            plant.sizes, plant.work, known.placements, known.state, known.sizes, known.functions
        )
        return plant.terms.wrench.copy()

    def write(self, effort: Array) -> None:
        self.hold(effort)
        self.move()

    def hold(self, effort: ArrayLike) -> None:
        """Take an effort, without letting time pass: forces answer."""
        self.plant.apply(effort)  # refuses what is not finite
        self.effort[:] = self.plant.terms.effort

    def move(self) -> None:
        """Let one period pass under the effort that is held, and the push; none while braked."""
        if self.braked:
            return
        plant, motors = self.plant, self.motors
        if motors.noisy:
            base = plant.model.arm.base_size
            plant.terms.motor_noise[base:] = motors.draw(1, plant.model.n - base)[0]
        plant.terms.push[:] = pushed = self.pushed_by() if self.push.any() else self.push
        np.maximum(self.effort_peaks, np.abs(self.effort + pushed), out=self.effort_peaks)
        drive_motors(plant.sizes, plant.work, self.effort, plant.model.arguments.sizes)
        for _ in range(self.substeps):
            plant.step()

    def pushed_by(self) -> Array:
        """The push as what is added to a command: of drives, the velocity that has its effort."""
        drive, M = self.plant.drive, self.plant.model.arm.M
        if drive == 0.0:
            return self.push
        return np.asarray(np.linalg.solve(M, self.push) / drive, dtype=np.float64)

    @property
    def takes(self) -> str:  # type: ignore[override]
        """Velocities where its joints have drives."""
        return VELOCITY if self.plant.drive > 0.0 else EFFORT

    def summary(self) -> dict[str, Any]:
        """What it has seen since the start: largest ‖Φ‖, and the largest effort of each joint."""
        names = self.plant.model.arm.joint_names
        peaks = dict(zip(names, self.effort_peaks.tolist(), strict=True))
        return {"residual_max": self.residual_max, "effort_peaks": peaks}

    def close(self) -> None:
        """Nothing holds the simulated arm."""


def require_efforts(arm: SimulatedArm, commands: str) -> None:
    """Refuse drives where what comes are efforts."""
    if arm.takes != EFFORT:
        raise InvalidValue(
            f"{commands} are efforts, and simulation.drive makes joints that take velocities: "
            "leave it out, or run in process",
            key="simulation.drive",
        )


class Simulation(NamedTuple):
    """A simulated run, one line per tick.

    Attributes:
        time: [s].
        q: Joint positions [rad or m].
        effort: What was sent [N·m or N].
        error: e = θ_d − θ per coordinate [m or rad].
        force: λ of the simulated arm itself per constraint row [N or N·m].
        statistics: What was counted; `summary()` has the numbers.
    """

    time: Array
    q: Array
    effort: Array
    error: Array
    force: Array
    statistics: Statistics


def simulate(
    model: ConstrainedArm,
    controller: Controller,
    reference: Reference,
    seconds: float = 4.0,
    *,
    force_reference: Reference | None = None,
    guess: ArrayLike | None = None,
    friction: JointFriction = FRICTIONLESS,
    sensor: ForceSensor | None = None,
    engine: str = BUILT_IN,
    observe: Callable[[int, Tick], None] | None = None,
) -> Simulation:
    """Let a controller follow a reference on a simulated arm, and keep what happens.

    The arm begins on its constraint and on the reference, with its weight carried where the
    controller holds a force (see `SimulatedArm.carry`); it has stops at its joints' limits.

    Args:
        model: Arm, constraint and coordinates, as the controller has them.
        controller: What answers.
        reference: θ_d.
        seconds: How long, in simulated time [s].
        force_reference: λ_d, for a controller that holds a force; zero unless given.
        guess: Joint positions near which to begin [rad or m]; unless given, zero, or the middle of
            a range without zero.
        friction: Of the simulated joints, of which the controller does not know.
        sensor: What measures the force; an ideal one unless given.
        engine: What moves the arm, one of `simulation.ENGINES`, as built_in or mujoco.
        observe: Called after each tick with its number and what happened.

    Raises:
        Unreachable: Where no start near the guess is on the constraint and on the reference.
    """
    arm, limits = model.arm, model.arm.limits
    ticks = round(validate.positive("seconds", seconds) / controller.period)
    guess = guess_within(arm) if guess is None else guess
    plant = make_plant(
        engine,
        ConstrainedArm(arm.twin(), model.constraint),
        controller.period,
        friction=friction,
        stops=stops_within(limits.lower, limits.upper),
    )
    port = SimulatedArm(plant, *start_of(model, reference, guess), sensor=sensor)
    if controller.force is not None:
        port.carry(None if force_reference is None else force_reference.at(0.0).value)
    loop = ControlLoop(controller, reference, force_reference=force_reference)
    runner = Runner(loop, port)
    kept = runner.keep(ticks)
    statistics = runner.run(ticks, observe)
    return Simulation(
        kept.column("stamp"),
        kept.column("true_q"),
        kept.column("effort"),
        kept.column("error"),
        kept.column("true_multipliers"),
        statistics,
    )
