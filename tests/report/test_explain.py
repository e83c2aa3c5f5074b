"""One test as text to act on: what is said by outcome, what comes next, and that it is bounded."""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.model.block import SideBlock
from pytest_rlperf.model.code import CodeChanges
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.profile import Explanation
from pytest_rlperf.model.result import Failure, TestResult
from pytest_rlperf.report.explain import (
    MOST_LETTERS,
    MOST_LINES,
    OTHERS,
    next_steps,
    render_explained,
    render_others,
    render_run,
    short_diff,
    worst_test,
)
from tests.factories import a_test, block, examples, run_result, verdict
from tests.sample_runs import (
    BROKEN,
    EVERYTHING,
    FASTER,
    LARGER,
    NEW,
    SAME,
    SKIPPED,
    SLOWER,
    STEEPER,
    UNSURE,
    many_tests,
)

WHY = """\
tests/perf/test_tabular.py::test_training_on_tictactoe[numpy]
REGRESSED (high): time +35.2 % [+32.1, +38.5 %] against main (1a2b3c4), allowed +5.0 %
  why: slower than the allowed +5.0 %, beyond doubt
  time a call: 10 ms → 13.6 ms (110,626 steps/s), 10 blocks of 8 sliced pairs, 2 calls a slice
  witnesses: CPU time +35.4 %, the core to itself, steal at most 0.64 %, preempted 21 times/s
  phases: learn adds +33.0 % of the whole call
  detects: a slowdown of +13.6 % would have been called in nine of ten cases
  changed: the source of rl_impls/tabular/arrays.py:ArrayLearner.learn, \
rl_impls/envs/rules.py:_winner
    rl_impls/tabular/arrays.py:ArrayLearner.learn at rl_impls/tabular/arrays.py:42
       def learn(self, s, a, r):
      -    best = v.item(v.argmax())
      +    best = float(v.max())
    rl_impls/envs/rules.py:_winner
  profile: +33.0 % under the profiler, in 8 pairs of processes
    72 % of it in rl_impls/tabular/arrays.py:ArrayLearner.learn, calls 1x, time per call 1.41x, \
calls of numpy.ndarray.max 0 → 2,000 (certain); its source changed
    21 % of it in rl_impls/tabular/arrays.py:ArrayLearner.act, calls about 1.01x, time per call \
1.1x
    5 % of it in rl_impls/envs/rules.py:_winner, compiled into rl_impls/tabular/kernel.py:train, \
calls 1x; by its source, which changed: no profiler looks into compiled code
  lines of rl_impls/tabular/arrays.py:ArrayLearner.learn, with what they call, a call of the test:
    line  hits   base    head    source
    -     2,000  1.5 ms              best = v.item(v.argmax())
    42    2,000          3.1 ms      best = float(v.max())
KPI ALERT: environment_step is 6.1 ± 0.2 ms a step, alert > 5 ms
  why: beyond the alert, beyond doubt; the target is ≤ 1 ms
  measured on AMD EPYC, 2 cores
  repeat: pytest --rlperf tests/perf/test_tabular.py::test_training_on_tictactoe[numpy]
next:
  - look at rl_impls/tabular/arrays.py:42 first
  - after a change, run the command above: it is mended when the test is unchanged or better
  - if it is meant, allow it by name until a date, with a reason: [tool.rlperf.accepted]"""


def explained(test: TestResult, **fields: Any) -> str:
    return "\n".join(render_explained(replace(EVERYTHING, **fields), test))


def test_a_regression_is_told_with_all_that_accounts_for_it_and_what_to_do():
    assert explained(SLOWER) == WHY


@pytest.mark.parametrize(
    ("test", "said"),
    [
        (SAME, ["unchanged: time -0.04 %", "would have been called in nine of ten", "nothing: "]),
        (UNSURE, ["inconclusive: time +4.8 %", "measure it alone", "rlperf doctor"]),
        (FASTER, ["improved: time -22.1 %", "equal work: the test declares no counts"]),
        (BROKEN, ["E       AssertionError: learned <too> little", "without --rlperf it runs"]),
        (SKIPPED, ["skipped: needs a GPU"]),
        (
            NEW,
            ["no baseline: ", "why: it cannot be collected", "if it is new, nothing"],
        ),
        (STEEPER, ["unchanged: time", "REGRESSED (high): exponent +1.00 [+0.95, +1.05]"]),
        (
            LARGER,
            [
                "REGRESSED (medium): peak_rss +30.0 % [+10.8 MiB, +13.2 MiB]",
                "held after the calls: rl_impls/replay/uniform.py:31 (12 MiB)",
                "unchanged: traced_peak +0.33 %",
                "of memory, look at rl_impls/replay/uniform.py:31 first",
            ],
        ),
    ],
)
def test_every_outcome_says_what_it_rests_on_and_what_comes_next(test: TestResult, said: list[str]):
    text = explained(test)
    assert [part for part in said if part not in text] == []
    assert f"repeat: {test.repeat_command}" in text


