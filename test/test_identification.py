"""Friction, payload and armature from a motion: within bounds, and said where they are not."""

import json

import numpy as np
import pytest
import yaml

from projected_control.apps import cli
from projected_control.apps.assess.exciting_motion import (
    exciting_motion,
    parameter_values,
    simulated_motion,
)
from projected_control.apps.bench.tick_cases import spatial_urdf
from projected_control.errors import InvalidValue
from projected_control.model.arm import Arm
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.model.identification import MotionRecord, identify
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import ARM, FORCE, checked

COULOMB = np.array([3.0, 4.0, 2.5, 3.0, 1.5, 1.0, 0.8])
VISCOUS = np.array([2.0, 2.5, 1.5, 2.0, 1.0, 0.8, 0.6])
ARMATURE = np.array([0.3, 0.3, 0.2, 0.2, 0.1, 0.1, 0.05])
NOISE = 0.01 * np.array([40.0, 108.0, 22.4, 54.0, 6.9, 13.0, 2.3])
"""1 % of the RMS of each joint's effort."""

MASS, CENTRE = 1.5, (0.05, -0.03, 0.08)
START = [0.3, 0.8, -0.5, 0.8, -0.7, -0.4, -0.2]


def values():
    """Seven joints that stick, a payload, encoders of 16 bits, noise of 1 % of the efforts."""
    return {
        "robot_description": spatial_urdf(),
        "constraint.kind": "none",
        "simulation.start": START,
        "friction.coulomb": COULOMB.tolist(),
        "friction.viscous": VISCOUS.tolist(),
        "friction.sticks": True,
        "armature": ARMATURE.tolist(),
        "payload.link": "tip",
        "payload.mass": MASS,
        "payload.centre": list(CENTRE),
        "encoder.resolution": [2.0 * np.pi / 65536],
        "encoder.velocity": "filtered",
        "motor.noise": NOISE.tolist(),
    }


@pytest.fixture(scope="module")
def record():
    return simulated_motion(checked(ARM, values()), 30.0)


def bare():
    return ConstrainedArm(Arm.from_urdf(spatial_urdf()))


def test_thirty_seconds_give_friction_to_five_and_the_payload_to_ten_percent(record):
    rms = np.sqrt(np.mean(record.effort**2, axis=0))
    np.testing.assert_allclose(NOISE / rms, 0.01, rtol=0.05)
    found = identify(bare(), record, payload_link="tip")
    for name, true in (("coulomb", COULOMB), ("viscous", VISCOUS)):
        np.testing.assert_allclose(found.of_joints(name), true, rtol=0.05)
    assert found.estimates["payload mass"].value == pytest.approx(MASS, rel=0.1)
    np.testing.assert_allclose(found.centre, CENTRE, atol=0.005)
    np.testing.assert_allclose(found.of_joints("armature"), ARMATURE, atol=0.01)
    assert all(estimate.excited for estimate in found.estimates.values())


def test_the_bounds_hold_what_is_true(record):
    """Of 95 % bounds nearly all; the fit's own errors widen them by a factor of three."""
    found = identify(bare(), record, payload_link="tip")
    inside = []
    for name, true in (("coulomb", COULOMB), ("viscous", VISCOUS), ("armature", ARMATURE)):
        for joint, value in zip(found.joints, true, strict=True):
            estimate = found.estimates[f"{name} of {joint}"]
            inside.append(abs(estimate.value - value) <= 3.0 * estimate.bound)
            assert 0.0 < estimate.bound < 0.5 * value
    assert np.mean(inside) >= 0.9


def test_a_joint_that_hardly_moves_is_said():
    settings = checked(ARM, values())
    record = simulated_motion(settings, 5.0)
    still = np.array(record.q)
    still[:, 4] = START[4]
    frozen = MotionRecord(record.time, still, record.effort)
    found = identify(bare(), frozen)
    assert not found.estimates["coulomb of joint_5"].excited
    assert "does not tell it from the others" in found.estimates["coulomb of joint_5"].remark
    assert "compensation.coulomb" not in parameter_values(found)


