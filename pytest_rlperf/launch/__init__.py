"""Processes, trees of a revision, environments: everything before the first slice."""
