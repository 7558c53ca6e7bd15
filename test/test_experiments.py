"""The papers' cases against the numbers they must meet, and the parts they are made of."""

from dataclasses import FrozenInstanceError, replace
from html.parser import HTMLParser
from itertools import pairwise
from math import pi

import numpy as np
import pytest

from projected_control.apps.console.progress import silent
from projected_control.apps.experiments import (
    EXPERIMENTS,
    Options,
    free_fall,
    names_of,
    run_experiment,
    slider_crank,
    table2_cases,
)
from projected_control.apps.experiments import table1 as table1_module
from projected_control.apps.experiments.case import ConstantEffort
from projected_control.apps.experiments.case_run import attempt, simulate
from projected_control.apps.experiments.paper_controllers import rms_norm
from projected_control.apps.experiments.random_starts import study_random_starts
from projected_control.apps.reports.contents import as_json
from projected_control.apps.reports.output import (
    CannotWrite,
    output_folder,
    page,
    publish,
    write_files,
)
from projected_control.apps.reports.style import render
from projected_control.control import Law
from projected_control.errors import InvalidValue, ProjectedControlError, SimulationFailed
from projected_control.model.constrained_arm import ConstrainedArm
from projected_control.planning import start_of
from projected_control.simulation import JointFriction


@pytest.fixture(scope="module")
def fall():
    return run_experiment("free-fall")


@pytest.fixture(scope="module")
def crank():
    """The run of the paper, without the random starts."""
    return simulate(slider_crank.describe(Options()))


# Free fall


@pytest.mark.parametrize(
    ("matrix", "mean"),
    [("M", 70.4), ("R1", 25.6), ("R2", 52.2), ("R3", 42.6), ("R4", 50.5), ("Rstar", 18.5)],
)
def test_free_fall_condition_numbers(fall, matrix, mean):
    numbers = fall.numbers["condition_number"]
    assert numbers["mean"][matrix] == pytest.approx(mean, abs=0.05)
    assert numbers["min"][matrix] <= numbers["mean"][matrix] <= numbers["max"][matrix]


def test_free_fall_roads_agree(fall):
    assert fall.numbers["acceleration_difference"] < 1e-12
    assert fall.numbers["Rstar_margin"] > 1.0 - 1e-9  # never beaten, not even by a random R
    assert fall.numbers["residual_max"] < 1e-11
    assert fall.numbers["samples"] == 201


def test_free_fall_energy_is_a_matter_of_the_step(fall):
    case = free_fall.describe(Options())
    coarse, fine = simulate(case), simulate(replace(case, steps_per_sample=10))
    assert coarse.energy_error == fall.numbers["energy_error"] < 0.03
    assert fine.energy_error < 1e-7
    assert np.abs(fine.q[-1] - coarse.q[-1]).max() < 0.01


def test_options_change_the_case():
    options = Options(q0=(0.2, 0.9, -0.4), seconds=0.1, gravity=1.6, seed=5)
    numbers = run_experiment("free-fall", options).numbers
    assert numbers["q0"] == (0.2, 0.9, -0.4)
    assert (numbers["seconds"], numbers["gravity"]) == (pytest.approx(0.1), 1.6)
    other = run_experiment("free-fall", replace(options, seed=6)).numbers
    key = "condition_number_random_R_median"
    assert numbers[key] != other[key]
    assert as_json(numbers) == as_json(run_experiment("free-fall", options).numbers)


# Slider-crank


def test_crank_passes_its_singularities(crank):
    times = slider_crank.crossings(crank)
    assert times[0] == pytest.approx(3.719, abs=5e-4)
    at = np.interp(times, crank.time, crank.q[:, 0])
    np.testing.assert_allclose(at, [3 * pi / 2, 5 * pi / 2], atol=1e-4)
    assert crank.residual_max < 1e-11
    assert crank.energy_error < 1e-4
    np.testing.assert_allclose(crank.q[:, 1], 2 * pi - 2 * crank.q[:, 0], atol=1e-8)


@pytest.mark.parametrize("gravity", [0.0, 9.81])
def test_crank_follows_the_closed_form(gravity):
    options = Options(q0=(0.3,), gravity=gravity, seconds=2.0)
    recording = simulate(slider_crank.describe(options))
    exact = slider_crank.closed_form(recording)
    assert np.abs(recording.q[:, 0] - exact).max() < 1e-5


