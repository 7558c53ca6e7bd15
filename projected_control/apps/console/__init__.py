"""What every command shares: arguments, progress, missing extras, and how it is interrupted."""
