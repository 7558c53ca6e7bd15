"""The live page without ROS and without a browser: who is let in, what is shown, what is drawn."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pinocchio
import pytest
import yaml

from projected_control.apps import cli
from projected_control.apps.commands import demo
from projected_control.apps.view import access, found_controllers, geometry, page_process, presets
from projected_control.apps.view.lights import (
    ERROR,
    FORGET_SECONDS,
    OK,
    RISING_SECONDS,
    SILENCE_SECONDS,
    SILENT,
    WARNING,
    Lights,
)
from projected_control.apps.view.mirror import HISTORY, History
from projected_control.apps.view.scene import Scene, sketch
from projected_control.apps.view.shown_parameters import blend_seconds, control_of
from projected_control.errors import InvalidValue, UnknownName
from projected_control.model.constraints import Curve, Line, Plane, Point, Shape
from projected_control.resources import PRESETS
from projected_control.settings.files import read_parameter_file
from projected_control.settings.nodes import (
    CONTROLLERS,
    FORCE,
    TASKS,
    checked_controller,
    own_values,
    parameters_of,
)

CONFIG = Path(__file__).parents[1] / "config"
TOKEN = "secret"
GATE = access.Gate(token=TOKEN)


def headers(**changed: str) -> dict[str, str]:
    """Those of a browser that has the page open; underscores are dashes."""
    own = {
        "Host": "localhost:8765",
        "Origin": "http://localhost:8765",
        "Sec-WebSocket-Protocol": f"{access.PROTOCOL}, token.{TOKEN}",
    }
    return {**own, **{key.replace("_", "-"): value for key, value in changed.items()}}


# Who is let in


def test_the_page_itself_is_let_in() -> None:
    assert GATE.refuse_websocket(headers(), 0) == ""


@pytest.mark.parametrize(
    ("changed", "reason"),
    [
        ({"Origin": "http://evil.example"}, "origin 'http://evil.example'"),
        ({"Origin": "http://localhost:8000"}, "origin 'http://localhost:8000'"),
        ({"Origin": "null"}, "origin 'null'"),
        ({"Origin": ""}, "it names no origin"),
        ({"Origin": "file://"}, "origin"),
        ({"Host": "evil.example", "Origin": "http://evil.example"}, "host 'evil.example'"),
        ({"Host": ""}, "host ''"),
        ({"Host": "[::"}, "host '[::'"),
        ({"Sec_WebSocket_Protocol": access.PROTOCOL}, "no token"),
        ({"Sec_WebSocket_Protocol": f"{access.PROTOCOL}, token."}, "no token"),
        ({"Sec_WebSocket_Protocol": f"{access.PROTOCOL}, token.{TOKEN}x"}, "no token"),
        ({"Sec_WebSocket_Protocol": f"token.{TOKEN}"}, "no token"),
        ({"Sec_Fetch_Site": "cross-site"}, "cross-site"),
    ],
)
def test_a_foreign_request_is_refused_with_the_reason(changed: dict[str, str], reason: str) -> None:
    assert reason in GATE.refuse_websocket(headers(**changed), 0)


def test_a_proxy_may_speak_https() -> None:
    gate = access.Gate(["robot.lab"], TOKEN)
    secure = headers(Host="robot.lab", Origin="https://robot.lab")
    assert gate.refuse_websocket(secure, 0) == ""


def test_there_is_room_for_some_browsers_only() -> None:
    assert "already" in GATE.refuse_websocket(headers(), access.MOST_CLIENTS)


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1:8765", "[::1]:8765", "LOCALHOST:1"])
def test_this_computer_by_any_name(host: str) -> None:
    assert GATE.refuse_request({"Host": host}) == ""


def test_names_that_were_given_are_ours() -> None:
    gate = access.Gate(["Robot.lab"])
    assert gate.refuse_request({"Host": "robot.lab:8765"}) == ""
    assert GATE.refuse_request({"Host": "robot.lab:8765"}) != ""


def test_a_token_is_new_every_time_and_long() -> None:
    tokens = {access.Gate().token for _ in range(10)}
    assert len(tokens) == 10
    assert min(map(len, tokens)) >= 32


@pytest.mark.parametrize(
    ("address", "local"),
    [("localhost", True), ("127.0.0.1", True), ("::1", True), ("0.0.0.0", False), ("robot", False)],
)
def test_which_addresses_other_computers_reach(address: str, local: bool) -> None:
    assert access.is_local(address) is local


# Parameters


def test_a_descriptor_is_read() -> None:
    control = control_of(
        "force.proportional", 3.0, "Gain of the loop [1/s²]", "", bounds=(0.0, 1e4)
    )
    assert (control.description, control.unit) == ("Gain of the loop", "1/s²")
    assert (control.minimum, control.maximum, control.type) == (0.0, 1e4, "float")
    assert control.live
    assert not control.is_list


def test_constraints_in_words_are_read() -> None:
    text = "one of sensor, model; each from -1 to 2.5; only while inactive"
    control = control_of("some.words", ["model"], "Words", text)
    assert control.choices == ("sensor", "model")
    assert (control.minimum, control.maximum) == (-1.0, 2.5)
    assert control.is_list
    assert not control.live


@pytest.mark.parametrize("kind", [FORCE, "simulated_arm"])
def test_every_parameter_of_our_nodes_becomes_a_control(kind: str) -> None:
    """As the node describes it, and with what its declaration says."""
    pytest.importorskip("rclpy", reason="ROS 2 (rclpy) is not installed")
    from projected_control.ros.parameters import _descriptor

    for name, declared in parameters_of(kind).items():
        said = _descriptor(declared)
        bounds = [(r.from_value, r.to_value) for r in said.floating_point_range]
        value = list(declared.default) if declared.is_list else declared.default
        control = control_of(
            name, value, said.description, said.additional_constraints,
            bounds[0] if bounds else None, declared.type,
        )  # fmt: skip
        assert (control.unit, control.live) == (declared.unit, declared.live)
        assert set(control.choices) == {word for word in declared.choices if word} | (
            {""} if "" in declared.choices else set()
        )
        if declared.minimum is not None and declared.maximum is not None:
            assert (control.minimum, control.maximum) == (declared.minimum, declared.maximum)
        assert control.description == declared.description


@pytest.mark.parametrize(
    ("value", "sent", "converted"),
    [
        (1.0, 2, 2.0),
        (3, 4.0, 4),
        (True, False, False),
        ("a", "b", "b"),
        ([1.0], [2, 3], [2.0, 3.0]),
    ],
)
def test_what_a_browser_sends_gets_the_parameters_type(
    value: object, sent: object, converted: object
) -> None:
    made = control_of("x", value, "", "").convert(sent)
    assert made == converted
    assert type(made) is type(converted)
    if isinstance(made, list):
        assert {type(item) for item in made} == {float}


@pytest.mark.parametrize(
    ("value", "sent"),
    [(1.0, "2"), (1.0, True), (1.0, None), (1.0, [1.0]), (3, 2.5), (True, 1), ("a", 1),
     ([1.0], 1.0), ([1.0], ["x"]), (1.0, float("nan")), (1.0, float("inf"))],
)  # fmt: skip
def test_what_is_nothing_of_the_kind_is_refused(value: object, sent: object) -> None:
    with pytest.raises(InvalidValue, match="x must be"):
        control_of("x", value, "", "").convert(sent)


def test_gains_blend_in_and_limits_do_not() -> None:
    values = {"gains.blend_time": 0.2}
    assert blend_seconds(["gains.stiffness"], values) == 0.2
    assert blend_seconds(["force.cutoff", "limits.effort"], values) == 0.2
    assert blend_seconds(["impedance.stiffness"], values) == 0.2
    assert blend_seconds(["limits.effort"], values) == 0.0


# Lights


def test_red_lights_come_first_and_silence_is_red() -> None:
    lights = Lights()
    lights.hear("a good one", OK, "", {}, 10.0)
    lights.hear("a warning", WARNING, "", {}, 10.0)
    lights.hear("an error", ERROR, "broken", {}, 10.0)
    lights.hear("silent", OK, "fine", {}, 10.0 - 2.0 * SILENCE_SECONDS)
    shown = lights.shown(10.0)
    assert [light["name"] for light in shown] == ["silent", "an error", "a warning", "a good one"]
    assert shown[0]["level"] == SILENT
    assert "it said last: fine" in shown[0]["message"]


def test_the_dead_are_forgotten_unless_missed() -> None:
    lights = Lights()
    lights.hear("gone", OK, "", {}, 0.0)
    lights.hear("missed", OK, "", {}, 0.0)
    shown = lights.shown(1.1 * FORGET_SECONDS, frozenset({"missed"}))
    assert [light["name"] for light in shown] == ["missed"]


def test_a_counter_that_rises_is_lit_for_a_while() -> None:
    lights = Lights()
    for missed, ticks, now in (("0", "10", 0.0), ("3", "20", 1.0)):
        values = {"deadlines missed": missed, "ticks": ticks, "cycles": ticks}
        lights.hear("node", OK, "", values, now)
    assert lights.shown(1.0)[0]["values"] == [
        ["deadlines missed", "3", True],
        ["ticks", "20", False],
        ["cycles", "20", False],
    ]
    later = lights.shown(1.1 + RISING_SECONDS)[0]["values"]
    assert not any(rising for _, _, rising in later)


# Presets


@pytest.fixture
def own_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path / "projected_control" / "presets"


def test_a_preset_is_saved_and_loaded(own_folder: Path) -> None:
    values = {
        "gains.stiffness": [200.0],
        "force.cutoff": 20.0,
        "force.reference": [5.0],
        "coordinates": ["tip.x"],
    }
    path = presets.save("mine", values)
    assert path == own_folder / "mine.yaml"
    assert presets.names() == [*PRESETS, "mine"]
    loaded = presets.load("mine", parameters_of(FORCE))
    assert loaded == {"gains.stiffness": [200.0], "force.cutoff": 20.0}
    yaml.safe_load(path.read_text())  # nodes read it too
    assert read_parameter_file(path) == loaded


@pytest.mark.parametrize("name", ["", "../../etc/passwd", "a b", "paper", "x" * 41, ".hidden"])
def test_names_that_a_preset_cannot_have(own_folder: Path, name: str) -> None:
    with pytest.raises(InvalidValue):
        presets.save(name, {"gains.stiffness": [1.0]})
    assert not own_folder.exists() or not list(own_folder.iterdir())


def test_an_unknown_preset_is_refused(own_folder: Path) -> None:
    with pytest.raises(UnknownName, match="paper"):
        presets.load("../../etc/passwd", parameters_of(FORCE))


# Discovery


def test_controllers_are_known_by_their_topics() -> None:
    joint_state, header = ["sensor_msgs/msg/JointState"], ["std_msgs/msg/Header"]
    topics = {
        "/left/force_controller/state": joint_state,
        "/left/force_controller/heartbeat": header,
        "/motion_controller/state": joint_state,
        "/motion_controller/heartbeat": header,
        "/effort_watchdog/heartbeat": header,
        "/another/state": joint_state,
        "/joint_states": joint_state,
    }
    assert found_controllers.controllers(topics) == ["/left/force_controller", "/motion_controller"]


@pytest.mark.parametrize(
    ("publishers", "simulated", "node"),
    [
        (["/a/simulated_arm_physics"], True, "/a/simulated_arm"),
        (["/a/controller_loop"], True, ""),  # a physics engine steps it
        (["/a/joint_state_broadcaster"], False, ""),
        (["/a/simulated_arm_physics", "/a/driver"], False, ""),
        (["/a/one_physics", "/a/other_physics"], False, ""),
        ([], False, ""),
    ],
)
def test_only_what_is_certain_counts_as_simulated(
    publishers: list[str], simulated: bool, node: str
) -> None:
    arm = found_controllers.arm_of("/a/controller", lambda name, kind: [], lambda topic: publishers)
    assert (arm.topic, arm.simulated, arm.node) == ("/a/joint_states", simulated, node)


@pytest.mark.parametrize("kind", list(CONTROLLERS))
def test_a_kind_is_known_by_its_parameters(kind: str) -> None:
    assert found_controllers.kind_of([*parameters_of(kind), "use_sim_time"]) == kind


def test_a_foreign_node_is_of_no_kind() -> None:
    assert found_controllers.kind_of(["gains.stiffness"]) == ""


# History


def test_each_browser_goes_on_where_it_was() -> None:
    history = History()
    for i in range(5):
        history.add(["x"], float(i), [10.0 * i])
    assert history.since(3) == [(3.0, 30.0), (4.0, 40.0)]
    assert history.since(5) == []
    assert history.newest == {"x": 40.0}


def test_history_is_bounded_and_begins_anew_when_time_goes_back() -> None:
    history = History()
    for i in range(HISTORY + 100):
        history.add(["x"], float(i), [0.0])
    assert len(history.since(0)) == HISTORY
    history.add(["x"], 1.0, [7.0])
    assert history.since(0) == [(1.0, 7.0)]
    history.add(["x", "y"], 2.0, [1.0, 2.0])
    assert history.since(0) == [(2.0, 1.0, 2.0)]
    history.add(["x", "y"], 3.0, [1.0])  # malformed
    assert history.time == 2.0


# Pictures


def scene_of(task: str) -> Scene:
    case = TASKS[task]
    values = read_parameter_file(CONFIG / f"{case.arm}.yaml", case.node)
    return Scene(checked_controller(case.node, own_values(case.node, values)))


def state_of(scene: Scene, q: np.ndarray, **more: float) -> dict[str, float]:
    state = {f"{name}/position": float(x) for name, x in zip(scene.joint_names, q, strict=True)}
    return {**state, **more}


OWN_TASKS = [name for name, case in TASKS.items() if not case.needs_arms]


@pytest.mark.parametrize("task", OWN_TASKS)
def test_every_task_can_be_drawn(task: str) -> None:
    scene = scene_of(task)
    assert scene.looks.note == ""
    picture = scene.frame_at(state_of(scene, 0.1 * np.ones(scene.arm.n)), 0.0)
    assert picture is not None
    assert len(picture["poses"]) == len(scene.looks.parts)
    assert len(picture["torques"]) == scene.arm.n
    json.dumps(picture, allow_nan=False)


def test_without_positions_nothing_is_drawn() -> None:
    scene = scene_of("slider")
    assert scene.frame_at({}, 0.0) is None
    assert scene.frame_at(state_of(scene, np.array([0.0, np.nan, 0.0])), 0.0) is None


def test_forces_and_reference_stand_where_they_should() -> None:
    """The slider is along x: λ = 5 N is a force of 5 N along ±y at the tip."""
    scene = scene_of("slider")
    state = state_of(
        scene,
        np.array([-3.0, 2.0, 1.0]),
        **{"lambda_0": 5.0, "lambda_0/desired": 2.0, "tip.x": 0.1, "tip.x/desired": 0.13},
    )
    picture = scene.frame_at(state, 0.0)
    assert picture is not None
    (force,), (grip,) = picture["forces"], picture["grips"]
    tip = scene.arm.frame("tip").position
    np.testing.assert_allclose(picture["trace"], tip, atol=1e-5)
    np.testing.assert_allclose(np.abs(force["force"]), [0.0, 5.0, 0.0], atol=1e-5)
    np.testing.assert_allclose(
        np.array(force["wanted"]) / force["force"][1], [0, 0.4, 0], atol=1e-5
    )
    np.testing.assert_allclose(grip["at"], tip + np.array([0.03, 0.0, 0.0]), atol=1e-5)
    assert (grip["names"], grip["values"]) == (["tip.x"], [0.13])


def test_contacts_are_drawn_by_their_state_and_a_table_to_its_edge() -> None:
    scene = scene_of("wipe_edge")
    q = np.array([0.0, 0.35, 0.0, -1.7, 0.0, 1.1, 0.0])
    for state in (2.0, 3.0):
        picture = scene.frame_at(state_of(scene, q, **{"lambda_0/state": state}), 0.0)
        assert picture is not None
        (contact,) = picture["contacts"]
        np.testing.assert_allclose(contact["at"], scene.arm.frame("tool").position, atol=1e-5)
        assert (contact["normal"], contact["state"]) == ([0.0, 0.0, -1.0], state)
    (table,) = picture["shapes"]
    middle, *sides = np.array(table["sheet"])
    np.testing.assert_allclose(middle, [0.45, -0.15, 0.3], atol=1e-5)
    np.testing.assert_allclose(np.abs(sides).max(axis=0), [0.25, 0.15, 0.0], atol=1e-5)
    nothing = scene_of("seven_joints").frame_at(state_of(scene, q), 0.0)
    assert nothing is not None
    assert nothing["contacts"] == []


def test_the_force_of_every_contact_is_drawn() -> None:
    """A peg on two walls: an arrow for each, along its own normal, as long as its own λ."""
    scene = scene_of("peg")
    q = np.array([0.0, 0.35, 0.0, -1.7, 0.0, 1.1, 0.0])
    picture = scene.frame_at(state_of(scene, q, lambda_0=4.0, lambda_1=3.0), 0.0)
    assert picture is not None
    forces = [each["force"] for each in picture["forces"]]
    np.testing.assert_allclose(forces, [[4.0, 0.0, 0.0], [0.0, 3.0, 0.0]], atol=1e-5)
    normals = [each["normal"] for each in picture["contacts"]]
    np.testing.assert_allclose(normals, [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]], atol=1e-5)


def test_the_numbers_of_a_geometry_come_back() -> None:
    scene = scene_of("slider")
    blob = scene.geometry("/controller")
    length = int.from_bytes(blob[:4], "little")
    header = json.loads(blob[4 : 4 + length])
    assert (4 + length) % 4 == 0
    data = blob[4 + length :]
    for part, entry in zip(scene.looks.parts, header["parts"], strict=True):
        at, count = entry["vertices"]
        vertices = np.frombuffer(data, "<f4", count, at).reshape(-1, 3)
        np.testing.assert_allclose(vertices, part.vertices, rtol=1e-6, atol=1e-7)
        at, count = entry["triangles"]
        triangles = np.frombuffer(data, "<u4", count, at)
        assert triangles.max() < len(part.vertices)


ROD = """<robot name="rod"><link name="base"/><link name="upper">{visual}</link><link name="tip"/>
<joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/><axis xyz="0 0 1"/>
<limit lower="-3" upper="3" effort="1" velocity="1"/></joint>
<joint name="wrist" type="fixed"><parent link="upper"/><child link="tip"/>
<origin xyz="0.5 0 0"/></joint></robot>"""
MESH = '<visual><geometry><mesh filename="package://nobody/has_this.stl"/></geometry></visual>'
BALL = '<visual><geometry><sphere radius="0.2"/></geometry></visual>'


def test_an_arm_without_looks_is_drawn_as_capsules() -> None:
    looks = geometry.Looks(ROD.format(visual=""), ("shoulder",))
    assert looks.note == ""
    ends = np.concatenate([part.vertices for part in looks.parts])
    assert ends[:, 0].max() == pytest.approx(0.525, abs=0.01)  # the rod, and half its thickness
    (_, turned) = looks.place(np.array([np.pi / 2]))
    np.testing.assert_allclose(
        turned, [0, 0, 0, 0, 0, np.sin(np.pi / 4), np.cos(np.pi / 4)], atol=1e-12
    )


def test_missing_meshes_are_told_and_replaced() -> None:
    looks = geometry.Looks(ROD.format(visual=MESH), ("shoulder",))
    assert "the meshes could not be loaded" in looks.note
    assert looks.parts


def test_a_ball_is_round_and_closed() -> None:
    looks = geometry.Looks(ROD.format(visual=BALL), ("shoulder",))
    (part,) = looks.parts
    np.testing.assert_allclose(np.linalg.norm(part.vertices, axis=1), 0.2, rtol=1e-12)
    a, b, c = (part.vertices[part.triangles[:, i]] for i in range(3))
    volume = np.einsum("ij,ij->", a, np.cross(b, c)) / 6.0
    assert abs(volume) == pytest.approx(4.0 / 3.0 * np.pi * 0.2**3, rel=0.02)


def test_meshes_are_loaded_by_pinocchio(tmp_path: Path) -> None:
    """A tetrahedron, as text."""
    corners = [(0, 0, 0), (1, 0, 0), (0, 1, 0), (0, 0, 1)]
    faces = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
    lines = ["solid t"]
    for face in faces:
        lines += ["facet normal 0 0 0", "outer loop"]
        lines += ["vertex {} {} {}".format(*corners[i]) for i in face]
        lines += ["endloop", "endfacet"]
    (tmp_path / "t.stl").write_text("\n".join([*lines, "endsolid t"]))
    visual = (
        f'<visual><geometry><mesh filename="{tmp_path}/t.stl" scale="2 2 2"/></geometry></visual>'
    )
    looks = geometry.Looks(ROD.format(visual=visual), ("shoulder",))
    assert looks.note == ""
    (part,) = looks.parts
    assert len(part.triangles) == 4
    assert part.vertices.max() == pytest.approx(2.0)


@pytest.mark.parametrize("shape", Shape.__args__)
def test_every_shape_can_be_drawn(shape: type[Shape]) -> None:
    assert shape in sketch.registry


def test_shapes_are_drawn_in_the_axes_of_what_they_move_with() -> None:
    """A frame at (1, 2, 3) m, turned by 90° about z: its x axis is the world's y axis."""
    origin, turn = np.array([1.0, 2.0, 3.0]), pinocchio.utils.rotate("z", np.pi / 2)
    x, z = np.array([1.0, 0.0, 0.0]), np.array([0.0, 0.0, 1.0])
    assert sketch(Point(x), origin, turn)["at"] == pytest.approx([1.0, 3.0, 3.0])
    assert sketch(Line(x, x), origin, turn)["along"] == pytest.approx([0.0, 1.0, 0.0])
    assert sketch(Plane(x, z), origin, turn)["normal"] == pytest.approx([0.0, 0.0, 1.0])
    curve = sketch(Curve(np.array([x, z])), origin, turn)["points"]
    np.testing.assert_allclose(curve, [(1.0, 3.0, 3.0), (1.0, 2.0, 4.0)])


