"""How often unchanged code is called slower by a suite in shards: builds made up of noise.

python -m tests.shards.false_alarms 300   # builds for each spread
"""

import random
import sys
from collections.abc import Iterator

from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.shard import ShardNumber
from pytest_rlperf.shards.run import shard_of
from pytest_rlperf.stats.decide import LOOKS, Gate, decide
from tests.factories import noisy_ratios
from tests.shards.suites import a_benchmark

TESTS, SHARDS, THRESHOLD = 400, 8, 0.05
SPREADS = (0.008, 0.03, 0.1)
"""Of the blocks: quiet, as where the heap's layout matters, and so noisy that few tests pass."""
SUITE = [a_benchmark(f"tests/test_{n % 9}.py::test_case[{n}]") for n in range(TESTS)]


def shards() -> Iterator[tuple[Gate, frozenset[str]]]:
    """Yield the gate and the tests of each shard, as each of them finds them alone."""
    for k in range(1, SHARDS + 1):
        number = ShardNumber(k, SHARDS)
        shard, own = shard_of(number, SUITE, {}, verdicts=len(SUITE), rules={}, asked=True)
        yield Gate(THRESHOLD, shard.verdicts), own


def called(rng: random.Random, spread: float) -> list[str]:
    """Return the tests that one build calls slower; none of them is."""
    return [
        nodeid
        for gate, own in shards()
        for nodeid in sorted(own)
        if decide(noisy_ratios(rng, LOOKS[-1] + 16, 0.0, spread), gate).outcome is Outcome.REGRESSED
    ]


def main(builds: int) -> None:
    for spread in SPREADS:
        rng = random.Random(f"{spread}")
        wrong = sum(bool(called(rng, spread)) for _ in range(builds))
        print(f"blocks that spread by {100 * spread:g} %: {wrong} of {builds} builds called")


if __name__ == "__main__":
    main(int(sys.argv[1]))
