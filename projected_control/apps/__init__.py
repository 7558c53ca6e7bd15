"""Applications: the command ``projected-control``, and what launch files need.

Nothing else in the package imports from here, and only here are matplotlib and rich used (the extra
``apps``). Each part has a package of its own, and `cli` starts all of them::

    commands     what the command line offers, one module each
    console      what every command shares: arguments, progress, missing extras, interruption
    reports      what commands report with: numbers, tables, figures, pages, files
    fleet        nodes as processes, in a ROS domain of their own, watched
    demo         the demonstration
    experiments  the papers' tables and figures
    bench        measurements with a bound
    assess       what is found out about an arm before it is trusted
    tuning       gains from measurements
    sweeps       many runs on all cores or a cluster, and how sure bounds are
    recordings   what is made of a recorded run
    animation    moving pictures
    view         the live page
    gazebo       worlds and processes of Gazebo
    launch       what the launch files and ``ros2`` need
    docs         what writes documentation
"""
