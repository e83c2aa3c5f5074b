"""Replay buffers in NumPy and, where it is installed, Numba."""
