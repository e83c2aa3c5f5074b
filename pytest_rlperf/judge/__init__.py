"""Pure functions from blocks to verdicts."""
