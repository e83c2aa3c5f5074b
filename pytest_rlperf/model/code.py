"""Where the code of two sides differs, and what a test was seen to meet of it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain


@dataclass(frozen=True, slots=True)
class CodeChanges:
    """The differences between two trees. Files are named from the top of the tree, with "/"."""

    functions: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By file, the qualified names of functions that differ, or that one side lacks."""
    modules: tuple[str, ...] = ()  # files that do something else when they are imported
    outreaching: tuple[str, ...] = ()  # of these, the ones that may change other modules by it
    everywhere: str | None = None  # why every test has to be measured, if so

    @property
    def none(self) -> bool:
        """Whether both trees are the same."""
        return not (self.functions or self.modules or self.everywhere)

    @property
    def files(self) -> tuple[str, ...]:
        return tuple(sorted({*self.functions, *self.modules}))


@dataclass(frozen=True, slots=True)
class Ran:
    """What one side's watch saw of a test."""

    met: tuple[str, ...] = ()  # differences that it met
    read: tuple[str, ...] = ()  # files of the tree that it read, and folders whose names it read
    unseen: tuple[str, ...] = ()  # what it did that cannot be followed

    @classmethod
    def of_all(cls, seen: Sequence["Ran | None"]) -> "Ran | None":
        """Return what several processes ran together; None: one of them was not watched."""
        known = [ran for ran in seen if ran is not None]
        return cls.together(known) if len(known) == len(seen) else None

    @classmethod
    def together(cls, seen: Sequence["Ran"]) -> "Ran":
        """Return what several processes ran together."""
        names = ("met", "read", "unseen")
        return cls(*(_united(getattr(ran, name) for ran in seen) for name in names))


def _united(parts: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(chain.from_iterable(parts)))
