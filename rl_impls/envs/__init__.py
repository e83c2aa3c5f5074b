"""Environments with the Gymnasium calling convention."""
