"""Runs: the way from a control loop to an arm, what steps it, and what is kept of every tick.

The interface `Port` and its kinds without ROS, the `Runner`, the row of numbers that says what a
tick did, the recorder that keeps rows in a file, the reader of such files and their replay belong
here. The ports that need ROS are in `ros`. (The function `projected_control.run` has the singular.)

Nothing is imported by this file: the process that writes recordings (`process`) has to start
quickly and to stay small, and so has what it imports. `make lint` checks that it needs no arm.
"""
