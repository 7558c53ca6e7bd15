"""What is made of a recorded run: the same run again, reports, and a layout that shows it."""
