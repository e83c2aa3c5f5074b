"""Whole runs that look like real ones: every outcome, every kind of evidence, or many tests."""

import math
import random
from dataclasses import replace
from typing import Any

from pytest_rlperf.memory.campaign import UPPER_BOUND
from pytest_rlperf.model.block import OUTSIDE, Block, Drift, PhaseResult, SideDrift
from pytest_rlperf.model.kpi import BUILT_IN, KpiResult, Reading, Status
from pytest_rlperf.model.memory import (
    MIB,
    Evidence,
    MemoryResult,
    ProcessPeak,
    Site,
)
from pytest_rlperf.model.metric import (
    EFFICIENCY,
    EXPONENT,
    IMPORT_TIME,
    NOT_JUDGED,
    GrowthCurve,
    Interval,
    Metric,
    Outcome,
    Severity,
    Verdict,
)
from pytest_rlperf.model.plan import Mode, Plan
from pytest_rlperf.model.profile import (
    Cause,
    ComparedLine,
    Count,
    Edit,
    Explanation,
    Function,
    Lines,
    Source,
    Spot,
)
from pytest_rlperf.model.result import (
    Failure,
    JobSize,
    RunResult,
    ScalingRow,
    ScalingTable,
    TestResult,
    Vanished,
)
from pytest_rlperf.model.spec import Scaling, Spec
from tests.factories import a_test, block, run_result, verdict

MS = 1_000_000
PLAN = Plan(Mode.SLICED, calls=2, pairs=8, warmup=1)
MACHINE = {
    "cpu": "AMD EPYC",
    "cores": 2,
    "system": "Linux 6.18",
    "python": "3.11.7",
    "libraries": {"numpy": "2.4.6", "numba": "0.68.1"},
    "pinned_to": [0, 1],
}


def played(seed: str, call_ms: float, change: float, blocks: int = 8) -> dict[str, Any]:
    """Blocks in which head takes longer by `change`, and their ratios."""
    rng = random.Random(seed)
    ratios = [math.log1p(change) + rng.gauss(0, 0.008) for _ in range(blocks)]
    return {
        "blocks": tuple(_block(rng, call_ms, ratio, index) for index, ratio in enumerate(ratios)),
        "log_ratios": tuple(ratios),
        "plan": PLAN,
    }


def _block(rng: random.Random, call_ms: float, ratio: float, index: int) -> Block:
    base_ns = round(PLAN.calls * call_ms * MS * rng.lognormvariate(0, 0.06))
    head_ns = round(base_ns * math.exp(ratio))
    found = block([head_ns] * PLAN.pairs, [base_ns] * PLAN.pairs, index=index)
    head, base = (
        replace(side, calls=PLAN.calls, preempted=index)
        for side in (found.head, found.base)
        if side
    )
    return replace(found, head=head, base=base, core=index % 2, steal=rng.random() / 100)


def _around(change: float, margin: float = 0.01) -> tuple[float, float, float]:
    return (change, change - margin, change + margin)


