"""Named parts of a measured function: `with phase("env_step"):`.

A library may carry phases for good: outside of a measured slice entering one does nothing. Within
one, its two ends are noted and nothing else; sums are made, and mistakes are told, when the slice
is over.
"""

from collections.abc import Callable
from typing import NamedTuple

from pytest_rlperf.errors import FixtureError


class End(NamedTuple):
    """One of the two ends of a phase."""

    name: str
    begins: bool


Note = Callable[[End], None]

_note: Note | None = None
_known: dict[str, "Phase"] = {}


class Phase:
    """A named part, entered as often as needed; one object serves all phases of its name."""

    __slots__ = ("_begin", "_end")

    def __init__(self, name: str) -> None:
        if not isinstance(name, str) or not name.strip():
            raise FixtureError(
                f"a phase is called {name!r}; give it a name: with rlperf.phase('env_step')."
            )
        self._begin, self._end = End(name, True), End(name, False)

    def __enter__(self) -> None:
        if _note is not None:
            _note(self._begin)

    def __exit__(self, *_: object) -> None:
        if _note is not None:
            _note(self._end)


def phase(name: str) -> Phase:
    """Time what `with phase(name):` holds, wherever a measured function comes by."""
    try:
        return _known[name]
    except (KeyError, TypeError):  # the latter: a name that is not even hashable
        pass
    return _known.setdefault(name, Phase(name))


def listen(note: Note | None) -> None:
    """Have phases noted from now on; None: no longer."""
    global _note
    _note = note
