"""What the launch files share."""
