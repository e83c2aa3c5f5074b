"""What is judged of a test beside its time and its memory, each metric in one file."""
