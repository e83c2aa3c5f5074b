"""Agents whose updates another framework computes, a package a framework."""
