"""Statistics as pure functions: estimates, the sequential decision, proportions, change points."""
