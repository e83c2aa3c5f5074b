"""The duet: timed slices of two sides on one core."""
