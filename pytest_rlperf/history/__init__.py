"""The history of results over commits: storing it, finding changes in it, showing it."""

DATA_BRANCH = "rlperf-data"
"""The branch that holds it, unless another is named."""
