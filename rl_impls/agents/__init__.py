"""Deep agents on NumPy networks: each learns from the steps of a batch of environments."""
