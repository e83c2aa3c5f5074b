"""`rlperf duet`: commands against each other, whatever they are written in."""
