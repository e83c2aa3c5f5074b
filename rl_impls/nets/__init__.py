"""Neural networks in NumPy."""
