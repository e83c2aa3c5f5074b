"""From what a worker said of its slices to a profile whose functions have the same names on both
sides.
"""

import os
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_rlperf.judge.charging import charged
from pytest_rlperf.model.profile import Callee, Cost, Function, OperatorCost, SideProfile

Facts = Mapping[str, Any]
Key = tuple[str, str]  # file as the interpreter knows it, qualified name


@dataclass(frozen=True, slots=True)
class Places:
    """Where one side's code lies: its own tree, and what both sides import."""

    tree: Path
    sys_path: Sequence[str]

    def is_project(self, key: Key) -> bool:
        """Not so an environment that was made inside of the tree."""
        inside = _inside(key[0], str(self.tree))
        return inside is not None and "site-packages" not in inside

    def function(self, key: Key) -> Function:
        return Function(self._short(key[0]), key[1])

    def _short(self, file: str) -> str:
        """Relative to the tree; of a library, to the longest folder that it is imported from."""
        folders = [str(self.tree), *filter(None, self.sys_path)]
        found = [short for each in folders if (short := _inside(file, each)) is not None]
        return found[0] if self.is_project((file, "")) else min(found, key=len, default=file)


def _inside(file: str, folder: str) -> str | None:
    prefix = folder.rstrip(os.sep) + os.sep
    return file.removeprefix(prefix) if file.startswith(prefix) else None


def side_profile(facts: Facts, places: Places) -> SideProfile:
    entries = {_key(entry["function"]): entry for entry in facts["functions"]}
    outside = {key for key in entries if not places.is_project(key)}
    spent = {key: {c: ns for c, (_, ns) in _callees(e).items()} for key, e in entries.items()}
    typical, mean = (
        charged({key: entry[kind] for key, entry in entries.items()}, spent, outside)
        for kind in ("typical_ns", "mean_ns")
    )
    return SideProfile(
        functions={
            places.function(key): Cost(
                calls=entries[key]["calls"],
                typical_ns=typical.get(key, 0.0),
                mean_ns=mean.get(key, 0.0),
                compiled=entries[key]["compiled"],
                callees=_outside_callees(entries[key], outside, places),
            )
            for key in typical.keys() | mean.keys()
        },
        calls=facts["calls"],
        computing=facts["computing"],
        stacks={
            tuple(str(places.function(_key(key))) for key in stack): ns
            for stack, ns in facts["stacks"]
        },
        operators={name: OperatorCost(*cost) for name, *cost in facts.get("operators", ())},
    )


def _key(words: Sequence[str]) -> Key:
    file, name = words
    return file, name


def _callees(entry: Facts) -> dict[Key, Callee]:
    return {_key(key): Callee(calls, ns) for key, calls, ns in entry["callees"]}


def _outside_callees(entry: Facts, outside: Set[Key], places: Places) -> dict[str, Callee]:
    """Of native ones, only their own time is known to be spent here."""
    natives = {name: Callee(*callee) for name, callee in entry["natives"].items()}
    library = {str(places.function(k)): c for k, c in _callees(entry).items() if k in outside}
    return library | natives
