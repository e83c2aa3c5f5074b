"""Training in the ranks of an MPI job. Only `world` imports mpi4py."""