LEARN = Function("rl_impls/tabular/arrays.py", "ArrayLearner.learn")
WHY = Explanation(
    causes=(
        Cause(
            LEARN,
            share=0.72,
            change_ns=2.4e6,
            calls=Count(2000, 2000, certain=True),
            time_ratio=1.41,
            callees=(("numpy.ndarray.max", Count(0, 2000, certain=True)),),
            source=Source.CHANGED,
            at=Spot("rl_impls/tabular/arrays.py", 42),
        ),
        Cause(
            Function("rl_impls/tabular/arrays.py", "ArrayLearner.act"),
            share=0.21,
            change_ns=0.7e6,
            calls=Count(1000, 1012.5, certain=False),
            time_ratio=1.1,
            source=Source.SAME,
        ),
        Cause(
            Function("rl_impls/tabular/kernel.py", "train"),
            share=0.05,
            change_ns=0.1e6,
            calls=Count(1, 1, certain=True),
            time_ratio=None,
            compiled=True,
            inlined=(Function("rl_impls/envs/rules.py", "_winner"),),
        ),
    ),
    pairs=8,
    change=0.33,
    edits=(
        Edit(
            LEARN,
            Spot("rl_impls/tabular/arrays.py", 42),
            (
                " def learn(self, s, a, r):",
                "-    best = v.item(v.argmax())",
                "+    best = float(v.max())",
            ),
        ),
        Edit(Function("rl_impls/envs/rules.py", "_winner"), None),
    ),
    lines=Lines(
        str(LEARN),
        (
            ComparedLine(41, "def learn(self, s, a, r):", 0, None, None),
            ComparedLine(None, "    best = v.item(v.argmax())", 2000, 1.5e6, None),
            ComparedLine(42, "    best = float(v.max())", 2000, None, 3.1e6),
        ),
    ),
)
SLOWER = a_test(
    "tests/perf/test_tabular.py::test_training_on_tictactoe[numpy]",
    spec=Spec(category="tabular", steps=1500, metadata={"game": "TicTacToe-v0"}),
    steps=1500,
    verdict=verdict(
        Outcome.REGRESSED,
        "slower than the allowed +5.0 %, beyond doubt",
        (0.352, 0.321, 0.385),
        detectable=0.136,
        severity=Severity.HIGH,
    ),
    **played("slower", 10.1, 0.352, blocks=10),
    explanation=WHY,
    phases=(
        PhaseResult("learn", 0.7, 9.5e6, 0.58, 5.9e6, Interval(0.33, 0.30, 0.36), moved=True),
        PhaseResult("act", 0.2, 2.7e6, 0.28, 2.8e6, Interval(-0.001, -0.01, 0.008)),
        PhaseResult(OUTSIDE, 0.1, 1.4e6, 0.14, 1.4e6, Interval(0.0, -0.01, 0.01)),
    ),
    drift=Drift(
        8,
        SideDrift(Interval(0.09, 0.07, 0.11), matters=True),
        SideDrift(Interval(0.004, -0.01, 0.02), matters=False),
    ),
    first_call_ns=2.5e9,
    source_hash="abc",
    imported={"head": {"rl_impls": "/head/rl_impls/__init__.py"}},
)


def _curve(peak: float, seed: str) -> tuple[tuple[float, float], ...]:
    rng = random.Random(seed)
    size = 0.0
    points = []
    for step in range(180):
        size = min(peak, size + peak / 120 * rng.random() * 2) if step < 150 else size * 0.97
        points.append((step * 0.05, size))
    return tuple(points)


def _metric(name: str, outcome: Outcome, base: float, head: float, **fields: Any) -> Metric:
    change = head / base - 1
    return Metric(
        name=name,
        head=(head, head * 1.01, head * 0.99),
        value=head,
        verdict=verdict(outcome, "within the allowed", _around(change), threshold=None, **fields),
        base=(base, base * 1.01, base * 0.99),
        base_value=base,
        amount=Interval(head - base, 0.9 * (head - base), 1.1 * (head - base)),
        threshold_abs=1e6,
    )


