"""How much a call does; rewritten for each side of a generated project."""

UNITS = 100
EXTRA = 0
EVERY = 1
SCALE = 1
