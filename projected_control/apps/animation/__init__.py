"""Moving pictures of arms: of tasks, experiments, constraints, recordings and parameter files.

What is to be seen (`film`), where it comes from (`sources`), how it is drawn (`drawing`) and the
files it becomes (`encoding`) belong here; the subcommand is `apps.commands.animate`.
"""
