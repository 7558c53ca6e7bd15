"""Nodes as processes: started and ended together, in a ROS domain of their own, and watched."""
