"""Checks that all ranks make together, so that all of them fail, and none waits for one that did.

mpi4py's communicators are `Any` here: they exist in ranks only.
"""

import re
from collections.abc import Sequence
from types import TracebackType
from typing import Any

__tracebackhide__ = True  # pytest: a failing test shows its own lines, not these


def rank_assert(comm: Any, condition: object, message: str) -> None:
    """Fail on every rank where `condition` is false on any."""
    found: list[str | None] = comm.allgather(None if condition else message)
    wrong = {rank: text for rank, text in enumerate(found) if text is not None}
    if wrong:
        said = next(iter(wrong.values()))
        raise AssertionError(f"{_names(list(wrong))} of {len(found)}: {said or 'is false'}")


class RankRaises:
    """Holds where every rank raises `expected` in the block; fails on all of them otherwise."""

    def __init__(
        self,
        comm: Any,
        expected: type[BaseException] | tuple[type[BaseException], ...],
        match: str | None,
    ) -> None:
        self._comm = comm
        self._expected = expected
        self._match = match
        self.value: BaseException | None = None  # what this rank raised

    def __enter__(self) -> "RankRaises":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool:
        self.value = value
        found: list[str | None] = self._comm.allgather(self._complaint(value))
        if found[self._comm.Get_rank()] is not None and value is not None:
            return False  # with its own traceback
        wrong = {rank: text for rank, text in enumerate(found) if text is not None}
        if wrong:
            said = next(iter(wrong.values()))
            raise AssertionError(f"{_names(list(wrong))} of {len(found)} {said}") from value
        return True

    def _complaint(self, value: BaseException | None) -> str | None:
        if value is None:
            return f"did not raise {self._expected!r}"
        if not isinstance(value, self._expected):
            return f"raised {value!r}"
        if self._match is not None and not re.search(self._match, str(value)):
            return f"raised {value!r}, which does not match {self._match!r}"
        return None


def _names(ranks: Sequence[int]) -> str:
    numbers = ", ".join(map(str, ranks))
    return f"rank {numbers}" if len(ranks) == 1 else f"ranks {numbers}"
