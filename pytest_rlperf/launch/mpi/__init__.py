"""MPI jobs: which launcher, its command line, the job's life, and what its ranks leave behind."""
