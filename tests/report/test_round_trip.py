"""What is written reads back equal, and would be written the same again: for any run.

The format deliberately sums or drops some of it, so generated runs have it in the form it comes
back in: slices of a block are equal parts of their sum; the work of a call is that of the last
block's head; what the reference kernels took is kept as the test's time in them; of the marker the
format holds category, steps and metadata; of a job's size whether it is gated, not its deadline; of
a verdict on efficiency neither label nor what was detectable; seconds have three digits. A proof of
the gate is written, and not read back.
"""

import json
from dataclasses import fields, replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.model.block import (
    Block,
    DeviceFacts,
    Drift,
    PhaseResult,
    RankFacts,
    ReferenceTime,
    SideBlock,
    SideDrift,
    Spending,
)
from pytest_rlperf.model.code import CodeChanges
from pytest_rlperf.model.environment import EnvironmentDifference, Environments
from pytest_rlperf.model.kpi import BUILT_IN, KpiResult, Reading, Status
from pytest_rlperf.model.learning import LearningMetric, LearningResult, Training
from pytest_rlperf.model.memory import Evidence, MemoryResult, ProcessPeak, Site
from pytest_rlperf.model.metric import (
    EFFICIENCY,
    KINDS,
    NOT_JUDGED,
    TIME,
    GrowthCurve,
    Interval,
    Metric,
    MetricFamily,
    Outcome,
    Severity,
    Verdict,
)
from pytest_rlperf.model.plan import Mode, Plan
from pytest_rlperf.model.profile import (
    Cause,
    ComparedLine,
    Count,
    Explanation,
    Function,
    Lines,
    Operator,
    Source,
    Spot,
)
from pytest_rlperf.model.result import (
    Failure,
    JobSize,
    Part,
    RunResult,
    ScalingRow,
    ScalingTable,
    TestResult,
    Vanished,
)
from pytest_rlperf.model.shard import Shard
from pytest_rlperf.model.spec import Scaling, Spec
from pytest_rlperf.reading import CONTROL
from pytest_rlperf.report.result_file import run_as_dict, run_from
from pytest_rlperf.report.result_file.read import equal_parts
from tests.factories import examples

MOST = 2
"""Of anything there are several of."""

booleans = st.booleans()
counts = st.integers(0, 10**6)
numbers = st.floats(-1e12, 1e12)
sizes = st.floats(1e-3, 1e12)
shares = st.floats(0, 1).map(lambda share: round(share, 9))
words = st.text(max_size=5)
word_lists = st.lists(words, max_size=3).map(tuple)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.none() | strategy


