"""`rlperf duet` beside hyperfine, on commands whose difference is known."""
