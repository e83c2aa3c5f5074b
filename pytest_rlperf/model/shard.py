"""The part of a suite that a run was, where several machines share its tests."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from pytest_rlperf.reading import Counting, Name, Whole

MOST_SHARDS = 9999


@dataclass(frozen=True, slots=True)
class ShardNumber:
    """One of so many parts of a suite, as `--rlperf-shard` names it."""

    index: int  # from 1
    count: int

    def __post_init__(self) -> None:
        if not 1 <= self.index <= self.count <= MOST_SHARDS:
            raise ValueError(f"there is no shard {self.index} of {self.count}")

    def __str__(self) -> str:
        return f"shard {self.index} of {self.count}"


@dataclass(frozen=True, slots=True)
class Shard:
    """One part of a suite, and what it has to have in common with the others."""

    index: Counting
    count: Counting
    suite: tuple[Name, ...]  # the node ids of all tests, whichever shard runs them
    verdicts: Whole  # of the whole suite: they share the false alarms of the build
    split: Name  # a digest of which shard runs which test
    rules: Mapping[Name, Name] = field(default_factory=dict)  # options that decide verdicts
    asked: bool = False  # a comparison was asked for: to compare nothing at all is a failure

    def __post_init__(self) -> None:
        ShardNumber(self.index, self.count)

    @property
    def number(self) -> ShardNumber:
        return ShardNumber(self.index, self.count)
