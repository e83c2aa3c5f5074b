"""The run as Markdown: whole reports, as a reviewer reads them."""

import re
from typing import Any

import pytest

from pytest_rlperf.model.block import Block
from pytest_rlperf.model.metric import Outcome, Severity
from pytest_rlperf.model.result import Failure, Vanished
from pytest_rlperf.report.markdown import render_markdown
from tests.factories import a_test, block, run_result, verdict

MS = 10**6


def played(head_ms: int, base_ms: int | None) -> tuple[Block, ...]:
    base = None if base_ms is None else [base_ms * MS] * 4
    return (block([head_ms * MS] * 4, base),) * 2


def slower(nodeid: str = "test_agents.py::test_update", change: float = 0.08, **fields: Any):
    found = verdict(
        Outcome.REGRESSED,
        "slower than the allowed +5.0 %, beyond doubt",
        (change, change - 0.01, change + 0.01),
        detectable=0.061,
        severity=Severity.NOTICE,
    )
    return a_test(nodeid, verdict=found, blocks=played(108, 100), steps=1000, **fields)


SAME = a_test(
    "test_replay.py::test_gather",
    verdict=verdict(change=(0.001, -0.004, 0.006), detectable=0.058),
    blocks=played(2, 2),
)
UNSURE = a_test(
    "test_replay.py::test_add",
    verdict=verdict(
        Outcome.INCONCLUSIVE, "the budget ran out after 4 blocks", (0.04, -0.01, 0.09), label="wall"
    ),
    blocks=played(2, 2),
)
NEW = a_test(
    "test_new.py::test_new",
    verdict=verdict(Outcome.NO_BASELINE, "it cannot be collected on the base: no `_q_`"),
)
BROKEN = a_test(
    "test_x.py::test_x",
    verdict=verdict(Outcome.FAILED, "there is nothing to judge", threshold=None),
    failure=Failure("x = '```'\nE   AssertionError"),
)
FACTS = {"cpu": "Some CPU", "pinned_to": [0, 1], "libraries": {"numpy": "2.1"}, "threads": {"a": 1}}

REPORT = """\
## Performance: 1 regressed, 1 failed, 1 inconclusive, 1 no baseline, 1 unchanged

ffffffffff with uncommitted changes against main (1a2b3c4): **1 of 5 tests slower than allowed, 1 test failed, 2 without a verdict.**

| outcome | change | allowed | detects | base → head | test |
| --- | --- | --- | --- | --- | --- |
| **REGRESSED** | +8.0 % [+7.0, +9.0 %] | +5.0 % | +6.1 % | 100 ms → 108 ms (9,259 steps/s) | `test_agents.py::test_update` |
| **failed** |  |  |  |  | `test_x.py::test_x` |
| inconclusive | +4.0 % [-1.0, +9.0 %] | +5.0 % |  | 2 ms → 2.08 ms | `test_replay.py::test_add` |
| no baseline |  |  |  |  | `test_new.py::test_new` |
| unchanged | +0.10 % [-0.40, +0.60 %] | +5.0 % | +5.8 % | 2 ms → 2 ms | `test_replay.py::test_gather` |

*Detects*: the smallest slowdown that this run would have called a regression.

<details>
<summary><b>REGRESSED (notice)</b> +8.0 % <code>test_agents.py::test_update</code></summary>

```text
REGRESSED (notice): time +8.0 % [+7.0, +9.0 %] against main (1a2b3c4), allowed +5.0 %
  why: slower than the allowed +5.0 %, beyond doubt
  time a call: 100 ms → 108 ms (9,259 steps/s), 2 blocks of 4 sliced pairs, 1 call a slice
  witnesses: CPU time +8.0 %, the core to itself, steal at most 0.00 %, preempted 0 times/s
  repeat: pytest --rlperf test_agents.py::test_update
```

</details>

<details>
<summary><b>failed</b> <code>test_x.py::test_x</code></summary>

````text
AssertionError

x = '```'
E   AssertionError
````

Repeat:

```sh
pytest --rlperf test_x.py::test_x
```

</details>

### Notes

- `test_replay.py::test_add`: inconclusive: the budget ran out after 4 blocks (wall)
- `test_new.py::test_new`: no baseline: it cannot be collected on the base: no \\`\\_q\\_\\`
- head imported lib from \\[elsewhere\\]

<details>
<summary>Machine and libraries</summary>

- cpu: Some CPU
- pinned to: 0, 1
- libraries: numpy 2.1

</details>
"""  # noqa: E501


def table(report: str) -> list[str]:
    return [line for line in report.splitlines() if line.startswith("|")][2:]


def test_a_report_has_the_verdict_the_table_the_evidence_the_notes_and_the_machine():
    run = run_result(SAME, NEW, UNSURE, BROKEN, slower(), dirty=True, fingerprint=FACTS)
    assert render_markdown(run, ["head imported lib from [elsewhere]"]) == REPORT


