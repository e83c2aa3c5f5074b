"""From what a worker said of its slices to a profile whose functions have the same names on both
sides.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_rlperf.model.profile import Cost, Function, Native, SideProfile

Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Places:
    """Where one side's code lies: its own tree, and what both sides import."""

    tree: Path
    sys_path: Sequence[str]

    def function(self, key: Sequence[str]) -> Function:
        """`key` is the file as the interpreter knows it, and the qualified name."""
        file, name = key
        return Function(self._short(file), name)

    def _short(self, file: str) -> str:
        """Relative to the tree; of a library, to the longest folder that it is imported from."""
        inside = _inside(file, str(self.tree))
        if inside is not None:
            return inside
        found = [short for each in self.sys_path if each and (short := _inside(file, each))]
        return min(found, key=len, default=file)


def _inside(file: str, folder: str) -> str | None:
    prefix = folder.rstrip(os.sep) + os.sep
    return file.removeprefix(prefix) if file.startswith(prefix) else None


def side_profile(facts: Facts, places: Places) -> SideProfile:
    return SideProfile(
        functions={places.function(e["function"]): _cost(e, places) for e in facts["functions"]},
        calls=facts["calls"],
        computing=facts["computing"],
        stacks={
            tuple(str(places.function(key)) for key in stack): ns for stack, ns in facts["stacks"]
        },
    )


def _cost(entry: Facts, places: Places) -> Cost:
    return Cost(
        calls=entry["calls"],
        typical_ns=entry["typical_ns"],
        mean_ns=entry["mean_ns"],
        compiled=entry["compiled"],
        caller=None if entry["caller"] is None else places.function(entry["caller"]),
        natives={name: Native(*native) for name, native in entry["natives"].items()},
    )
