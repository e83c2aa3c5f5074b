"""Watching the slices of a block: functions, stacks, lines. Nothing here is judged as time."""
