"""Recordings: every tick of a run in a file that others can open, too.

The `ring` in which the thread that ticks leaves its rows, the `process` that takes them from there
into an MCAP file as standard `messages`, and the reader of such a `file` belong here. Nothing here
knows of arms and control loops: that process has to start quickly and to stay small. What makes
the rows, and what replays them, is in `ports`.
"""
