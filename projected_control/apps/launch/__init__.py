"""What the launch files in launch/ share: arguments, checks, and the files they write."""