def test_a_record_is_written_and_read(tmp_path, record):
    arm = bare().arm
    record.save(tmp_path / "motion.npz", arm.joint_names[::-1])
    turned = MotionRecord(record.time, record.q[:, ::-1], record.effort[:, ::-1])
    turned.save(tmp_path / "turned.npz", arm.joint_names[::-1])
    again = MotionRecord.load(tmp_path / "turned.npz", arm)
    np.testing.assert_array_equal(again.q, record.q)
    np.savez(tmp_path / "other.npz", time=record.time)
    with pytest.raises(InvalidValue, match="has no q, effort; a recorded motion has time"):
        MotionRecord.load(tmp_path / "other.npz", arm)
    with pytest.raises(InvalidValue, match="cannot be read"):
        MotionRecord.load(tmp_path / "none.npz", arm)
    with pytest.raises(InvalidValue, match="evenly spaced"):
        MotionRecord(np.sort(np.random.default_rng(0).uniform(size=200)), *np.zeros((2, 200, 7)))


def test_the_command_writes_what_controllers_load(tmp_path, capsys):
    """Three joints, eight seconds: YAML, picture and motion; the YAML fits every controller."""
    source = tmp_path / "arm.yaml"
    arguments = {
        "robot_description_file": "three_link_slider.urdf.xacro",
        "constraint": {"kind": "none"},
        "coordinates": ["joint_1", "joint_2", "joint_3"],
        "friction": {"coulomb": [0.3], "viscous": [0.05], "sticks": True},
        "encoder": {"resolution": [1e-4]},
    }
    source.write_text(yaml.safe_dump({"/**": {"ros__parameters": arguments}}))
    out = tmp_path / "found"
    command = ["identify", str(source), "--simulate", "8", "--out", str(out), "--json"]
    assert cli.main(command) == 0
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["coulomb of joint_1"]["value"] == pytest.approx(0.3, rel=0.1)
    assert (out / "identified.png").read_bytes().startswith(b"\x89PNG")
    settings = Layers.read([source, out / "identified.yaml"]).controller(FORCE)
    np.testing.assert_allclose(settings.compensation.coulomb, 0.3, rtol=0.1)
    again = ["identify", str(source), "--record", str(out / "motion.npz"), "--out", str(out)]
    assert cli.main(again) == 0
    assert "coulomb of joint_3" in capsys.readouterr().out


def test_a_joint_at_its_end_has_no_room():
    with pytest.raises(InvalidValue, match="has no room to move"):
        exciting_motion(np.array([-1.0]), np.array([1.0]), np.array([1.0]))


def test_static_friction_and_stribecks_velocity_are_told_by_a_slow_motion_only(tmp_path, capsys):
    """30 s below 0.2 rad/s: static friction to 5 %, v_s to 15 %; ten times as fast it is said."""
    source = tmp_path / "arm.yaml"
    friction = {"coulomb": [0.3, 0.2, 0.1], "static": [0.45, 0.32, 0.16], "viscous": [0.05]}
    arguments = {
        "robot_description_file": "three_link_slider.urdf.xacro",
        "constraint": {"kind": "none"},
        "coordinates": ["joint_1", "joint_2", "joint_3"],
        "simulation": {"start": [0.2, 0.5, 0.4]},
        "friction": {**friction, "stribeck_velocity": [0.05], "sticks": True},
        "encoder": {"resolution": [1e-4]},
    }
    source.write_text(yaml.safe_dump({"/**": {"ros__parameters": arguments}}))
    command = ["identify", str(source), "--simulate", "30", "--json", "--out"]
    assert cli.main([*command, str(tmp_path / "slow"), "--slow"]) == 0
    slow = json.loads(capsys.readouterr().out)
    for joint, true in (("joint_1", 0.45), ("joint_2", 0.32)):
        assert slow[f"static of {joint}"]["value"] == pytest.approx(true, rel=0.05)
        assert slow[f"stribeck velocity of {joint}"]["value"] == pytest.approx(0.05, rel=0.15)
    settings = Layers.read([source, tmp_path / "slow" / "identified.yaml"]).controller(FORCE)
    np.testing.assert_allclose(settings.compensation.static[:2], [0.45, 0.32], rtol=0.05)
    assert cli.main([*command, str(tmp_path / "fast")]) == 0
    fast = json.loads(capsys.readouterr().out)
    assert not any(found["excited"] for name, found in fast.items() if name.startswith("static"))
    text = (tmp_path / "fast" / "identified.yaml").read_text()
    assert "move this joint slowly" in text
    assert "compensation.static" not in yaml.safe_load(text)[FORCE]["ros__parameters"]
