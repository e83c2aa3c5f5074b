"""The public front in functions: make, train, evaluate and load, by name."""
