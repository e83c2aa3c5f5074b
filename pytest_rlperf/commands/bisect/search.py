"""Which commit to measure next, and when it is over. Knows neither git nor time."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol


class Answer(StrEnum):
    """What a duet says of a commit."""

    FAST = "fast"
    SLOW = "slow"
    SKIP = "skipped"  # it cannot be measured, or the duet could not tell


class Commits(Protocol):
    """A history between a commit that is fast and one that is slow."""

    @property
    def bad(self) -> str: ...

    def halving(self, fast: Sequence[str], slow: str) -> list[str]:
        """What is neither known fast nor after `slow`, the best to ask about first; `slow` itself
        is left out.
        """
        ...


@dataclass(frozen=True, slots=True)
class Found:
    """The first commit known slow, and those before it that could not be measured."""

    first_slow: str
    suspects: tuple[str, ...] = ()


def search(commits: Commits, judge: Callable[[str], Answer]) -> Found:
    fast: list[str] = []
    skipped: list[str] = []
    slow = commits.bad
    while True:
        left = commits.halving(fast, slow)
        ask = next((commit for commit in left if commit not in skipped), None)
        if ask is None:
            return Found(slow, tuple(left))
        match judge(ask):
            case Answer.FAST:
                fast.append(ask)
            case Answer.SLOW:
                slow = ask
            case Answer.SKIP:
                skipped.append(ask)
