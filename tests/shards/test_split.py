"""Which shard runs which test: the same answer on every machine, and about as much for each."""

import os
import random
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.gate.track import Benchmark
from pytest_rlperf.model.result import JobSize
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.shards.split import split, together
from tests.factories import examples
from tests.shards.suites import a_benchmark

NODES = [f"tests/test_{n % 7}.py::test_case[{n}]" for n in range(100)]
MANY = [a_benchmark(nodeid) for nodeid in NODES]

counts = st.integers(1, 12)
seconds = st.dictionaries(st.sampled_from(NODES), st.floats(0, 1000))


@st.composite
def suites(draw: st.DrawFn) -> list[Benchmark]:
    names = draw(st.lists(st.text(min_size=1, max_size=8), unique=True, max_size=30))
    return [
        a_benchmark(
            name,
            input_size=draw(st.sampled_from([None, 1.0])),
            family=draw(st.sampled_from("ab")),
            spec=Spec(kpi=tuple(draw(st.lists(st.sampled_from(["k", "k:without", "l"]))))),
        )
        for name in names
    ]


@examples
@given(suites(), counts)
def test_every_test_is_in_one_shard(suite: list[Benchmark], count: int):
    shards = split(suite, count).shards
    assert len(shards) == count
    assert Counter(n for shard in shards for n in shard) == Counter(b.nodeid for b in suite)


@examples
@given(suites(), counts, st.randoms(use_true_random=False))
def test_the_order_in_which_a_machine_collects_does_not_matter(
    suite: list[Benchmark], count: int, rng: random.Random
):
    other = list(suite)
    rng.shuffle(other)
    assert split(other, count) == split(suite, count)
    assert together(other) == together(suite)


@examples
@given(suites(), counts)
def test_tests_that_are_judged_together_stay_together(suite: list[Benchmark], count: int):
    shards = split(suite, count).shards
    for group in together(suite):
        assert any(shard.issuperset(group) for shard in shards)


@examples
@given(seconds, counts)
def test_no_shard_has_more_than_its_share_and_one_test(known: dict[str, float], count: int):
    shards = split(MANY, count, known).shards
    weights = {n: max(1, round(1000 * known[n])) for n in known}
    usual = sorted(weights.values())[(len(weights) - 1) // 2] if weights else 1000
    loads = [sum(weights.get(n, usual) for n in shard) for shard in shards]
    longest = max([*weights.values(), usual])
    assert max(loads) <= sum(loads) / count + longest


def test_without_seconds_the_numbers_of_tests_differ_by_one_at_most():
    sizes = [len(shard) for shard in split(MANY, 8).shards]
    assert max(sizes) - min(sizes) <= 1


def test_another_process_with_other_hashes_answers_the_same():
    program = (
        "from tests.shards.test_split import MANY, NODES\n"
        "from pytest_rlperf.shards.split import split\n"
        "print(split(MANY, 4, {n: k / 7 for k, n in enumerate(NODES)}).digest)"
    )
    digests = {
        subprocess.run(
            [sys.executable, "-c", program],
            env=os.environ | {"PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            check=True,
            capture_output=True,
            text=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert digests == {f"{split(MANY, 4, {n: k / 7 for k, n in enumerate(NODES)}).digest}\n"}


def test_a_digest_tells_one_split_from_another():
    one, two = split(MANY, 4), split(MANY, 4, {NODES[0]: 50.0, NODES[1]: 1.0})
    assert one.digest == split(list(reversed(MANY)), 4).digest
    assert len({one.digest, two.digest, split(MANY, 5).digest}) == 3


@pytest.mark.parametrize(
    "pair",
    [
        [
            a_benchmark("t.py::t[rlperf_size=1]", input_size=1.0, family="t.py::t"),
            a_benchmark("t.py::t[rlperf_size=9]", input_size=9.0, family="t.py::t"),
        ],
        [
            a_benchmark("t.py::t[nprocs=1]", size=JobSize(1)),
            a_benchmark("t.py::t[nprocs=2]", size=JobSize(2)),
        ],
        [
            a_benchmark("t.py::with", spec=Spec(kpi=("logging",))),
            a_benchmark("t.py::without", spec=Spec(kpi=("logging:without",))),
        ],
    ],
    ids=["sizes of an input", "sizes of a job", "an overhead"],
)
def test_what_is_judged_from_two_tests_needs_both_in_one_shard(pair: list[Benchmark]):
    names = {b.nodeid for b in pair}
    assert any(names <= shard for shard in split([*MANY, *pair], 50).shards)


def test_tests_that_claim_a_kpi_of_their_own_are_not_tied():
    claims = [a_benchmark(f"t.py::t{k}", spec=Spec(kpi=("reset",))) for k in range(4)]
    assert [len(shard) for shard in split(claims, 4).shards] == [1, 1, 1, 1]


def test_a_long_test_has_a_shard_for_itself():
    shards = split(MANY, 4, dict.fromkeys(NODES, 1.0) | {NODES[3]: 1000.0}).shards
    assert frozenset({NODES[3]}) in shards
