"""rl_impls on NumPy, torch and JAX side by side: `make frameworks`."""