LARGER = a_test(
    "tests/perf/test_replay.py::test_memory_of_a_full_ring",
    spec=Spec(category="replay"),
    timed=False,
    plan=None,
    beside=(
        replace(
            _metric("peak_rss", Outcome.REGRESSED, 40.0 * MIB, 52.0 * MIB),
            verdict=verdict(
                Outcome.REGRESSED,
                "more than the allowed 20.0 %",
                _around(0.3),
                threshold=None,
                severity=Severity.MEDIUM,
                label=UPPER_BOUND,
            ),
            head=(52.0 * MIB, 52.52 * MIB, 51.48 * MIB),
        ),
        _metric("traced_peak", Outcome.UNCHANGED, 30.0 * MIB, 30.1 * MIB),
        _metric("traced_blocks", Outcome.SHOWN, 1200.0, 1210.0),
    ),
    memory=MemoryResult(
        repeats=20,
        head=Evidence(
            processes=(ProcessPeak("python", 50 * MIB), ProcessPeak("worker 1", 2 * MIB)),
            segments=(ProcessPeak("psm_1a2b", MIB),),
            left=("psm_1a2b",),
            sites=(Site("rl_impls/replay/uniform.py:31", 12 * MIB, 4),),
            curve=_curve(52.0 * MIB, "head"),
        ),
        base=Evidence(curve=_curve(40.0 * MIB, "base")),
    ),
)
STEEPER = a_test(
    "tests/perf/test_envs.py::test_reset[rlperf_size=4096]",
    spec=Spec(category="envs"),
    verdict=verdict(change=(0.021, 0.004, 0.038), detectable=0.08),
    **played("steeper", 3.2, 0.021),
    beside=(
        Metric(
            EXPONENT,
            head=(1.97, 2.02, 2.0),
            verdict=verdict(
                Outcome.REGRESSED,
                "grows faster with the size than the allowed +0.1, beyond doubt: O(n) became "
                "O(n^2)",
                threshold=None,
                severity=Severity.HIGH,
                label="sizes 256, 1024, 4096",
            ),
            base=(1.0, 1.01, 0.99),
            value=2.0,
            base_value=1.0,
            amount=Interval(1.0, 0.95, 1.05),
            threshold_abs=0.1,
            curve=GrowthCurve(
                sizes=(256.0, 1024.0, 4096.0),
                head_ns=(1.2e4, 2.0e5, 3.2e6),
                base_ns=(1.2e4, 4.9e4, 2.0e5),
            ),
        ),
        Metric(
            IMPORT_TIME,
            head=(2.1e8, 2.2e8, 2.0e8),
            verdict=verdict(change=_around(0.02)),
            base=(2.0e8, 2.1e8, 2.0e8),
            value=2.1e8,
            base_value=2.0e8,
        ),
    ),
)
UNSURE = a_test(
    "tests/perf/test_replay.py::test_replay_gather",
    spec=Spec(category="replay", steps=256),
    steps=256,
    verdict=verdict(
        Outcome.INCONCLUSIVE,
        "the budget ran out after 8 blocks; raise --rlperf-budget",
        (0.048, 0.012, 0.084),
        detectable=0.14,
        label="by the sums",
    ),
    **played("unsure", 1.62, 0.048),
)
FASTER = a_test(
    "tests/perf/test_mlp.py::test_forward[batch=64]",
    spec=Spec(category="nets"),
    verdict=verdict(Outcome.IMPROVED, "faster", (-0.221, -0.234, -0.208), detectable=0.07),
    **played("faster", 0.8, -0.221),
)
SAME = a_test(
    "tests/perf/test_tabular.py::test_training_on_tictactoe[compiled]",
    spec=Spec(category="tabular", steps=200_000),
    steps=200_000,
    verdict=verdict(change=(-0.0004, -0.0084, 0.0076), detectable=0.079),
    **played("same", 7.01, -0.0004, blocks=5),
)
NEW = a_test(
    "tests/perf/test_new.py::test_new",
    verdict=verdict(Outcome.NO_BASELINE, "it cannot be collected on the base: no `new`"),
)
BROKEN = a_test(
    "tests/perf/test_new.py::test_broken",
    spec=Spec(category="envs"),
    verdict=verdict(Outcome.FAILED, "there is nothing to judge", threshold=None),
    failure=Failure(
        "    def test_broken(rlperf):\n>       assert rlperf(learn) == 11\n"
        "E       AssertionError: learned <too> little",
        sections=(("Captured stdout call", "printed by the test\n"),),
    ),
    plan=None,
)
SKIPPED = a_test(
    "tests/perf/test_gpu.py::test_gpu",
    verdict=verdict(Outcome.SKIPPED, "skipped", threshold=None),
    skipped="needs a GPU",
    plan=None,
)
ACCEPTED = a_test(
    "tests/perf/test_tabular.py::test_saving",
    spec=Spec(category="tabular"),
    verdict=verdict(
        Outcome.ACCEPTED, "accepted until 2031-01-01: safer files", _around(0.082), detectable=0.06
    ),
    **played("accepted", 4.4, 0.082),
)