def test_crank_force_is_smooth_where_the_multiplier_is_not(crank):
    force, multiplier = crank.constraint_force[:, 0], crank.multipliers[:, 0]
    k = int(np.searchsorted(crank.time, slider_crank.crossings(crank)[0]))
    assert abs(force[k] - force[k - 1]) < 0.05
    assert abs(multiplier[k] - multiplier[k - 1]) > 10.0


def test_crossings_backwards():
    """Turned the other way, the crank passes downwards."""
    case = replace(slider_crank.describe(Options(seconds=6.0)), drive=ConstantEffort((-1.0, 0.0)))
    times = slider_crank.crossings(simulate(case))
    assert len(times) >= 2
    assert times == sorted(times)


def test_random_starts_need_the_velocity_correction():
    case = slider_crank.describe(Options(seconds=10.0))
    study = study_random_starts(case, 6, 1, silent)
    assert study.both.failures == 0
    assert study.both.energy_error < 1e-2
    assert study.position_only.failures >= 4


# Control of the slider-crank: Table I


@pytest.fixture(scope="module")
def table1():
    return run_experiment("table1")


def test_table1(table1):
    numbers = table1.numbers["table1"]
    assert numbers["printed"] == {"two_active": 1.18, "one_active": 2.44, "hybrid": 2.65}
    expected = {"two_active": 1.321, "one_active": 2.954, "hybrid": 1.558}
    for name, value in expected.items():
        assert numbers["ours"][name] == pytest.approx(value, rel=1e-3)
        assert numbers["continuous"][name] == pytest.approx(value, rel=1e-3)
        assert numbers["q1_final"][name] == pytest.approx(pi / 3, abs=1e-8)
    assert numbers["guard_interventions"] == 0


def test_one_motor_needs_root_five_times_the_torque(table1):
    assert table1.numbers["table1"]["ratio"] == pytest.approx(np.sqrt(5), rel=1e-9)
    options = Options(gravity=9.81, seconds=0.3)
    numbers = run_experiment("table1", options).numbers["table1"]
    assert numbers["ratio"] == pytest.approx(np.sqrt(5), rel=1e-9)
    for name, value in numbers["continuous"].items():
        assert numbers["ours"][name] == pytest.approx(value, rel=0.02)
    assert any("√5" in text and "2.07" in text for text in table1.differences)


def test_passive_joint_gets_no_torque_and_hybrid_no_force(table1):
    cases = table1_module.describe(Options(seconds=0.2))
    assert not simulate(cases["one_active"]).effort[:, 1].any()
    force = table1.numbers["table1"]["lambda_rms"]
    assert force["hybrid"] < 1e-3 * force["two_active"]


def test_force_filter_of_table1_does_not_matter():
    case = table1_module.describe(Options(seconds=0.5))["hybrid"]
    slow, fast = (
        replace(case.drive, force_gains=replace(case.drive.force_gains, cutoff=hertz))
        for hertz in (10.0, 200.0)
    )
    torques = [rms_norm(simulate(replace(case, drive=drive))) for drive in (slow, fast)]
    assert torques[0] == pytest.approx(torques[1], rel=1e-4)


# The arm on its slider: Table II


@pytest.fixture(scope="module")
def table2():
    return run_experiment("table2")


@pytest.mark.parametrize(
    ("row", "controller", "rms", "peak"),
    [
        ("nominal", "idc", 2.483, 2.830),
        ("nominal", "pidc", 1.500, 1.950),
        ("nominal", "hybrid", 2.483, 2.830),
        ("friction", "idc", 2.829, 3.687),
        ("friction", "pidc", 1.623, 2.400),
        ("friction", "hybrid", 2.598, 3.330),
        ("friction_offset", "idc", 3.762, 4.652),
        ("friction_offset", "pidc", 1.623, 2.400),
        ("friction_offset", "hybrid", 2.598, 3.330),
    ],
)
def test_table2(table2, row, controller, rms, peak):
    numbers = table2.numbers["table2"][row][controller]
    assert numbers["rms"] == pytest.approx(rms, abs=1e-3)
    assert numbers["peak"] == pytest.approx(peak, abs=1e-3)


def test_table2_printed(table2):
    printed = table2.numbers["table2"]["printed"]
    assert printed["idc"] == {"rms": 3.18, "peak": 4.90, "lambda_rms": None}
    assert list(printed) == ["idc", "pidc", "hybrid"]


