"""`rl_impls` beside Stable-Baselines3: the same work, the same settings, one thread each."""
