"""The flight check: margins along a whole reference, what is closest to its limit, and where."""

import json
import re
from pathlib import Path

import numpy as np
import pytest

from projected_control.apps.cli import main
from projected_control.control.stability import MotionLoop
from projected_control.planning.margins import Light
from projected_control.settings import build
from projected_control.settings.layers import Layers
from projected_control.settings.nodes import FORCE, MOTION, PASSIVE

CONFIG = Path(__file__).parents[1] / "config"
ARM = CONFIG / "seven_joints.yaml"


def flown(file=ARM, node=FORCE, **changes):
    names = {name.replace("__", "."): value for name, value in changes.items()}
    layers = Layers.read([file], "paper").on_top(names, "test")
    settings = layers.controller(node)
    q = build.build_plant(layers.arm()).truth.q
    return build.fly(build.build_loop(node, settings), settings, q)


def quantity(check, name):
    (found,) = (each for each in check.quantities if each.name.startswith(name))
    return found


def test_a_raster_that_fits_is_green_and_everything_is_looked_at():
    check = flown()
    assert check.light is Light.GREEN
    names = " ".join(each.name for each in check.quantities)
    for word in ("effort", "velocity", "position", "independence", "singular", "motion", "force"):
        assert word in names
    assert (check.rank == 1).all()
    assert check.manipulability.min() > 0.0
    margins = [each.least for each in check.quantities]
    assert margins == sorted(margins)
    assert check.quantities[0].name in check.nearest


def test_the_effort_along_the_way_is_what_a_run_sends():
    """The largest effort within 5 % of what the simulated arm is sent on the same raster."""
    from projected_control.apps.demo.task_run import run_task

    layers = Layers.read([ARM], "paper")
    run = run_task(FORCE, layers.controller(FORCE), layers.arm(), 6000)
    check = flown()
    effort = quantity(check, "effort of")
    late = (check.times >= 1.0) & (check.times < 6.0)
    sent = run.samples.effort_ratio[run.samples.times >= 1.0].max()
    assert 1.0 - effort.margin[late].min() == pytest.approx(sent, rel=0.05)


def test_what_friction_takes_is_in_the_efforts():
    """A path that stays as fast: the largest effort grows by the friction of that joint."""
    plain, rough = flown(), flown(compensation__coulomb=[4.0], compensation__width=[1e-3])
    before, now = quantity(plain, "effort of"), quantity(rough, "effort of")
    assert rough.times[-1] == pytest.approx(plain.times[-1])
    assert now.name == before.name
    assert now.value - before.value == pytest.approx(4.0, abs=0.2)


def uppers(above):
    """Upper limits with which joint 2 stays so far below its own on the raster [rad]."""
    largest = float(flown().q[:, 1].max())
    return [2.9, largest + above, 2.9, 2.6, 2.9, 2.0, 3.0]


@pytest.mark.parametrize(("above", "light"), [(0.05, "yellow"), (-0.01, "red")])
def test_what_comes_near_its_limit_is_yellow_and_what_passes_it_red(above, light):
    check = flown(limits__upper=uppers(above))
    assert check.quantities[0].name == "position of joint_2"
    assert check.light.value == light


def test_a_force_loop_near_divergence_is_yellow():
    check = flown(force__proportional=6.0)
    assert check.quantities[0].name == "gain margin of the force loop"
    assert check.light is Light.YELLOW


def test_the_place_of_the_worst_margin_is_where_it_is():
    check = flown()
    worst = quantity(check, "position of")
    q, limits = check.q[worst.worst], build.build_arm(Layers.read([ARM]).arm()).limits
    j = int(worst.name.removeprefix("position of joint_")) - 1
    assert q[j] == pytest.approx(worst.value)
    half = 0.5 * (limits.upper[j] - limits.lower[j])
    left = min(q[j] - limits.lower[j], limits.upper[j] - q[j])
    assert worst.least == pytest.approx(min(2.0 * left / half, 1.0))


def test_passive_joints_are_looked_at_along_the_way():
    layers = Layers.read([CONFIG / "slider_crank.yaml"], "paper")
    settings = layers.controller(PASSIVE)
    loop = build.build_loop(PASSIVE, settings)
    check = build.fly(loop, settings, build.build_plant(layers.arm()).truth.q)
    assert quantity(check, "controllability").value == pytest.approx(1.0 / np.sqrt(5.0), abs=0.01)


