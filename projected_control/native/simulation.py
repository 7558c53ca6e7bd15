"""Closed-loop runs in process at native speed: plant and loop in C++, many ticks per call."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from projected_control.control.events import Action, GuardReport
from projected_control.control.loop import ControlLoop
from projected_control.errors import InvalidValue, SimulationFailed
from projected_control.model.constrained_arm import TERMS, ConstrainedArm
from projected_control.native import exports
from projected_control.native.cpp_arm import NativeArm
from projected_control.native.engine import refuse_python_parts
from projected_control.native.kernel_calls import Call
from projected_control.native.library import native_loop
from projected_control.runs.ring import DONE
from projected_control.runs.rows import TICK, Rows
from projected_control.runs.runner import FINAL, Runner
from projected_control.runs.simulated import SimulatedArm
from projected_control.simulation.plant import Plant
from projected_control.simulation.plant_terms import PLANT, TRUTH
from projected_control.simulation.sensors import FAULTS

Array = NDArray[np.float64]

_PINOCCHIO = ("M", "h", "spatial_jacobian", "placements", "coriolis")
"""Arguments that the native arm has in place of the Python one."""


_FRAMES = ("arm", "observe", "sense", "encode", "drive", "begin", "advance", "put")
"""Pointers of the simulation's struct, in order."""


class _Loop(ctypes.Structure):
    """``struct projected_control_loop``."""

    _fields_ = [
        ("arm", ctypes.c_void_p),
        ("tick", ctypes.c_void_p),
        ("effort", ctypes.c_void_p),
        ("needs_coriolis", ctypes.c_int64),
    ]


class _Simulation(ctypes.Structure):
    """``struct projected_control_simulation``."""

    _fields_ = [
        ("loop", _Loop),
        *((name, ctypes.c_void_p) for name in _FRAMES),
        ("plant", ctypes.c_void_p * len(PLANT.declared)),
        ("plant_model", ctypes.c_void_p * len(TERMS.declared)),
        *((name, ctypes.c_int64) for name in ("joints", "rows", "substeps")),
        ("final_events", ctypes.c_int64),
        ("noise", ctypes.c_void_p),
        ("motor_noise", ctypes.c_void_p),
        ("done", ctypes.c_int64),
    ]


class SimulatedRows(NamedTuple):
    """What a run on a simulated arm did."""

    rows: Rows  # its ticks, with what the arm really did; those that the arm carried out
    failure: str = ""  # why the plant failed; empty if it did not


class NativeLoop:
    """A control loop in C++, on the workspaces of one in Python.

    Gains, limits, references and what is known of the sensor reach it through the loop's mailbox,
    as always; a load that the arm takes up, by `take_load`.

    Args:
        loop: Whose workspaces; it must need nothing from Python in a tick.

    Attributes:
        address: Of ``struct projected_control_loop``.
        call: The tick's frame.
    """

    def __init__(self, loop: ControlLoop) -> None:
        refuse_python_parts(loop)
        self.library, self.loop = native_loop(), loop
        self.arm = NativeArm(loop.controller.model.arm)
        n = loop.controller.model.n
        self.q, self.v, self.wrench = np.zeros(n), np.zeros(n), np.full(6, np.nan)
        self.struct = _Loop()
        self.address = ctypes.addressof(self.struct)
        self.connect()

    def connect(self) -> None:
        """Take up the loop's present arrays: references may have got longer ones."""
        loop, arm = self.loop, self.arm
        arguments = loop.arguments._replace(**{name: getattr(arm, name) for name in _PINOCCHIO})
        state = (0.0, np.inf, self.q, self.v, self.wrench)
        self.call = Call(_frame("tick"), (*state, *arguments))
        loop.arguments.choices[1] = loop.force_source.number
        self.struct.arm, self.struct.tick = arm.address, self.call.address
        self.struct.effort = loop.guard.sent.ctypes.data
        self.struct.needs_coriolis = loop.force_source.needs_coriolis

    def take_load(self) -> None:
        """Compute with what the arm carries now (see `Arm.set_payload`); between two ticks."""
        self.arm.take_load()

    def answer(self) -> int:
        """From the state in `q`, `v`, `wrench` and the frame's stamp to an effort; the status."""
        return int(self.library.projected_control_answer(ctypes.c_void_p(self.address)))