# In the demonstration


@pytest.mark.parametrize(
    ("arguments", "terminal", "wanted"),
    [
        ([], True, True),
        ([], False, False),
        (["--headless"], True, False),
        (["--json"], True, False),
        (["--lockstep"], True, True),
    ],
)
def test_the_demo_serves_the_page_to_people_only(
    monkeypatch: pytest.MonkeyPatch, arguments: list[str], terminal: bool, wanted: bool
) -> None:
    pytest.importorskip("aiohttp", reason="aiohttp is not installed: extra view")
    for stream in (sys.stdin, sys.stderr):
        monkeypatch.setattr(stream, "isatty", lambda: terminal, raising=False)
    assert demo._wants_page(cli.parser().parse_args(["demo", *arguments])) is wanted


@pytest.mark.parametrize(
    ("environment", "display"),
    [({}, False), ({"DISPLAY": ":0"}, True), ({"WAYLAND_DISPLAY": "wayland-0"}, True)],
)
def test_whether_there_is_a_display(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], display: bool
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert page_process.has_display() is display


def test_over_ssh_the_way_there_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SSH_CONNECTION", raising=False)
    assert page_process.way_there("http://localhost:8770/#x") == ""
    monkeypatch.setenv("SSH_CONNECTION", "1.2.3.4 5 6.7.8.9 22")
    assert "ssh -L 8770:localhost:8770 " in page_process.way_there("http://localhost:8770/#x")