def test_the_motion_loop_diverges_at_its_margin():
    loop = MotionLoop(480.0, 45.0, 1e-3, 3)
    margin = loop.gain_margin
    assert MotionLoop(0.999 * margin * 480.0, 0.999 * margin * 45.0, 1e-3, 3).stable
    assert not MotionLoop(1.001 * margin * 480.0, 1.001 * margin * 45.0, 1e-3, 3).stable


def test_the_command_prints_draws_and_exits_by_the_light(tmp_path, capsys):
    picture = tmp_path / "check.png"
    command = ["check", str(ARM), "--preset", "paper"]
    assert main([*command, "--picture", str(picture)]) == 0
    printed = capsys.readouterr().out
    assert "GREEN: " in printed
    assert re.search(r"manipulability of the coordinates: 0\.\d+ at least, at \d", printed)
    assert picture.read_bytes().startswith(b"\x89PNG")
    tight = f"limits.upper:={uppers(-0.01)}"
    assert main([*command, "--json", "--set", tight]) == 1
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["light"] == numbers["flight"]["light"] == "red"
    assert numbers["flight"]["quantities"][0]["name"] == "position of joint_2"
    assert len(numbers["flight"]["quantities"][0]["q"]) == 7


def test_a_path_out_of_reach_is_red_with_the_reason(capsys):
    command = ["check", str(ARM), "--set", "reference.centre:=[0.0, 1.2]"]
    assert main(command) == 1
    assert "TROUBLE: the reference cannot be followed" in capsys.readouterr().out


@pytest.mark.parametrize("preset", ["paper", "gentle", "stiff", "delayed"])
def test_integral_action_on_stable_gains_is_green(preset, capsys):
    command = ["check", str(ARM), "--preset", preset, "--set", "disturbance.kind:=integral"]
    assert main([*command, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)["flight"]["quantities"]
    for name in ("gain margin of the motion loop", "gain reduction margin of the motion loop"):
        assert next(q for q in found if q["name"] == name)["light"] == "green"


def test_limits_that_bind_are_told_with_where_and_what_is_left(capsys):
    """The slider arm at 2.7 N·m: spare motors carry most of it; at 1.2 N·m the path waits."""
    slider = CONFIG / "three_link_slider.yaml"
    tight, loose, none = (
        flown(slider, MOTION, limits__effort=[limit]) for limit in (1.2, 3.0, 10.0)
    )
    assert none.binding == ()
    assert none.light is Light.GREEN
    assert {stretch.what for stretch in loose.binding} == {"torque of joint_2"}
    assert min(stretch.share for stretch in loose.binding) == 1.0
    effort = quantity(loose, "effort of")
    assert effort.value > effort.limit
    assert loose.light is Light.YELLOW  # other motors take it over
    assert tight.light is Light.RED
    worst = min(tight.binding, key=lambda stretch: stretch.share)
    assert worst.what == "torque of joint_1 and joint_2"
    assert 0.3 < worst.share < 0.6
    assert 0.2 < worst.begin < worst.end < 0.8
    values = ["--preset", "paper", "--node", "motion_controller", "--set", "limits.effort:=[1.2]"]
    assert main(["check", str(slider), *values]) == 1
    assert "limits: torque of joint_1 and joint_2 (0." in (printed := capsys.readouterr().out)
    assert "the path waits" in printed
    assert main(["check", str(slider), *values, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)["flight"]["binding"]
    assert {"from", "to", "what", "motion_share", "force_given_up"} == set(told[0])


def test_what_binds_along_the_way_is_what_binds_in_the_run():
    """The share of the motion that the check finds is the least that the first tick there has."""
    slider = CONFIG / "three_link_slider.yaml"
    layers = Layers.read([slider], "paper").on_top({"limits.effort": [1.2]}, "test")
    from projected_control.apps.demo.task_run import run_task

    run = run_task(MOTION, layers.controller(MOTION), layers.arm(), 700)
    bound = run.kept.column("binds").any(axis=1)
    first = run.kept.column("stamp")[bound][0]
    check = flown(slider, MOTION, limits__effort=[1.2])
    assert check.binding[0].begin == pytest.approx(first, abs=0.03)