class NativeSimulation:
    """A loop on a simulated arm, in C++.

    Args:
        loop: What answers; opened already (see `Runner.open`).
        hardware: The simulated arm.

    Raises:
        InvalidValue: Where something of it has to be computed in Python.
    """

    def __init__(self, loop: ControlLoop, hardware: SimulatedArm) -> None:
        plant = hardware.plant
        refuse_hardware(hardware)
        self.loop, self.hardware, self.plant = NativeLoop(loop), hardware, plant
        self.arm = NativeArm(plant.model.arm)
        self._measures = hardware.measures
        hardware.tell_sensor()
        self.struct = _Simulation()
        self.address = ctypes.addressof(self.struct)
        self._connect()

    @property
    def library(self) -> Any:
        """The native loop's library."""
        return self.loop.library

    def _connect(self) -> None:
        plant, model, s = self.plant, self.plant.model, self.struct
        own = {name: getattr(self.arm, name) for name in _PINOCCHIO[:4]}
        arguments = model.arguments._replace(**own)
        work = (plant.sizes, plant.work)
        state, sizes = arguments.state, arguments.sizes
        places = (arguments.spatial_jacobian, arguments.placements)
        self._calls = {
            "observe": Call(_frame("observe_plant"), (*work, *arguments)),
            "sense": Call(
                _frame("sense_force"),
                (*work, arguments.placements, state, sizes, arguments.functions),
            ),
            "encode": Call(_frame("sense_joints"), (*work, state, sizes)),
            "drive": Call(_frame("drive_motors"), (*work, self.loop.loop.guard.sent, sizes)),
            "begin": Call(
                _frame("begin_step"), (True, *work, *places, state, sizes, arguments.work)
            ),
            "advance": Call(_frame("advance_step"), (*work, *arguments)),
        }
        for name, call in self._calls.items():
            setattr(s, name, call.address)
        if not self._measures:
            s.sense = None
        self.loop.call.set("wrench_age", 0.0 if self._measures else np.inf)
        s.loop, s.arm = self.loop.struct, self.arm.address
        s.plant, s.plant_model = _pointers(plant.terms), _pointers(model.terms)
        s.joints, s.rows = model.n, model.m
        s.substeps = self.hardware.substeps

    def run(self, ticks: int, *, record: bool = True, final_events: int = 0) -> SimulatedRows:
        """Make so many ticks.

        Args:
            ticks: How many.
            record: Whether to keep them.
            final_events: A tick with any of these `Event`s is the last.
        """
        s, plant = self.struct, self.plant
        self.loop.take_load()
        self.arm.take_load()
        rows = Rows.of(self.loop.loop, ticks if record else 0, self.hardware)
        put = self._put(rows)
        s.put = put.address if record else None
        noise, motor_noise = self._noise(ticks), self._motor_noise(ticks)
        s.noise = noise.ctypes.data if noise is not None else None
        s.motor_noise = motor_noise.ctypes.data if motor_noise is not None else None
        s.final_events = final_events
        status = self.library.projected_control_simulate(
            ctypes.c_void_p(self.address), ctypes.c_int64(ticks)
        )
        s.put = None
        self._hand_back()
        if status < 0:
            raise SimulationFailed("an exported kernel failed: nothing was sent")
        if status and record:
            rows.counters[DONE] -= 1  # what was sent last was never carried out
        return SimulatedRows(rows, plant.failure(status) if status else "")

    def _put(self, rows: Rows) -> Call:
        """The call that writes a row, of which C++ fills in what changes from tick to tick."""
        loop, state = self.loop, (self.loop.q, self.loop.v, self.loop.wrench)
        arguments, age = loop.loop.arguments, 0.0 if self._measures else np.inf
        truth = np.zeros(TRUTH.size(n=self.plant.model.n, m=self.plant.model.m))
        work = (arguments.sizes, arguments.passive, arguments.model_work, arguments.control_work)
        answer = (0, 0, 0, arguments.taken, loop.loop.guard.sent)
        memory = (rows.counters, rows.numbers)
        return Call(_frame("put_tick"), (*memory, TICK, 0.0, 0, age, *state, *answer, *work, truth))

    def _noise(self, ticks: int) -> Array | None:
        sensor = self.hardware.sensor
        if not self._measures or sensor is None or not sensor.disturbed:
            return None
        return sensor.draw(ticks, self.plant.model.m)

    def _motor_noise(self, ticks: int) -> Array | None:
        motors = self.hardware.motors
        return motors.draw(ticks, self.plant.model.n) if motors.noisy else None

    def _hand_back(self) -> None:
        """Let the objects in Python know where the run ended."""
        loop, call = self.loop.loop, self.loop.call
        action, events = int(call.get("action")), int(call.get("events"))
        loop.report = GuardReport(loop.guard.sent, Action(action), events)
        for model in (loop.controller.model, self.plant.model):
            model.arm.compute(model.arm.q, model.arm.v)
        loop.controller.model.time = float(call.get("stamp"))
        self.plant.model.time = self.plant.time


