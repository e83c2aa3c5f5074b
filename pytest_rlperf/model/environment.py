"""In what the environments of two sides differ, where they are compared."""

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class EnvironmentDifference:
    """One thing that is not the same in both environments."""

    name: str  # of a distribution, or of a fact of the interpreter
    base: str | None  # None: it is not there
    head: str | None
    distribution: bool = False

    def __str__(self) -> str:
        return f"{self.name} {self.base or 'none'} → {self.head or 'none'}"


@dataclass(frozen=True, slots=True)
class Environments:
    """The environments of a run whose sides have one each."""

    base: str  # as the user named it
    differences: tuple[EnvironmentDifference, ...] = ()

    @property
    def distributions(self) -> tuple[EnvironmentDifference, ...]:
        return tuple(each for each in self.differences if each.distribution)


@dataclass(frozen=True, slots=True)
class OtherPython:
    """The interpreter that the base side runs under."""

    place: str  # as the user named it
    executable: Path