def several(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(strategy, max_size=MOST).map(tuple)


def named(values: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(words, values, max_size=MOST)


# -- metrics ------------------------------------------------------------------------------------

intervals = st.builds(Interval, numbers, numbers, numbers)
severities = maybe(st.sampled_from(Severity))
verdicts = st.builds(
    Verdict,
    st.sampled_from(sorted(set(Outcome) - {Outcome.SHOWN})),
    words,
    threshold=maybe(numbers),
    interval=maybe(intervals),
    detectable=maybe(numbers),
    severity=severities,
    label=maybe(words),
)
curves = st.integers(0, MOST).flatmap(
    lambda n: st.builds(GrowthCurve, *[st.lists(sizes, min_size=n, max_size=n).map(tuple)] * 3)
)


def metrics(name: str) -> st.SearchStrategy[Metric]:
    family = KINDS[name].family
    return st.builds(
        Metric,
        st.just(name),
        verdicts,
        several(sizes),
        several(sizes),
        maybe(sizes),
        maybe(sizes),
        amount=maybe(intervals),
        threshold_abs=maybe(numbers),
        block_changes=several(numbers) if family is MetricFamily.TIME else st.just(()),
        curve=maybe(curves) if family is MetricFamily.GROWTH else st.none(),
    )


# -- blocks -------------------------------------------------------------------------------------


@st.composite
def sides(draw: st.DrawFn, work: dict[str, float], ranks: int) -> SideBlock:
    slices = draw(st.integers(1, 4))
    own, wall, cpu = (equal_parts(draw(st.integers(slices, 10**12)), slices) for _ in range(3))
    by_rank = [tuple(draw(shares) for _ in range(ranks)) for _ in range(3)]
    return SideBlock(
        own_ns=own,
        wall_ns=wall,
        cpu_ns=cpu,
        calls=draw(st.integers(1, 99)),
        work=work,
        preempted=draw(counts),
        ranks=RankFacts(*by_rank) if ranks else None,
        device=draw(maybe(st.builds(DeviceFacts, words, maybe(shares)))),
    )


@st.composite
def several_blocks(draw: st.DrawFn) -> tuple[Block, ...]:
    work, ranks = draw(named(numbers)), draw(st.integers(0, 2))
    one = st.builds(
        Block, sides(work, ranks), maybe(sides({}, ranks)), maybe(counts), counts, shares
    )
    return draw(several(one))


seconds = counts.map(lambda milliseconds: milliseconds / 1000)

# -- what is told beside ------------------------------------------------------------------------

log_ratios = st.floats(-50, 50).map(lambda ratio: round(ratio, 9))
references = st.builds(ReferenceTime, counts, named(log_ratios), named(shares))
drifts = st.builds(SideDrift, intervals, booleans)
phases = st.builds(
    PhaseResult, words, shares, sizes, maybe(shares), maybe(sizes), maybe(intervals), booleans
)
peaks = several(st.builds(ProcessPeak, words, counts))
sites = several(st.builds(Site, words, counts, counts))
evidence = st.builds(
    Evidence, peaks, peaks, several(words), sites, sites, booleans, several(st.tuples(sizes, sizes))
)
troubles = st.builds(Verdict, st.sampled_from(Outcome), words)
returns = numbers.map(lambda number: round(number, 9))
trainings = several(
    st.builds(Training, counts, named(several(st.tuples(sizes, returns))), words, seconds)
)
learnings = st.builds(
    LearningResult,
    st.sampled_from(LearningMetric),
    trainings,
    trainings,
    maybe(returns),
    maybe(returns),
)
memories = st.builds(MemoryResult, counts, evidence, maybe(evidence), maybe(troubles))

functions = st.builds(Function, words, st.text("ab._<>", max_size=5))
times = st.builds(Count, sizes, sizes, booleans)
causes = st.builds(
    Cause,
    functions,
    shares,
    numbers,
    times,
    maybe(sizes),
    callees=named(times).map(lambda callees: tuple(callees.items())),
    source=st.sampled_from(Source),
    compiled=booleans,
    inlined=several(functions),
    at=maybe(st.builds(Spot, words, counts)),
)
lines = st.builds(ComparedLine, maybe(counts), words, sizes, maybe(sizes), maybe(sizes))
explanations = st.builds(
    Explanation,
    several(causes),
    counts,
    maybe(numbers),
    shares,
    maybe(words),
    st.none(),  # a figure is read where its file is
    maybe(st.builds(Lines, words, several(lines))),
    several(st.builds(Operator, words, sizes, sizes, sizes, sizes)),
)

costs = maybe(st.builds(Spending, *[seconds] * len(fields(Spending))))

# -- tests and runs -----------------------------------------------------------------------------

PLANS = (
    Plan(Mode.SLICED, calls=1, pairs=8, warmup=1, imports=("json",), first_call=True),
    Plan(Mode.CONCURRENT, calls=3, pairs=2, warmup=0, cores=2, abreast=True, wall=True),
    Plan(Mode.SLICED, calls=1, pairs=1, warmup=0, kernels=(("stride", 4), ("interpreter", 9))),
)


@st.composite
def results(draw: st.DrawFn) -> TestResult:
    steps = draw(maybe(counts))
    others = draw(st.lists(st.sampled_from(sorted(KINDS.keys() - {TIME})), unique=True, max_size=3))
    return TestResult(
        nodeid=draw(words),
        spec=Spec(category=draw(maybe(words)), steps=steps, metadata=draw(named(words))),
        metrics=tuple(draw(metrics(name)) for name in (TIME, *others)),
        blocks=draw(several_blocks()),
        plan=draw(maybe(st.sampled_from(PLANS))),
        reference=draw(maybe(st.builds(ReferenceTime, counts, named(log_ratios), named(shares)))),
        steps=steps,
        first_call_ns=draw(maybe(sizes)),
        drift=draw(maybe(st.builds(Drift, counts, drifts, maybe(drifts)))),
        phases=draw(several(phases)),
        failure=draw(maybe(st.builds(Failure, words, several(st.tuples(words, words))))),
        skipped=draw(maybe(words)),
        source_hash=draw(words),
        repeat_command=draw(words),
        imported=draw(named(named(words))),
        explanation=draw(maybe(explanations)),
        memory=draw(maybe(memories)),
        learning=draw(maybe(learnings)),
        cost=draw(costs),
        differences=draw(word_lists),
    )


kpis = st.builds(
    KpiResult,
    st.sampled_from(BUILT_IN),
    st.sampled_from(Status),
    words,
    maybe(words),
    maybe(st.builds(Reading, numbers, numbers, numbers, counts)),
)


@st.composite
def scaling_rows(draw: st.DrawFn, scaling: Scaling) -> ScalingRow:
    crowded = draw(booleans)
    size = JobSize(draw(counts), scaling, crowded, crowded and draw(booleans))
    judged = replace(draw(verdicts), detectable=None, label=None)
    verdict = judged if draw(booleans) else NOT_JUDGED
    return ScalingRow(
        nodeid=draw(words),
        size=size,
        time_ns=draw(sizes),
        speedup=draw(sizes),
        efficiency=Metric(EFFICIENCY, verdict, value=draw(sizes)),
        throughput=draw(sizes),
        unit=draw(words),
    )


tables = st.sampled_from(Scaling).flatmap(
    lambda scaling: st.builds(ScalingTable, words, st.just(scaling), several(scaling_rows(scaling)))
)
names = words.filter(lambda text: not CONTROL.search(text))
shards = st.builds(
    Shard,
    st.integers(1, 3),
    st.integers(3, 9),
    several(names),
    counts,
    names,
    st.dictionaries(names, names, max_size=MOST),
    booleans,
)
facts = named(words | counts | named(words))
parts = st.builds(
    Part,
    name=words,
    mode=words,
    against=maybe(words),
    commit=maybe(words),
    base_commit=maybe(words),
    dirty=booleans,
    created=words,
    seconds=seconds,
    fingerprint=facts,
)
differing = st.builds(EnvironmentDifference, words, maybe(words), maybe(words), booleans)
whole_runs = st.builds(
    RunResult,
    mode=words,
    against=maybe(words),
    commit=maybe(words),
    dirty=booleans,
    created=words,
    fingerprint=facts,
    tests=several(results()),
    seconds=seconds,
    interrupted=booleans,
    vanished=several(st.builds(Vanished, words, maybe(words))),
    kpis=several(kpis),
    scaling=several(tables),
    base_commit=maybe(words),
    cost=costs,
    code_changes=maybe(
        st.builds(CodeChanges, named(word_lists), word_lists, word_lists, maybe(words))
    ),
    shard=maybe(shards),
    parts=several(parts),
    environments=maybe(st.builds(Environments, words, several(differing))),
)


@st.composite
def runs(draw: st.DrawFn) -> RunResult:
    """Each test of a run that was put together of others is of one of them."""
    run = draw(whole_runs)
    known = st.sampled_from([None, *(part.name for part in run.parts)])
    return replace(run, tests=tuple(replace(test, part=draw(known)) for test in run.tests))


@examples
@given(runs(), st.integers(0, 6))
def test_what_is_written_reads_back_equal_and_is_written_the_same_again(run: RunResult, code: int):
    written = json.dumps(run_as_dict(run, code), allow_nan=False)
    again = run_from(json.loads(written))
    assert again == run
    assert json.dumps(run_as_dict(again, code), allow_nan=False) == written


@examples
@given(runs(), st.integers(0, 6))
def test_a_result_that_knows_neither_shards_nor_parts_reads_as_one_run(run: RunResult, code: int):
    content = json.loads(json.dumps(run_as_dict(run, code)))
    del content["shard"], content["parts"]
    for test in content["tests"]:
        del test["part"]
    tests = tuple(replace(test, part=None) for test in run.tests)
    assert run_from(content) == replace(run, tests=tests, shard=None, parts=())
