"""A port to an arm that exists in the controller's own process."""

from time import monotonic, sleep

from projected_control import ConstrainedArm, Plant, SimulatedArm, assemble
from projected_control.runs.port import PortKind


class VirtualArm(SimulatedArm):
    """A simulated arm that keeps time: a state per period."""

    waits = True

    def __init__(self, model, start, period):
        twin = ConstrainedArm(model.arm.twin(), model.constraint)
        place = assemble(twin.arm, model.constraint, start)
        super().__init__(Plant(twin, min(period, 1e-3)), place, period=period)
        self._period = period

    def read(self):
        sleep(self._period)
        self.heard = monotonic()
        state = super().read()
        self.stamp_ns = round(1e9 * state.stamp)
        return state


def make_port(node, side, loop):
    return VirtualArm(loop.controller.model, [-3.0, 2.0, 1.0], loop.controller.period)


RECORD = PortKind("virtual", "an arm in this process", "other_arms.virtual_arm:make_port")
