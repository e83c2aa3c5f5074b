"""The measured machine: its cores and counters, and the facts that identify it."""
