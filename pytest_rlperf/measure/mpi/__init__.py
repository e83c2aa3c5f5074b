"""Ranks of an MPI job: their processes, their part in a test, their slices."""
