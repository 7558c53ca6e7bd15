"""The same numbers compiled or not."""

import json

import numpy as np
import pytest
from python_process import output_of

SCRIPT = """
import json
import numpy as np
from arms import free_fall_case, random_state, random_urdf, slider_crank_case
from projected_control.model.arm import Arm
from projected_control.compiled import COMPILED
from projected_control.model.constraints import LoopClosure, PointOnLine, Stack
from projected_control.model.coordinates import Coordinate, Coordinates
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.projection import Metric
from projected_control.simulation import JointFriction, Plant

numbers = {}

def evaluate(name, arm, constraint, coordinates=None, metric=None):
    model = ConstrainedArm(arm, constraint, coordinates, metric=metric)
    for seed in range(3):
        model.evaluate(*random_state(arm, seed))
        parts = (model.M, model.h, model.residual, model.A, model.b, model.P, model.A_pinv,
                 np.sort(model.singular_values), model.theta, model.J_theta, model.theta_rate,
                 model.theta_bias, [model.rank])
        numbers[f"{name} {seed}"] = [float(x) for part in parts for x in np.ravel(part)]

def simulate(name, plant, start, effort):
    plant.reset(start)
    for _ in range(100):
        plant.step(effort)
    state = plant.state
    numbers[name] = [float(x) for part in state for x in np.ravel(part)]

arm = Arm.from_urdf(random_urdf(3, 7))
theta = Coordinates([Coordinate.position("end_7", "x"), Coordinate.heading("end_7", [0.1, 0.2, 1]),
                     Coordinate.joint("joint_2")])
line = PointOnLine("end_7", [0.1, 0.2, 0.3], [1, 2, 3])
evaluate("line", arm, line, theta)
evaluate("metric", arm, line, theta, Metric.from_limits(np.arange(1.0, 8.0)))
evaluate("redundant", arm, Stack([line, line, LoopClosure("end_7", "end_4", [0, 0, 1], 0.3)]))
evaluate("free", arm, None)
arm, slider, start = free_fall_case()
friction = JointFriction(0.1, 0.2, 0.1)
simulate("fall", Plant(ConstrainedArm(arm, slider), 2e-3, friction=friction), start, [1, 2, 3])
arm, slider = slider_crank_case()
simulate("crank", Plant(ConstrainedArm(arm, slider), 2e-3), [2.0, 2 * np.pi - 4.0], [1, 0])
print(json.dumps({"compiled": COMPILED, "numbers": numbers}))
"""


@pytest.fixture(scope="module")
def interpreted():
    result = json.loads(output_of(SCRIPT, PROJECTED_CONTROL_COMPILE="0"))
    assert not result["compiled"]
    return result["numbers"]


def test_compiled_and_interpreted_kernels_agree(interpreted):
    result = json.loads(output_of(SCRIPT, PROJECTED_CONTROL_COMPILE="1"))
    assert result["compiled"]
    assert result["numbers"].keys() == interpreted.keys()
    for name, numbers in result["numbers"].items():
        size = max(1.0, np.abs(numbers).max())
        np.testing.assert_allclose(
            numbers, interpreted[name], rtol=0, atol=1e-12 * size, err_msg=name
        )
