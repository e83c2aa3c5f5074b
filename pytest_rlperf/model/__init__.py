"""Frozen data that every layer speaks in. Never imports pytest."""
