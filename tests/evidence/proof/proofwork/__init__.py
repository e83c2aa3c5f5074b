"""The library whose speed is known: it is copied into every generated project."""

from .pair import Pair
from .work import Work, make

__all__ = ["Pair", "Work", "make"]
