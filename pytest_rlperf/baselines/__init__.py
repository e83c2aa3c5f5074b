"""Stored baselines: their files, the level that a run is held against, and saving."""