def test_same_code_says_what_was_compared_and_how_to_measure_all_the_same():
    test = a_test(verdict=verdict(Outcome.SAME_CODE, "it runs nothing of what changed"))
    changes = CodeChanges(functions={"lib.py": ("work", "Ring.add")}, modules=("conf.py",))
    text = explained(test, code_changes=changes)
    said = "the sides differ in: lib.py:work, lib.py:Ring.add, conf.py (what its import does)"
    assert said in text
    assert f"- to measure it all the same: {test.repeat_command} --rlperf-same-code=measure" in text


def test_a_test_that_is_faster_within_the_threshold_is_told_that_it_is_no_improvement():
    faster = verdict(Outcome.FASTER, "faster, beyond doubt", (-0.05, -0.07, -0.03))
    side = replace(block([2, 2], [3, 3]).head, work={"updates": 1500.0})
    assert isinstance(side, SideBlock)
    played = replace(block([2, 2], [3, 3]), head=side)
    text = explained(a_test(verdict=faster, blocks=(played, played)))
    assert "no improvement: its interval does not end below -5.0 %" in text
    assert "  equal work: both sides declare updates 1,500" in text


REGRESSED = a_test(verdict=verdict(Outcome.REGRESSED, "slower", (0.3, 0.2, 0.4)))


@pytest.mark.parametrize(
    ("fields", "test", "step"),
    [
        ({}, REGRESSED, "profile both sides: pytest --rlperf test_a.py::test_a --rlperf-profile"),
        (
            {"base_commit": "a" * 40},
            REGRESSED,
            f"of several commits, find the one: rlperf bisect {'a' * 40} {'f' * 40} -- "
            "test_a.py::test_a",
        ),
        (
            {},
            replace(SLOWER, explanation=replace(SLOWER.explanation or Explanation(), lines=None)),
            "time the lines of the function that is blamed: ",
        ),
    ],
)
def test_what_comes_next_follows_from_what_is_known(
    fields: dict[str, Any], test: TestResult, step: str
):
    steps = list(next_steps(run_result(test, **fields), test))
    assert any(each.startswith(step) for each in steps), steps


def test_uncommitted_changes_are_not_bisected():
    run = run_result(REGRESSED, base_commit="a" * 40, dirty=True)
    assert not any("bisect" in step for step in next_steps(run, REGRESSED))


def test_the_worst_comes_first_and_the_others_have_a_line_each():
    assert worst_test(EVERYTHING) is not None
    assert worst_test(EVERYTHING) == SLOWER
    lines = render_others(EVERYTHING, SLOWER)
    assert lines[2:4] == [
        f"  REGRESSED (high) exponent +1.00: {STEEPER.nodeid}",
        f"  REGRESSED (medium) peak_rss +30.0 %: {LARGER.nodeid}",
    ]
    assert len(lines) == 2 + 7


def test_where_nothing_regressed_there_is_no_worst():
    assert worst_test(run_result(SAME, FASTER)) is None
    assert render_run(run_result(SAME, FASTER)) == [
        "ffffffffff against main (1a2b3c4), 2030-01-02T03:04:05+00:00: nothing regressed.",
        "outcomes: 1 improved, 1 unchanged",
    ]


def test_of_many_others_some_are_named_and_the_rest_is_counted():
    run = many_tests(500)
    lines = render_others(run, worst_test(run))
    assert len(lines) == 2 + OTHERS + 1
    assert lines[-1] == "  and 9 more, which --rlperf-report=DIR tells"


DIFF = (" def f():", " a", " b", "-c", "+d", " e", " g")


@pytest.mark.parametrize(
    ("most", "shown"),
    [(9, [" b", "-c", "+d", " e"]), (2, [" b", "-c", "… 2 more lines of the diff"])],
)
def test_of_a_diff_the_lines_that_changed_are_shown_with_those_beside(most: int, shown: list[str]):
    assert short_diff(DIFF, most) == shown


texts = st.text(max_size=4000)


@examples
@given(texts, st.integers(0, 400), st.booleans())
def test_a_text_is_bounded_whatever_a_result_holds(text: str, number: int, failed: bool):
    why = SLOWER.explanation
    assert why is not None
    assert why.lines is not None
    line = replace(why.lines.lines[1], text=text)
    edit = replace(why.edits[0], diff=(f"+{text}",) * number)
    many = replace(
        why,
        causes=why.causes * number,
        edits=(edit,) * number,
        lines=replace(why.lines, lines=(line,) * number),
        note=text,
    )
    failure = Failure(f"{text}\n" * number) if failed else None
    test = replace(SLOWER, explanation=many, failure=failure)
    lines = render_explained(EVERYTHING, test)
    assert len(lines) <= MOST_LINES
    assert all(len(each) <= MOST_LETTERS for each in lines)
    assert f"  repeat: {test.repeat_command}" in lines
