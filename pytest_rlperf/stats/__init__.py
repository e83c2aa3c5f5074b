"""Statistics as pure functions: estimates, the sequential decision, change points."""
