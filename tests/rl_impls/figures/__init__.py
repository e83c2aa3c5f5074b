"""Speed of the tabular learners as ratios, measured in one run."""
