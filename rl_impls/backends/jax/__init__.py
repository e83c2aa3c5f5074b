"""Agents whose updates JAX compiles; `registry` loads them by name."""
