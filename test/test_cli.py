"""The command line as a user meets it: help, numbers, refusals, interruption."""

import io
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path

import pytest
from quiet import within

import projected_control
from projected_control import __version__, resources
from projected_control.apps import cli, commands
from projected_control.apps.commands import reproduce
from projected_control.apps.console import interrupt
from projected_control.apps.console.command import Command
from projected_control.apps.console.progress import silent, terminal_progress
from projected_control.apps.experiments import EXPERIMENTS, Options, run_experiment
from projected_control.apps.reports.output import output_folder
from projected_control.errors import InvalidValue

ROOT = Path(__file__).parents[1]
COMMAND = [sys.executable, "-m", "projected_control.apps.cli"]
SHORT = ["--seconds", "0.05"]


def run(capsys, *arguments):
    """Exit status, standard output, standard error."""
    try:
        status = cli.main([str(argument) for argument in arguments])
    except SystemExit as stop:  # as argparse does
        status = stop.code
    captured = capsys.readouterr()
    return status, captured.out, captured.err


# Help


@pytest.mark.parametrize("arguments", [[], ["demo"], ["reproduce"], ["bench"], ["bench", "tick"]])
def test_help(capsys, arguments):
    status, out, err = run(capsys, *arguments, "--help")
    assert (status, err) == (0, "")
    assert "usage: projected-control" in out


def test_help_teaches(capsys):
    _, top, _ = run(capsys, "--help")
    for word in ("demo", "reproduce", "examples:", "exit status"):
        assert word in top
    _, reproduce, _ = run(capsys, "reproduce", "--help")
    for word in ("free-fall", "slider-crank", "fig4", "all", "--q0", "--json", "rad", "m/s²"):
        assert word in reproduce
    for word in ("table1", "table2", "fig5", "fig6", "fig8"):
        assert word in reproduce


def test_public_names():
    for name in projected_control.__all__:
        assert getattr(projected_control, name) is not None
    assert set(projected_control.__all__) <= set(dir(projected_control))
    assert set(projected_control._HOME) | {"__version__"} == set(projected_control.__all__)
    with pytest.raises(AttributeError, match="no_such_name"):
        projected_control.no_such_name  # noqa: B018


def test_version(capsys):
    assert run(capsys, "--version") == (0, f"projected-control {__version__}\n", "")


