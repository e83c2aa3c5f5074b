"""MPI tests: launchers, jobs, what runs in a rank, and scaling over the number of ranks."""