def test_the_largest_regression_comes_first():
    run = run_result(slower("t.py::small", 0.07), slower("t.py::large", 0.5))
    assert [row.split("`")[1] for row in table(render_markdown(run))] == [
        "t.py::large",
        "t.py::small",
    ]


@pytest.mark.parametrize("nasty", ["a|b", "`", "``|``", "\\|", "<b>", "](x)[", "a\\", " |", "é|"])
def test_a_nasty_id_keeps_the_columns_and_the_summary_whole(nasty: str):
    report = render_markdown(run_result(slower(f"t.py::test[{nasty}]"), SAME))
    assert [row.count("|") for row in table(report)] == [7, 7]
    (summary,) = re.findall(r"<summary><b>REGRESSED.*", report)
    assert re.findall("<[^>]*>", summary)[2:] == ["</b>", "<code>", "</code>", "</summary>"]


@pytest.mark.parametrize(
    ("tests", "said"),
    [
        ([SAME], "nothing regressed."),
        ([SAME, UNSURE], "nothing regressed, 1 without a verdict."),
        ([slower()], "1 of 1 test slower than allowed."),
        ([NEW], "nothing was compared."),
        ([], "nothing was compared."),
    ],
)
def test_the_verdict_is_one_line(tests: list[Any], said: str):
    assert f": **{said}**" in render_markdown(run_result(*tests)).splitlines()[2]


def test_without_a_comparison_its_columns_are_left_out():
    alone = verdict(Outcome.NO_BASELINE, "measured, with nothing to compare with")
    run = run_result(a_test(verdict=alone, blocks=played(3, None)), against=None, commit=None)
    report = render_markdown(run).splitlines()
    assert report[2] == "The working tree: **nothing was compared.**"
    assert report[4] == "| outcome | time a call | test |"
    assert report[6] == "| no baseline | 3 ms | `test_a.py::test_a` |"
    assert "### Notes" not in report


def test_a_vanished_test_is_named_with_its_new_name():
    gone = Vanished("test_old.py::test_a", renamed_to="test_new.py::test_b")
    report = render_markdown(run_result(SAME, vanished=(gone,)))
    assert "vanished" in report
    assert "it seems to be" in report


def test_an_interrupted_run_says_so():
    report = render_markdown(run_result(SAME, interrupted=True))
    assert "\nInterrupted: the verdicts rest on what was measured until then.\n" in report


def test_a_drift_within_the_allowed_has_its_own_word():
    drifting = verdict(Outcome.SLOWER, change=(0.02, 0.01, 0.03))
    report = render_markdown(run_result(a_test(verdict=drifting, blocks=played(2, 2))))
    assert "slower (allowed)" in report


def test_a_reason_that_tests_share_is_told_once():
    foreign = verdict(Outcome.INCOMPARABLE, "saved on another machine", (0.5, 0.4, 0.6))
    report = render_markdown(run_result(*(a_test(f"t.py::{n}", verdict=foreign) for n in range(5))))
    assert (
        "- 5 tests: incomparable: saved on another machine (`t.py::0`, `t.py::1`, `t.py::2` and 2 "
        "more)" in report.splitlines()
    )
    assert ": **nothing was compared.**" in report


def test_a_skipped_test_gives_its_reason():
    skipped = a_test(verdict=verdict(Outcome.SKIPPED, "skipped"), skipped="no GPU")
    assert "- `test_a.py::test_a`: skipped: no GPU" in render_markdown(run_result(skipped))


def test_a_name_that_is_no_utf_8_can_be_written():
    report = render_markdown(run_result(slower("test_\udcff.py::test_a")))
    assert "`test_\\udcff.py::test_a`" in report
    assert report.encode("utf-8")


@pytest.mark.parametrize("most_bytes", [700, 2_000, 20_000])
def test_a_report_that_is_too_long_keeps_the_worst_and_says_that_it_is_shortened(most_bytes: int):
    run = run_result(*(slower(f"t.py::test[µ{i}]", 0.1 + i / 100) for i in range(100)))
    report = render_markdown(run, most_bytes=most_bytes)
    assert len(report.encode()) <= most_bytes
    assert report.startswith("## Performance: 100 regressed")
    assert "`t.py::test[µ99]`" in report
    assert re.search(r"\*\*Shortened:\*\* \d+ of 204 rows and sections did not fit", report)
    shown = [int(number) for number in re.findall(r"µ(\d+)", "".join(table(report)))]
    assert shown == list(range(99, 99 - len(shown), -1))


def test_one_huge_traceback_does_not_push_the_rest_out():
    huge = a_test("t.py::huge", verdict=BROKEN.headline, failure=Failure("x" * 10_000))
    report = render_markdown(run_result(huge, BROKEN, SAME), most_bytes=5_000)
    assert "<code>test_x.py::test_x</code></summary>" in report
    assert "<code>t.py::huge</code></summary>" not in report


def test_a_report_that_fits_is_not_shortened():
    whole = render_markdown(run_result(SAME))
    assert render_markdown(run_result(SAME), most_bytes=len(whole.encode())) == whole