def test_help_is_quick_because_it_imports_little():
    code = (
        "import sys; from projected_control.apps import cli; cli.parser().format_help(); "
        "print([m for m in ('pinocchio', 'matplotlib', 'numba', 'numpy') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert done.stdout == "[]\n", done.stderr


def test_every_command_has_arguments_and_a_function():
    for command in commands.available():
        assert issubclass(command.Arguments, Command)
        assert callable(command.run)


# Numbers


@pytest.mark.parametrize(
    ("case", "keys"),
    [
        (
            "free-fall",
            "condition_number acceleration_difference residual_max energy_error q_final",
        ),
        ("slider-crank", "crossing_times q1_final residual_max energy_error runs failures"),
        ("fig4", "crossing_times q1_final residual_max energy_error runs failures"),
        ("table1", "table1"),
        ("fig8", "table2"),
    ],
)
def test_json_is_all_there_is(capsys, tmp_path, monkeypatch, case, keys):
    monkeypatch.chdir(tmp_path)
    status, out, err = run(capsys, "reproduce", case, "--json", *SHORT)
    assert (status, err) == (0, "")
    numbers = json.loads(out, parse_constant=pytest.fail)  # neither NaN nor Infinity
    assert set(keys.split()) <= set(numbers)
    assert list(tmp_path.iterdir()) == []  # without --out, no file


def test_json_of_condition_numbers(capsys):
    _, out, _ = run(capsys, "reproduce", "free-fall", "--json", *SHORT)
    numbers = json.loads(out)["condition_number"]
    assert set(numbers) == {"mean", "min", "max"}
    for part in numbers.values():
        assert list(part) == ["M", "R1", "R2", "R3", "R4", "Rstar"]


@pytest.mark.parametrize(
    "names",
    [
        ("free-fall", "slider-crank", "table1", "table2"),
        pytest.param(tuple(EXPERIMENTS), marks=pytest.mark.long),
    ],
    ids=["papers", "all"],
)
def test_json_of_all_is_by_case(capsys, names):
    outcomes = [run_experiment(name, Options(seconds=0.02)) for name in names]
    reproduce._print_json("all", outcomes)
    numbers = json.loads(capsys.readouterr().out)
    assert set(numbers) == set(names)
    for row in ("printed", "ours"):
        assert set(numbers["table1"][row]) == {"two_active", "one_active", "hybrid"}
    for row in ("printed", "nominal", "friction", "friction_offset"):
        assert set(numbers["table2"][row]) == {"idc", "pidc", "hybrid"}
        for values in numbers["table2"][row].values():
            assert {"rms", "peak", "lambda_rms"} <= set(values)
    assert numbers["table2"]["printed"]["pidc"]["lambda_rms"] is None


def test_seeds_are_reproducible(capsys):
    def numbers(seed):
        return run(capsys, "reproduce", "free-fall", "--json", *SHORT, "--seed", seed)[1]

    assert numbers(3) == numbers(3)
    assert numbers(3) != numbers(4)


def test_negative_numbers_in_any_notation(capsys):
    for q0 in (["--q0", "-0.5", "1", "-1"], ["--q0=-5e-1,1,-1"]):
        status, out, _ = run(capsys, "reproduce", "free-fall", "--json", *SHORT, *q0)
        assert status == 0
        assert json.loads(out)["q0"] == [-0.5, 1.0, -1.0]


# Files


def test_reproduce_writes_figures_and_page(capsys, tmp_path):
    folder = tmp_path / "new" / "folder"
    status, out, err = run(capsys, "reproduce", "free-fall", *SHORT, "--out", folder)
    assert (status, err) == (0, "")
    assert str(folder / "free-fall.html") in out
    names = {path.name for path in folder.iterdir()}
    assert {"free-fall.html", "free-fall-motion.png", "free-fall-motion.svg"} <= names
    assert not [name for name in names if name.startswith(".")]


# Refusals


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("reproduce free-fall --q0 1 2", "3 angles"),
        ("reproduce free-fall --q0 nan 0 0", "finite"),
        ("reproduce free-fall --q0 0 0 0", "singular"),
        ("reproduce slider-crank --q0 1 1", "off the slider by 1.75"),
        ("reproduce slider-crank --q0 1.5707963", "singular"),
        ("reproduce slider-crank --seconds -1", "seconds must be positive"),
        ("reproduce slider-crank --seconds 0.001", "at least one sample"),
        ("reproduce free-fall --seconds inf", "seconds must be finite"),
        ("reproduce free-fall --gravity nan", "gravity must be finite"),
        ("reproduce free-fall --seed -1", "seed"),
        ("reproduce all --q0 1 1 1", "--q0"),
        ("reproduce table1 --seed 1", "takes no --seed"),
        ("reproduce fig8 --gravity 1", "takes no --gravity"),
        ("bench tick --seconds 0", "seconds must be positive"),
        ("bench tick --seconds 1e6", "seconds must be at most"),
    ],
)
def test_refused_in_one_line(capsys, arguments, reason):
    status, out, err = run(capsys, *arguments.split(), "--json")
    assert (status, out) == (2, "")
    assert err.startswith("projected-control: ")
    assert err.count("\n") == 1
    assert reason in err


@pytest.mark.parametrize(
    "arguments",
    [
        "",
        "bench",
        "bench nothing",
        "reproduce",
        "reproduce nothing",
        "reproduce free-fall --q0 a",
        "reproduce all --seed x",
    ],
)
def test_usage_errors(capsys, arguments):
    status, out, err = run(capsys, *arguments.split())
    assert (status, out) == (2, "")
    assert "usage:" in err


def test_out_is_checked_before_the_work(capsys, tmp_path, monkeypatch):
    monkeypatch.setattr("projected_control.apps.commands.reproduce.run_experiment", pytest.fail)
    file = tmp_path / "file"
    file.write_text("mine")
    for folder, reason in (
        (file, "it is a file"),
        (file / "below", "a part of the path is a file"),
    ):
        status, out, err = run(capsys, "reproduce", "free-fall", "--out", folder)
        assert (status, out) == (2, "")
        assert reason in err
    assert file.read_text() == "mine"


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_out_without_permission(capsys, tmp_path):
    tmp_path.chmod(0o500)
    status, _, err = run(capsys, "reproduce", "free-fall", "--out", tmp_path / "new")
    assert status == 2
    assert "Permission denied" in err


