"""Actors and a learner in processes of their own, over shared memory without a shared lock."""
