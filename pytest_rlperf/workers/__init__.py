"""The controller's side of worker processes: starting, pairing, playing blocks, planning."""
