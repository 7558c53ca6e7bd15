"""Applications: the command ``projected-control``, and what launch files need.

Demo, reproduction of the papers, check, doctor, measurements and their reports belong here. Nothing
else in the package imports from here, and only here are matplotlib and rich used (the extra
``apps``).
"""
