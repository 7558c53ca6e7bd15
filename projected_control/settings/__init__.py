"""What a YAML file says."""
