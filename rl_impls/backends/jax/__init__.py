"""Agents whose updates JAX compiles; see `agents.frameworks`."""
