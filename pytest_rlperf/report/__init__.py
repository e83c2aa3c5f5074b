"""Verdicts as text and files."""
