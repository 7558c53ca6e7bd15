"""Messages as bytes are the messages that rclpy makes and reads."""

import numpy as np
import pytest
from geometry_msgs.msg import WrenchStamped
from hypothesis import given
from hypothesis import strategies as st
from rclpy.serialization import deserialize_message, serialize_message
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, MultiArrayDimension

from projected_control.errors import InvalidValue
from projected_control.model.description import Mimic
from projected_control.ros.messages import (
    EffortReader,
    EffortWriter,
    JointCommandReader,
    StateReader,
    StateWriter,
    wrench_layout,
)
from projected_control.runs.row_messages import numbers_message

NAMES = st.lists(st.text(st.characters(exclude_characters="\0", codec="utf-8")), unique=True)
NUMBERS = st.floats(allow_nan=False)
STAMPS = st.integers(0, 2**31 - 1), st.integers(0, 999_999_999)


@given(NAMES.filter(bool), st.text("abcdefg/_"), *STAMPS, st.data())
def test_states_are_read_as_rclpy_reads_them(names, frame, seconds, nanoseconds, data):
    numbers = data.draw(st.lists(NUMBERS, min_size=2 * len(names), max_size=2 * len(names)))
    n = len(names)
    state = JointState(name=names, position=numbers[:n], velocity=numbers[n:])
    state.header.frame_id = frame
    state.header.stamp.sec, state.header.stamp.nanosec = seconds, nanoseconds
    wanted = data.draw(st.permutations(names))
    reader, q, v = StateReader(wanted), np.zeros(n), np.zeros(n)
    for effort in ([], [1.0] * n, []):  # learnt, learnt anew, and by heart
        state.effort = effort
        for _ in range(2):
            q[:], v[:] = np.nan, np.nan
            assert reader.read(serialize_message(state), q, v) == seconds * 10**9 + nanoseconds
            np.testing.assert_array_equal(q, [state.position[names.index(name)] for name in wanted])
            np.testing.assert_array_equal(v, [state.velocity[names.index(name)] for name in wanted])


def test_offsets_are_added_to_the_positions():
    message = StateWriter(["a", "b"]).fill(5, *np.ones((3, 2)))
    reader, q, v = StateReader(["b", "a"], offsets=[0.5, -2.0]), np.zeros(2), np.zeros(2)
    for _ in range(2):
        reader.read(message, q, v)
        assert (list(q), list(v)) == ([1.5, -1.0], [1.0, 1.0])
    with pytest.raises(InvalidValue, match="joint_offsets must have one number per joint, 2, or"):
        StateReader(["a", "b"], offsets=[1.0])


MIMICS = {"finger": Mimic("thumb", -2.0, 0.1), "ring": Mimic("finger", 0.5, 0.0)}


def test_a_mimic_joint_that_states_do_not_name_is_derived_from_its_leader():
    """Also one that follows a follower, with the leader's offset; what is published is believed."""
    joints = ["ring", "elbow", "finger", "thumb"]
    reader = StateReader(joints, offsets=[9.0, 0.0, 9.0, 1.0], mimics=MIMICS)
    q, v = np.zeros(4), np.zeros(4)
    message = StateWriter(["thumb", "elbow"]).fill(
        5, np.array([2.0, 7.0]), np.array([0.3, 0.7]), np.zeros(2)
    )
    assert not reader.wrong_with(message)
    for _ in range(2):  # learnt, and by heart
        assert reader.read(message, q, v) == 5
        np.testing.assert_allclose(q, [-2.95, 7.0, -5.9, 3.0], atol=1e-15)
        np.testing.assert_allclose(v, [-0.3, 0.7, -0.6, 0.3], atol=1e-15)
    own = StateWriter(joints).fill(6, np.array([1.0, 2.0, 3.0, 4.0]), np.ones(4), np.zeros(4))
    assert reader.read(own, q, v) == 6
    np.testing.assert_array_equal(q, [10.0, 2.0, 12.0, 5.0])


def test_a_mimic_joint_whose_leader_is_missing_is_missing_too():
    reader = StateReader(["finger", "thumb"], mimics=MIMICS)
    message = StateWriter(["elbow"]).fill(5, *np.ones((3, 1)))
    assert reader.read(message, np.zeros(2), np.zeros(2)) is None
    assert "have no finger, thumb; they have elbow" in reader.wrong_with(message)


