"""Neural networks in NumPy and, where it is installed, Numba."""