def test_table2_forces(table2):
    numbers = table2.numbers["table2"]
    assert numbers["guard_interventions"] == 0
    assert numbers["force_reduction"] == pytest.approx(4.0, rel=0.02)  # 1 + G_F
    assert numbers["nominal"]["idc"]["lambda_rms"] < 0.01
    assert numbers["friction"]["pidc"] == numbers["friction_offset"]["pidc"]  # P knows no place
    for name in ("idc", "pidc", "hybrid"):
        assert numbers["nominal"][name]["x_error_max"] < 1e-5


def test_runs_start_on_their_reference():
    case = table2_cases.describe(table2_cases.SETTINGS["nominal"], "pidc", Options())
    model = ConstrainedArm(case.arm.load(), case.constraint, table2_cases.COORDINATES)
    model.evaluate(np.array(case.q0), np.array(case.v0))
    point = table2_cases.REFERENCE.at(0.0)
    np.testing.assert_allclose(model.theta, point.value, atol=1e-12)
    np.testing.assert_allclose(model.theta_rate, point.rate, atol=1e-12)
    np.testing.assert_allclose(model.A @ model.v, 0.0, atol=1e-12)
    np.testing.assert_allclose(case.q0, [-3.82226, 2.39542, 1.42684], atol=1e-5)  # the branch
    with pytest.raises(InvalidValue, match="coordinates"):
        start_of(ConstrainedArm(case.arm.load()), table2_cases.REFERENCE, case.q0)


def test_controlled_outcomes_are_drawn(table1, table2):
    for outcome in (table1, table2):
        for picture in outcome.pictures:
            assert render(picture.draw).png.startswith(b"\x89PNG")


def test_hybrid_needs_force_gains():
    case = table1_module.describe(Options())["two_active"]
    with pytest.raises(InvalidValue, match="force gains"):
        simulate(replace(case, drive=replace(case.drive, law=Law.HYBRID)))


# Starts that are refused


@pytest.mark.parametrize(
    ("case", "q0", "reason"),
    [
        ("free-fall", (0.1, 0.2), "3 angles"),
        ("free-fall", (0.0, 0.0, 0.0), "singular"),
        ("slider-crank", (1.0, 1.0), "off the slider by 1.75"),
        ("slider-crank", (1.0, 1.0, 1.0), "q1, or q1 and q2"),
        ("slider-crank", (), "q1, or q1 and q2"),
    ],
)
def test_bad_start(case, q0, reason):
    with pytest.raises(ProjectedControlError, match=reason):
        run_experiment(case, Options(q0=q0))


def test_a_start_typed_with_few_digits_is_put_on_the_slider():
    case = slider_crank.describe(Options(q0=(2.0944, 2.0944)))
    assert case.q0[1] == pytest.approx(2 * pi - 2 * case.q0[0], abs=1e-11)


@pytest.mark.parametrize(
    "values",
    [
        {"q0": (np.nan, 0.0)},
        {"seconds": 0.0},
        {"seconds": np.inf},
        {"seconds": 1e6},
        {"gravity": np.nan},
        {"seed": -1},
    ],
)
def test_bad_options(values):
    with pytest.raises(InvalidValue, match=next(iter(values))):
        Options(**values)


def test_all_takes_no_option_of_a_single_case():
    assert names_of("all", Options(seed=3)) == list(EXPERIMENTS)
    assert names_of("fig4", Options()) == ["slider-crank"]
    assert names_of("fig5", Options()) == names_of("fig6", Options()) == ["table1"]
    assert names_of("fig8", Options()) == ["table2"]
    with pytest.raises(InvalidValue, match="takes no --gravity"):
        names_of("table2", Options(gravity=1.0))
    with pytest.raises(InvalidValue, match="--gravity"):
        names_of("all", Options(gravity=1.0))
    with pytest.raises(ProjectedControlError, match="free-fall"):
        names_of("free_fall", Options())


# Cases and the runner


def test_cases_are_data():
    case = slider_crank.describe(Options())
    with pytest.raises(FrozenInstanceError):
        case.seconds = 1.0
    with pytest.raises(InvalidValue, match="at least one sample"):
        replace(case, seconds=1e-3)
    with pytest.raises(ProjectedControlError, match="dormand-prince"):
        replace(case, tableau="euler")


