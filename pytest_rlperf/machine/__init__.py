"""The measured machine: its cores and counters, the facts that identify it, what hurts."""