def run_in_pieces(runner: Runner, ticks: int, piece: int) -> Iterator[SimulatedRows]:
    """`Runner.run` in C++ on a simulated arm: so many ticks per call, the rows of each call.

    The numbers do not depend on the length of a piece. It ends early where the plant fails, or
    where the guard's events end the run (`Runner.lost`); or when the caller asks for no more.

    Args:
        runner: What is run; opened here.
        ticks: How many at most.
        piece: Ticks per call.
    """
    runner.open()
    assert isinstance(runner.port, SimulatedArm)
    simulation, done, failure = NativeSimulation(runner.loop, runner.port), 0, ""
    try:
        while done < ticks and not (runner.lost or failure):
            part = simulation.run(min(piece, ticks - done), final_events=FINAL)
            done, failure = done + len(part.rows.kept), part.failure
            runner.report = runner.loop.report
            if runner.report.events & FINAL and not failure:
                runner.lost = runner.reason_to_end(runner.report.events)
            yield part
    finally:
        runner.port.close()
        runner.statistics.lost = runner.lost
        runner.statistics.keep()


def refuse_hardware(hardware: SimulatedArm) -> None:
    """Refuse an arm that needs Python in a step."""
    model: ConstrainedArm = hardware.plant.model
    found = []
    if type(hardware.plant) is not Plant:
        found.append("another engine moves it: take simulation.engine built_in")
    if model.computed_in_python:
        found.append("its constraint is computed in Python: make it of scalar functions")
    if model.target_in_python:
        found.append("its constraint's motion is a function: give a reference, such as Sines")
    if hardware.measures and hardware.computed_in_python:
        found.append("its wrench is computed in Python: make its constraint of scalar functions")
    if hardware.push.any() or hardware.braked or hardware.fault != FAULTS[0]:
        found.append("it is pushed, held by brakes or faulty, which are Python's")
    if found:
        raise InvalidValue(f"this arm cannot be simulated without Python: {'; '.join(found)}")


def _pointers(terms: tuple[Array, ...]) -> Any:
    """Where the parts of a workspace lie, as the struct of pointers that C has."""
    return (ctypes.c_void_p * len(terms))(*(part.ctypes.data for part in terms))


def _frame(name: str) -> Any:
    return next(frame for frame in exports.exported_frames() if frame.name == name)