@given(NAMES.filter(bool), st.integers(0, 2**60), st.data())
def test_states_are_written_as_rclpy_reads_them(names, stamp, data):
    n = len(names)
    numbers = np.array(data.draw(st.lists(NUMBERS, min_size=3 * n, max_size=3 * n))).reshape(3, n)
    written = StateWriter(names).fill(stamp, *numbers)
    state = deserialize_message(written, JointState)
    assert (list(state.name), state.header.frame_id) == (names, "")
    assert state.header.stamp.sec * 10**9 + state.header.stamp.nanosec == stamp
    np.testing.assert_array_equal([state.position, state.velocity, state.effort], numbers)
    assert len(written) == len(serialize_message(state))


@given(st.lists(NUMBERS, min_size=1, max_size=7), st.integers(0, 2**32 - 1))
def test_efforts_there_and_back(numbers, tag):
    n = len(numbers)
    written = EffortWriter(range(n)).fill(np.array(numbers), tag)
    command = deserialize_message(written, Float64MultiArray)
    assert (list(command.data), command.layout.data_offset) == (numbers, tag)
    effort = np.full(n, 7.0)
    finite = np.isfinite(numbers).all()
    assert EffortReader(n).read(written, effort) == (tag if finite else None)
    np.testing.assert_array_equal(effort, numbers if finite else [7.0] * n)
    command.layout.dim = [MultiArrayDimension(label="joints", size=n)]
    assert EffortReader(n).read(serialize_message(command), effort) == (tag if finite else None)
    assert EffortReader(n + 1).read(written, np.zeros(n + 1)) is None


@given(st.text("abcdefg/_"), st.lists(NUMBERS, min_size=6, max_size=6))
def test_wrenches(frame, numbers):
    message = deserialize_message(wrench_layout(frame).write(3, 4, *numbers), WrenchStamped)
    force, torque = message.wrench.force, message.wrench.torque
    assert [force.x, force.y, force.z, torque.x, torque.y, torque.z] == numbers
    assert (message.header.frame_id, message.header.stamp.sec) == (frame, 3)
    assert wrench_layout(frame).read(serialize_message(message)) == (3, 4, *numbers)


@pytest.mark.parametrize("cut", [0, 1, 4, 5, 20, -8, -1])
def test_bytes_that_are_no_message(cut):
    whole = StateWriter(["a", "b"]).fill(5, *np.ones((3, 2)))
    reader, q, v = StateReader(["a", "b"]), np.zeros(2), np.zeros(2)
    assert reader.read(whole, q, v) == 5
    q[:], v[:] = 0.0, 0.0
    assert reader.read(whole[:cut], q, v) is None
    assert reader.read(b"\xff" * len(whole), q, v) is None
    assert not np.any([q, v])
    assert reader.wrong_with(whole[:cut])


@given(st.permutations(["a", "b", "c"]), st.lists(NUMBERS, min_size=2, max_size=2))
def test_commands_of_a_controller_manager_carry_efforts_for_motors_only(names, numbers):
    """JointStateTopicSystem names all joints, and lists the efforts of those that have a motor."""
    command = JointState(name=names, effort=numbers)
    motors = [name for name in names if name != "b"]
    expected = dict(zip(motors, numbers, strict=True))
    reader, effort = JointCommandReader(["a", "b", "c"], [True, False, True]), np.full(3, 7.0)
    for _ in range(2):  # learnt, and by heart
        taken = reader.read(serialize_message(command), effort)
        if np.isfinite(numbers).all():
            assert taken == 0
            np.testing.assert_array_equal(effort, [expected["a"], 0.0, expected["c"]])
        else:
            assert taken is None
            assert (effort == 7.0).all()


def test_efforts_before_the_first_command_are_no_command():
    reader, effort = JointCommandReader(["a"], [True]), np.full(1, 7.0)
    assert reader.read(serialize_message(JointState(name=["a"], effort=[np.nan])), effort) is None
    assert reader.read(serialize_message(JointState(name=["b"], effort=[1.0])), effort) is None
    assert reader.read(serialize_message(JointState(name=["a"])), effort) is None
    assert effort[0] == 7.0


def test_an_array_of_a_million_numbers_is_written_in_one_go():
    """The layout of a message takes work in proportion to its numbers (an hour, once)."""
    numbers = np.linspace(0.0, 1.0, 800_000)
    message = numbers_message(numbers)
    read = deserialize_message(message, Float64MultiArray)
    np.testing.assert_array_equal(read.data, numbers)
