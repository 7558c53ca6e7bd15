"""ROS 2 nodes: parameters, lifecycle, topics, and a `ControlLoop`. They hold no mathematics."""
