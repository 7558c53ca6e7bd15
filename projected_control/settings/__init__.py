"""Settings: what parameter files say, and what is built from it.

The declaration of every parameter with unit and range, typed settings, reading of files and their
order, and the functions that build arms, controllers, references and plants belong here. No ROS is
needed.
"""
