"""The memory of a test: measured in processes of its own, judged in bytes, reported."""
