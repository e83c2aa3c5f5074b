"""The slowdowns: patches of rl_impls, and what each of them changed."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from pathlib import Path

FOLDER = Path(__file__).parent / "patches"
MANIFEST = FOLDER / "manifest.toml"


@dataclass(frozen=True, slots=True)
class Slowdown:
    """One patch. Blaming `edited`, or a callee that is called more often now, is right."""

    name: str
    file: str  # that the patch changes
    edited: str  # function in it
    benchmark: str  # node id that reaches it
    slower: float = 0.0  # as the gate read it when the patch was written, a fraction
    callees: tuple[str, ...] = ()
    compiled: bool = False  # by Numba: no Python profiler looks inside

    @property
    def path(self) -> Path:
        return FOLDER / f"{self.name}.patch"

    @property
    def culprits(self) -> tuple[str, ...]:
        return (self.edited, *self.callees)


def slowdowns() -> list[Slowdown]:
    manifest = tomllib.loads(MANIFEST.read_text(encoding="utf-8"))
    return [
        Slowdown(name, **{**entry, "callees": tuple(entry.get("callees", ()))})
        for name, entry in manifest.items()
    ]
