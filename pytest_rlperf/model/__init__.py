"""Frozen data that every package shares. Never imports pytest."""
