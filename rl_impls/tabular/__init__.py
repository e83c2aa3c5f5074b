"""Q-tables and their learners."""
