"""Damaged files of every kind, in every command that reads one: no traceback, no hang."""
