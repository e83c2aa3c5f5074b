"""Agents whose updates torch computes; see `agents.frameworks`."""
