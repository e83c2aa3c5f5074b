"""`--rlperf-prove`: many runs of the gate on changes that are known."""
