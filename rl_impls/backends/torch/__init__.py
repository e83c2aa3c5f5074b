"""Agents whose updates torch computes; `registry` loads them by name."""