def test_interrupt_leaves_nothing(tmp_path):
    folder = tmp_path / "out"
    arguments = ["reproduce", "slider-crank", "--seconds", "1000", "--out", str(folder)]
    process = subprocess.Popen(
        [*COMMAND, *arguments], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    deadline = time.monotonic() + 60.0
    while not folder.exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    # Python ends itself by the signal if a module's import was interrupted; shells call both 130.
    assert process.returncode in (130, -signal.SIGINT), err
    assert (out, err) == ("", "projected-control: interrupted\n")
    assert list(tmp_path.iterdir()) == []


def test_interrupt_while_a_folder_is_made_leaves_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: _interrupted())
    with pytest.raises(KeyboardInterrupt), output_folder(tmp_path / "out" / "inner"):
        pytest.fail("the work must not begin")
    assert list(tmp_path.iterdir()) == []


def _interrupted():
    raise KeyboardInterrupt


def test_interrupt_swallowed_by_a_library():
    with interrupt.remembered():
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            silent("the work", 0.5)
    with interrupt.remembered():
        silent("the next work", 0.5)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_reader_that_goes_away():
    process = subprocess.Popen(
        [*COMMAND, "reproduce", "free-fall", "--json", *SHORT],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.close()
    _, err = process.communicate(timeout=60)
    assert err == ""
    assert process.returncode == cli.EXIT_BROKEN_PIPE


# Progress and resources


def test_progress_only_on_a_terminal():
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    with terminal_progress(io.StringIO()) as progress:
        assert progress is silent
    stream = Terminal()
    with terminal_progress(stream) as progress:
        progress("falling", 0.0)
        progress("falling", 1.0)
    assert "falling" in stream.getvalue()


def test_share_files():
    assert resources.share_file("urdf", "slider_crank.urdf.xacro").is_file()
    with pytest.raises(resources.MissingResource, match="searched"):
        resources.share_file("urdf", "missing.urdf")
    with pytest.raises(InvalidValue, match="relative"):
        resources.share_file("..", "setup.py")


def test_share_of_a_workspace_comes_first(tmp_path, monkeypatch):
    installed = tmp_path / "share" / "projected_control" / "config" / "gains.yaml"
    installed.parent.mkdir(parents=True)
    installed.write_text("")
    monkeypatch.setattr(sys, "prefix", str(tmp_path))
    monkeypatch.setattr(resources, "_ament_share", lambda: None)
    assert resources.share_file("config", "gains.yaml") == installed
    workspace = tmp_path / "workspace"
    (workspace / "config").mkdir(parents=True)
    (workspace / "config" / "gains.yaml").write_text("")
    monkeypatch.setattr(resources, "_ament_share", lambda: workspace)
    assert resources.share_file("config", "gains.yaml") == workspace / "config" / "gains.yaml"


# Doctor


def test_doctor_says_what_was_found_and_what_to_do(capsys):
    assert cli.main(["doctor"]) in (0, 1)
    out = capsys.readouterr().out
    for subject in ("real-time priority", "memory that may be locked", "rclpy", "ROS_DOMAIN_ID"):
        assert subject in out


def test_doctor_gives_advice_wherever_something_could_be_better(capsys):
    cli.main(["doctor", "--json"])
    findings = json.loads(capsys.readouterr().out)
    assert len(findings) > 15
    for finding in findings:
        assert finding["found"]
        assert bool(finding["advice"]) == (finding["verdict"] != "good"), finding


def test_doctor_sees_what_the_environment_says(capsys, monkeypatch, tmp_path):
    monkeypatch.setenv("ROS_DOMAIN_ID", "77")
    monkeypatch.setenv("PROJECTED_CONTROL_COMPILE", "0")
    monkeypatch.setenv("FASTRTPS_DEFAULT_PROFILES_FILE", str(tmp_path / "none.xml"))
    index = tmp_path / "share" / "ament_index" / "resource_index" / "packages"
    index.mkdir(parents=True)
    (index / "controller_manager").write_text("")
    monkeypatch.setenv("AMENT_PREFIX_PATH", str(tmp_path))
    cli.main(["doctor", "--json"])
    found = {f["subject"]: f for f in json.loads(capsys.readouterr().out)}
    assert found["ROS_DOMAIN_ID"]["found"] == "77"
    assert found["library of kernels"]["found"] == "switched off"
    assert "none.xml is not there" in found["DDS profile"]["found"]
    assert found["controller_manager"]["verdict"] == "good"
    assert found["effort_controllers"]["verdict"] == "fair"


SLIDER = "config/three_link_slider.yaml"
FILE = ["numpy", "projected_control.settings"]  # what is not loaded to say that a file is not there


@pytest.mark.parametrize(
    ("command", "unused"),
    [
        (["check", "nowhere.yaml"], FILE),
        (["ik", "nowhere.yaml"], FILE),
        (["replay", "nowhere.mcap"], FILE),
        (["fit", "plane", "."], FILE),
        (["check", SLIDER, "--set", "gains.stifness:=1"], []),
        (["demo", "--controller", "nothing"], []),
    ],
    ids=lambda each: "_".join(each).replace("/", "_"),
)
def test_a_mistake_is_told_at_once(command, unused):
    """Without what takes long to load."""
    code = (
        "import sys; from projected_control.apps.cli import main; status = main(sys.argv[2:]); "
        "slow = {'coal', 'scipy', 'matplotlib', 'rclpy', 'numba', *sys.argv[1].split(',')}; "
        "sys.exit(f'{status} {slow & {*sys.modules}}')"
    )
    python = [sys.executable, "-c", code, ",".join(unused)]
    done = subprocess.run([*python, *command], capture_output=True, text=True, cwd=ROOT)
    assert done.stderr.splitlines()[-1] == "2 set()", done.stderr
    if unused:
        assert done.stderr.startswith(f"projected-control: cannot read {command[-1]}: ")


@pytest.mark.quiet
@pytest.mark.parametrize(
    ("mistake", "bound"),
    [(["nowhere.yaml"], 0.2), ([SLIDER, "--set", "gains.stifness:=1"], 0.3)],
    ids=["file", "parameter"],
)
def test_what_a_mistake_costs(mistake, bound):
    """In processor time; for the second all parameters have to be known."""

    def spent(command, status):
        took = []
        for _ in range(3):
            before = os.times()
            done = subprocess.run(command, capture_output=True, cwd=ROOT)
            assert done.returncode == status
            took.append(sum(os.times()[2:4]) - sum(before[2:4]))
        return min(took)

    # Bounds are of a processor that imports NumPy in 0.08 s; a slower one may take longer.
    slower = max(spent([sys.executable, "-c", "import numpy"], 0) / 0.08, 1.0)
    within(slower * bound, spent([*COMMAND, "check", *mistake], 2), "an error of the command line")


def test_a_file_may_be_a_pipe(tmp_path):
    """It is opened once, by what reads it."""
    pipe = tmp_path / "settings.yaml"
    os.mkfifo(pipe)
    process = subprocess.Popen([*COMMAND, "check", pipe], stderr=subprocess.PIPE, text=True)
    pipe.write_text("nothing: 1")
    assert "'nothing' stands outside of ros__parameters" in process.communicate()[1]


def test_what_is_built_against_pinocchio_finds_its_library():
    """From a command, which loads it when it is used: that is a use."""
    code = (
        "from projected_control.apps.cli import LoadedWhenUsed\n"
        "LoadedWhenUsed('pinocchio')\n"
        "from projected_control.native.build import pinocchio_library\n"
        "assert pinocchio_library().is_file()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_pinocchio_is_loaded_when_it_is_used():
    code = (
        "import sys; from projected_control.apps.cli import LoadedWhenUsed\n"
        "LoadedWhenUsed('pinocchio'); import pinocchio; assert 'coal' not in sys.modules\n"
        "assert pinocchio.__spec__.name == 'pinocchio'; assert 'coal' not in sys.modules\n"
        "assert pinocchio.__version__; assert 'coal' in sys.modules\n"
        "import pinocchio as real; assert real is not pinocchio; assert pinocchio.SE3 is real.SE3\n"
        "assert not hasattr(pinocchio, 'nothing')\n"
        "from importlib.util import find_spec; assert find_spec('pinocchio') is not None\n"
        "LoadedWhenUsed('of_no_package'); assert 'of_no_package' not in sys.modules"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
