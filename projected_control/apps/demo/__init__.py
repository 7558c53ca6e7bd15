"""The demonstration: the real nodes as processes, watched live, with a report in the end."""