def test_first_sample_has_the_force_of_the_first_effort(crank):
    np.testing.assert_allclose(crank.effort, [[1.0, 0.0]] * len(crank.time))
    jump = np.abs(np.diff(crank.constraint_force[:3], axis=0)).max()
    assert jump < 1e-3


def test_friction_takes_energy_away():
    case = slider_crank.describe(Options(seconds=2.0))
    rough = simulate(replace(case, friction=JointFriction(viscous=0.3)))
    smooth = simulate(case)
    assert rough.energy[-1] < 0.7 * smooth.energy[-1]
    assert rough.energy_error < 1e-6


def test_a_failed_run_keeps_what_came_before():
    start = slider_crank.describe(Options(q0=(0.5,), seconds=10.0))
    broken = attempt(replace(start, correct_velocity=False))
    assert broken.failure is not None
    assert 0 < len(broken.time) < start.samples
    with pytest.raises(SimulationFailed):
        simulate(replace(start, correct_velocity=False))


def test_progress_reaches_its_end():
    seen = []
    case = slider_crank.describe(Options(seconds=0.5))
    simulate(case, lambda what, fraction: seen.append((what, fraction)))
    assert seen[0] == ("slider-crank", 0.0)
    assert seen[-1] == ("slider-crank", 1.0)
    assert all(a[1] <= b[1] for a, b in pairwise(seen))


# Files and the page


class Outline(HTMLParser):
    """Tags that are open, and everything that would be fetched."""

    def __init__(self):
        super().__init__()
        self.open, self.fetched, self.images = [], [], 0

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.fetched += [v for k, v in values.items() if k in ("src", "href", "data", "srcset")]
        self.images += tag == "img"
        if tag not in ("meta", "img", "br", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_report_page_stands_alone(fall, tmp_path):
    files = {path.name: path for path in publish(tmp_path, [fall], "page.html")}
    text = files["page.html"].read_text()
    outline = Outline()
    outline.feed(text)
    assert outline.open == []
    assert outline.images == len(fall.pictures)
    assert all(link.startswith(("data:", "#")) for link in outline.fetched)
    assert "@import" not in text
    for picture in fall.pictures:
        assert picture.title in text
        assert files[f"{picture.name}.png"].read_bytes().startswith(b"\x89PNG")
        assert b"<svg" in files[f"{picture.name}.svg"].read_bytes()
    assert not [path for path in tmp_path.iterdir() if path not in files.values()]
    again = publish(tmp_path / ".", [fall], "page.html")
    assert {p.name for p in again} == set(files)
    assert files["page.html"].read_text() == text  # the same numbers give the same file


def test_page_of_several(fall):
    svg = {picture.name: b"<svg/>" for picture in fall.pictures}
    text = page([fall, replace(fall, name="other", title="Less < than & more")], svg)
    assert 'href="#other"' in text
    assert "Less &lt; than &amp; more" in text


def test_subscripts_on_the_page(fall):
    text = page(
        [replace(fall, pictures=(), summary="G_P = 1, λ_d = 0, joint_1, M_c*, a_bc, x_d(t)")], {}
    )
    sub = "<sub>{}</sub>".format
    assert f"G{sub('P')} = 1, λ{sub('d')} = 0, joint_1, M{sub('c')}*, a_bc, x{sub('d')}(t)" in text


def test_nothing_is_written_by_half(tmp_path, monkeypatch):
    (tmp_path / "b.txt").write_bytes(b"old")
    written = []

    def full_disk(handle):
        written.append(handle)
        if len(written) == 2:
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("projected_control.apps.reports.output.os.fsync", full_disk)
    with pytest.raises(CannotWrite, match="No space left"):
        write_files(tmp_path, {"a.txt": b"new", "b.txt": b"new"})
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == {"b.txt": b"old"}


def test_interrupted_writing_leaves_nothing(tmp_path, monkeypatch):
    def interrupt(handle):
        raise KeyboardInterrupt

    monkeypatch.setattr("projected_control.apps.reports.output.os.fsync", interrupt)
    with pytest.raises(KeyboardInterrupt), output_folder(tmp_path / "new" / "deep") as folder:
        write_files(folder, {"a.txt": b"new"})
    assert list(tmp_path.iterdir()) == []


def test_output_folder_that_was_there_stays(tmp_path):
    with output_folder(tmp_path) as folder:
        assert folder == tmp_path
    assert tmp_path.is_dir()
