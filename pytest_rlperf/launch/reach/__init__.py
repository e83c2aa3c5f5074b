"""Which files of the repository a change touches, and which of them a test imports."""
