"""An arm in Gazebo, from its settings: what holds it, its model, its world, and what runs there."""
