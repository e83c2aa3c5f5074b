"""Which workers a block gets."""

from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from pytest_rlperf.model.plan import Mode, Plan
from pytest_rlperf.wire import Order
from pytest_rlperf.workers import blocks as blocks_module
from pytest_rlperf.workers.blocks import Blocks
from pytest_rlperf.workers.side import SideRun, State

EXCLUSIVE = Plan(Mode.SLICED, calls=10, pairs=4, warmup=1, exclusive=True)


@dataclass
class FakePair:
    """Workers that have collected some tests, and can run no others."""

    nodeids: frozenset[str]
    usable: bool = True
    startup_s: float = 0.1
    ended: list[bool] = field(default_factory=list)

    def collecting(self, seconds: float) -> Iterator[list[int]]:
        yield from ()

    def running(self, order: Order) -> Generator[list[int], None, list[SideRun]]:
        assert order.nodeid in self.nodeids
        yield from ()
        return [SideRun(State.RAN)]

    def stop(self) -> None: ...

    def end(self, grace_s: float = 0.0) -> None:
        self.ended.append(True)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[FakePair]:
    pairs: list[FakePair] = []

    def start(stage: Any, kind: Any, nodeids: Sequence[str], **_: Any) -> FakePair:
        pairs.append(FakePair(frozenset(nodeids)))
        return pairs[-1]

    monkeypatch.setattr(blocks_module, "start_pair", start)
    return pairs


@pytest.fixture
def blocks(tmp_path: Path) -> Blocks:
    stage: Any = SimpleNamespace(
        lanes=1, cores=(0, 1), sides=(1, 2), folder=tmp_path, seed=1, token="none", disturbed=False
    )
    return Blocks(stage)


def played(blocks: Blocks, index: int, *names: str) -> list[str]:
    orders = [Order(name, 10.0, EXCLUSIVE) for name in names]
    return sorted(each.nodeid for each in blocks.run(index, [orders], orders, 10.0))


def test_workers_that_were_started_ahead_play_the_next_block(
    blocks: Blocks, started: list[FakePair]
):
    assert played(blocks, 1, "a") == ["a"]
    assert played(blocks, 2, "a") == ["a"]
    assert len(started) == 3  # one for each block, and the next one's


def test_a_test_that_became_of_their_kind_meanwhile_gets_workers_that_know_it(
    blocks: Blocks, started: list[FakePair]
):
    assert played(blocks, 1, "a") == ["a"]
    assert played(blocks, 2, "a", "b") == ["a", "b"]
    assert started[1].ended
