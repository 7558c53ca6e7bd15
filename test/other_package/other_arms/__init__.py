"""Another package that adds a constraint, a law with its node, and a port.

The tests put it on the path with its entry points (see `test_other_package`)::

    [project.entry-points."projected_control.constraints"]
    circle = "other_arms.circle:RECORD"

    [project.entry-points."projected_control.controllers"]
    yielding_controller = "other_arms.yielding:RECORD"

    [project.entry-points."projected_control.ports"]
    virtual = "other_arms.virtual_arm:RECORD"
"""
