"""`rlperf scale`: what measured MPI jobs say of more nodes."""
