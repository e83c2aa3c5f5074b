"""Does the profiler name the cause? Slowdowns of rl_impls whose cause is known.

Not part of the suite: `python -m tests.evidence.why run`, then `table`.
"""
