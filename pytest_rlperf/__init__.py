"""A performance gate for pytest that holds on noisy machines."""
