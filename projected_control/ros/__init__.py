"""ROS 2: the nodes, and the ports to arms on topics, behind ros2_control and in Gazebo.

Lifecycle, parameters, messages, diagnostics, markers, transport and the threads of the nodes belong
here, and no mathematics: nodes build a control loop from their settings and run it.
"""
