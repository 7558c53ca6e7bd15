"""A wall that was not announced, on the way of an arm of real parts."""

from projected_control.apps.experiments.catalogue import run_experiment


def test_a_wall_that_nobody_announced():
    """No larger force than an impedance of equal stiffness, a softer release, no error left."""
    numbers = run_experiment("unannounced").numbers
    ours, other = numbers["projected"], numbers["impedance"]
    assert ours["force_max"] <= other["force_max"]
    assert ours["release_acceleration"] <= other["release_acceleration"]
    assert ours["error_in_the_end"] < 1e-3
    assert 1.0 < ours["force_at_rest"] < other["force_at_rest"]
