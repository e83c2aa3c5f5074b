"""Figures of the tabular learners: speed as ratios measured in one run, and memory."""
