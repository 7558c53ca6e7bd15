"""What every command shares: what it takes, what it needs installed, and how it is interrupted."""
