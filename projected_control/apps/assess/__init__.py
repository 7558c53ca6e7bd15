"""What is found out about an arm before it is trusted: its parameters, its margins, its reach."""