def _scaling_row(nprocs: int, time_ns: float, verdict: Verdict = NOT_JUDGED) -> ScalingRow:
    speedup = 2e7 / time_ns
    return ScalingRow(
        nodeid=f"tests/perf/test_mpi.py::test_averaging[nprocs={nprocs}]",
        size=JobSize(nprocs, oversubscribed=nprocs > 2),
        time_ns=time_ns,
        speedup=speedup,
        efficiency=Metric(EFFICIENCY, verdict, value=speedup / nprocs),
        throughput=1e9 / time_ns * 1000,
        unit="steps/s",
    )


RANKS = tuple(
    a_test(
        f"tests/perf/test_mpi.py::test_averaging[nprocs={nprocs}]",
        spec=Spec(category="mpi"),
        verdict=verdict(change=(0.006, -0.008, 0.02), detectable=0.09),
        **played(f"ranks {nprocs}", time_ms, 0.006, blocks=6),
    )
    for nprocs, time_ms in ((1, 20), (2, 11), (4, 9))
)
SCALING = ScalingTable(
    "tests/perf/test_mpi.py::test_averaging[nprocs=*]",
    Scaling.STRONG,
    (
        _scaling_row(1, 2.0e7),
        _scaling_row(2, 1.1e7, verdict=verdict(change=(0.01, -0.01, 0.03))),
        _scaling_row(4, 9.0e6),
    ),
)
KPIS = (
    KpiResult(
        BUILT_IN[0],
        Status.ALERT,
        "beyond the alert, beyond doubt",
        SLOWER.nodeid,
        Reading(6.1, 5.9, 6.3, blocks=10),
    ),
    KpiResult(
        BUILT_IN[5], Status.MET, "within the target", SAME.nodeid, Reading(2.8e7, 2.7e7, 2.9e7, 5)
    ),
    KpiResult(BUILT_IN[1], Status.NOT_MEASURED, "no selected test claims it"),
)
EVERYTHING = run_result(
    SAME,
    SLOWER,
    NEW,
    UNSURE,
    BROKEN,
    FASTER,
    LARGER,
    STEEPER,
    SKIPPED,
    ACCEPTED,
    *RANKS,
    against="main (1a2b3c4)",
    dirty=True,
    fingerprint=MACHINE,
    seconds=182.4,
    vanished=(Vanished("tests/perf/test_old.py::test_a", "tests/perf/test_new.py::test_new"),),
    kpis=KPIS,
    scaling=(SCALING,),
)


HEALTHY = a_test(
    SAME.nodeid,
    spec=SAME.spec,
    steps=SAME.steps,
    verdict=SAME.headline,
    **played("healthy", 7.01, 0.002, blocks=10),
    phases=SLOWER.phases,
    beside=(_metric("peak_rss", Outcome.UNCHANGED, 40.0 * MIB, 40.2 * MIB, label=UPPER_BOUND),),
    memory=LARGER.memory,
)
"""Unchanged, and with as much to tell as a test can have."""


def many_tests(number: int) -> RunResult:
    """A large suite in which one test in 25 regressed, all of them with evidence."""
    tests = tuple(_one_of_many(i, SLOWER if i % 25 == 0 else HEALTHY) for i in range(number))
    return replace(EVERYTHING, tests=tests)


def _one_of_many(index: int, found: TestResult) -> TestResult:
    return replace(
        found,
        nodeid=f"tests/perf/test_suite_{index % 20}.py::test_of_many[case-{index}]",
        spec=replace(found.spec, category=f"category {index % 7}"),
    )
