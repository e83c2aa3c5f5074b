"""The run by category."""

from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.result import TestResult
from pytest_rlperf.model.spec import Spec
from pytest_rlperf.report.categories import by_category, render_categories
from tests.factories import a_test, block, run_result, verdict

MS = 10**6


def member(
    category: str | None,
    call_ms: int | None,
    steps: int | None = None,
    outcome: Outcome = Outcome.UNCHANGED,
    memory: tuple[float, ...] = (),
) -> TestResult:
    blocks = () if call_ms is None else (block([call_ms * MS], None),) * 3
    name = f"test_{category}.py::test_{call_ms}_{steps}"
    return a_test(
        name,
        spec=Spec(category=category),
        blocks=blocks,
        steps=steps,
        verdict=verdict(outcome),
        memory_bytes=memory,
    )


RUN = run_result(
    member("env", 1, steps=10, memory=(90e6, 110e6, 100e6)),
    member("env", 2, steps=10, memory=(1.5e9,)),
    member("env", 4, outcome=Outcome.REGRESSED),
    member("replay", 5),
    member("rl", None, outcome=Outcome.FAILED),
    member(None, 20),
    member(None, 10),
)


def test_the_table_has_a_line_for_each_category():
    assert render_categories(RUN) == [
        "category  tests  mean throughput ± sd          memory, mean and most  outcomes",
        "env       3      7,500 ± 3,536 steps/s (of 2)  800 MB, 1,500 MB       "
        "1 regressed, 2 unchanged",
        "replay    1      200 calls/s                                          1 unchanged",
        "rl        1                                                           1 failed",
        "(none)    2      75 ± 35.4 calls/s                                    2 unchanged",
    ]


def test_steps_and_calls_are_not_averaged_together():
    env, replay, *_ = by_category(RUN)
    assert (env.steps_per_s is not None, env.calls_per_s) == (True, None)
    assert (replay.steps_per_s, replay.calls_per_s is not None) == (None, True)


def test_a_single_category_gets_no_table():
    assert render_categories(run_result(member(None, 1), member(None, 2))) == []
    assert render_categories(run_result(member("env", 1), member("env", 2))) == []


def test_every_test_is_counted_once():
    assert sum(category.tests for category in by_category(RUN)) == len(RUN.tests)
