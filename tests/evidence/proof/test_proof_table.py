"""Figures, judgement and table, from records made by hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from . import readings
from .cases import CASES, Case, Requirement, by_name
from .records import CRASHED, Facts, Record, Verdict, append, from_line, read, to_line
from .schedule import counted, next_case, suites_run, variant_of
from .summary import failures, summarise
from .table import render

FACTS = Facts("2026-01-02T03:04:05+00:00", "abc", "A CPU", 2, "3.11.7", "2.4.0", "5.2.3")


def record(outcome: str = "unchanged", case: str = "aa", **changes: object) -> Record:
    made = Record(
        tool="pytest-rlperf",
        case=case,
        kind="blas",
        variant="plain",
        suite="s1",
        truth=0.0,
        threshold=0.05,
        seconds=4.0,
        load=True,
        verdict=Verdict("f.py::test_blas_64", outcome, 0.001, -0.01, 0.012, 6, 0.02),
        facts=FACTS,
    )
    return replace(made, **changes)  # type: ignore[arg-type]


CRASH = record(verdict=Verdict("", CRASHED), kind="", suite="s2", reason="exit code 3")


def test_a_record_survives_the_file(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    append(path, [record(), CRASH])
    append(path, [record("regressed")])
    assert read(path) == [record(), CRASH, record("regressed")]


def test_a_torn_last_line_is_survived_and_does_not_spoil_the_next(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    path.write_text(f"{to_line(record())}\n{to_line(record())[:40]}", encoding="utf-8")
    assert read(path) == [record()]
    append(path, [CRASH])
    assert read(path) == [record(), CRASH]


def test_a_bad_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    line = to_line(record())
    path.write_text(f"{line}\nnonsense\n{line}\n", encoding="utf-8")
    with pytest.raises(ValueError, match="line 2"):
        read(path)


def test_an_unknown_schema_is_refused() -> None:
    with pytest.raises(ValueError, match="schema 99"):
        from_line(to_line(record()).replace('"schema": 1', '"schema": 99'))


def test_crashes_other_loads_and_exempt_kinds_do_not_count() -> None:
    case = by_name("plus4")
    own = [record(case="plus4"), record(case="plus4", kind="memory"), record(case="aa")]
    own += [record(case="plus4", load=False), replace(CRASH, case="plus4")]
    assert counted(case, own, load=True) == 1
    assert suites_run(case, own, load=True) == 2


def test_the_emptiest_case_comes_next_until_all_are_full() -> None:
    first, second = (replace(case, wanted=2) for case in (by_name("aa"), by_name("plus10")))
    some = [record(case="aa"), record(case="plus10"), record(case="plus10")]
    assert next_case([first, second], [], load=True) == first
    assert next_case([first, second], some, load=True) == first
    assert next_case([first, second], [*some, record(case="aa")], load=True) is None


def test_half_of_the_unchanged_suites_are_asymmetric() -> None:
    case = by_name("aa")
    variants = [variant_of(case, number) for number in range(30)]
    assert variants.count("plain") == 15
    assert all(variants.count(name) == 5 for name in ("unused", "path", "bytecode"))


def test_figures_are_those_of_the_records() -> None:
    wide = Verdict("f.py::test_blas_64", "inconclusive", 0.04, 0.01, 0.07, 24, 0.03)
    figures = summarise([record(), record(verdict=wide, seconds=6.0), CRASH])
    assert (figures.n, figures.crashes, figures.share("inconclusive").hits) == (2, 1, 1)
    assert figures.covered is not None
    assert (figures.covered.hits, figures.covered.n) == (1, 2)
    assert (figures.median_seconds, figures.max_seconds) == (5.0, 6.0)
    assert figures.mean_change == pytest.approx(0.0205)


@pytest.mark.parametrize(
    ("requirement", "said"),
    [
        (Requirement(), []),
        (Requirement(regressed_max=0.5), []),
        (Requirement(regressed_max=0.4), ["50 % regressed"]),
        (Requirement(regressed_min=0.6), ["50 % regressed"]),
        (Requirement(coverage_min=0.93), []),
        (Requirement(inconclusive_max=0.0), []),
        (Requirement(seconds_max=3.0), ["up to 4.0 s"]),
    ],
)
def test_a_broken_limit_is_named_with_its_figure(requirement: Requirement, said: list[str]) -> None:
    assert failures(requirement, summarise([record(), record("regressed")])) == said


def test_a_crashed_suite_is_never_met() -> None:
    assert failures(Requirement(), summarise([record(), CRASH])) == ["1 crashed"]


def test_intervals_that_were_never_given_do_not_cover() -> None:
    silent = record(verdict=Verdict("f.py::test_blas_64", "no_baseline"))
    assert failures(Requirement(coverage_min=0.9), summarise([silent])) == ["nothing covered"]


def small(name: str) -> Case:
    return replace(by_name(name), wanted=2)


TABLE = """\
Under load:

| case | tool | work | n | regressed | 95 % bounds | improved | inconclusive | other | \
interval holds the truth | change, mean ± sd | s a verdict, median (max) | required | met |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
| +10 % at 5 % | pytest-rlperf | all | 2 | 1/2 (50 %) | 1.26 % to 98.74 % | 0/2 (0 %) | \
0/2 (0 %) | 1 failed, 1 suites crashed | 1/1 (100 %) | +0.10 % | 4.0 (4.0) | \
regressed ≥ 99 %, ≤ 10 s | no: 1 crashed, 50 % regressed |
|  |  | blas | 2 | 1/2 (50 %) | 1.26 % to 98.74 % | 0/2 (0 %) | 0/2 (0 %) | 1 failed | \
1/1 (100 %) | +0.10 % | 4.0 (4.0) | – | – |
| A/A at 5 % | pytest-benchmark | all | 1 | 0/1 (0 %) | 0 % to 97.5 % | 0/1 (0 %) | \
0/1 (0 %) | – | – | +3.00 % | 4.0 (4.0) | – | – |
|  |  | blas | 1 | 0/1 (0 %) | 0 % to 97.5 % | 0/1 (0 %) | 0/1 (0 %) | – | – | +3.00 % | \
4.0 (4.0) | – | – |

- measured 2026-01-02 to 2026-01-02 (UTC)
- machine: A CPU, 2 cores
- versions: Python 3.11.7, numpy 2.4.0, pytest-benchmark 5.2.3
- plugin at abc
- command: `python -m tests.evidence.proof run --out out.jsonl`, \
then `python -m tests.evidence.proof table out.jsonl`
"""


def test_the_table_shows_every_verdict_with_its_n() -> None:
    failed = record(case="plus10", verdict=Verdict("f.py::test_blas_96", "failed"))
    mean = record(case="benchmark-aa", tool="pytest-benchmark")
    mean = replace(mean, verdict=Verdict("f.py::test_blas_96", "unchanged", 0.03))
    records = [record("regressed", case="plus10"), failed, replace(CRASH, case="plus10"), mean]
    assert render(records, "out.jsonl", [small("plus10"), small("benchmark-aa")]) == TABLE


def test_the_short_table_has_a_line_a_case() -> None:
    records = [record("regressed", case="plus10"), record(case="plus10"), record(case="aa")]
    lines = render(records, "out.jsonl", short=True).split("\n\n")[1].splitlines()
    assert lines[2:] == [
        "| A/A at 5 % | pytest-rlperf | all | 1 | 0/1 (0 %) | 0 % to 97.5 % | 0/1 (0 %) | "
        "1/1 (100 %) | 4.0 (4.0) |",
        "| +10 % at 5 % | pytest-rlperf | all | 2 | 1/2 (50 %) | 1.26 % to 98.74 % | 0/2 (0 %) | "
        "2/2 (100 %) | 4.0 (4.0) |",
    ]


def test_an_unfinished_case_says_so() -> None:
    assert "yes so far (1 of 300)" in render([record()], "out.jsonl")


def test_figures_of_several_revisions_are_told_apart() -> None:
    other = record(facts=replace(FACTS, commit="def"))
    assert "plugin at abc (n = 2); def (n = 1)" in render([record(), record(), other], "o.jsonl")


def test_case_names_are_unique_and_their_suites_divide_evenly() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    assert all(case.change.extra_units >= 0 for case in CASES)


def test_a_diluted_change_is_read_as_what_it_comes_to() -> None:
    """+10 % of work that is nine tenths of a test: its intervals hold +9 %, and not +10 %."""
    diluted = [
        record(
            case="mpi-plus10",
            truth=0.1,
            verdict=Verdict(
                "f.py::test", "regressed", 0.09 + off, 0.085 + off, 0.095 + off, 6, 0.06
            ),
        )
        for off in (-0.002, 0.0, 0.002)
    ]
    *_, row = readings.render([*diluted, CRASH]).splitlines()
    assert row.startswith("| mpi-plus10 | blas | 3 | +10.0% | +9.00% ± 0.12% | 0 (0% to 71%) | 3 (")


def test_the_figures_of_the_docs_are_those_of_the_records() -> None:
    """In docs/verdict.md, of ranks that gather from memory and of processes that interpret."""
    rows = readings.render(read(Path(__file__).parents[3] / "docs/proof/verdicts.jsonl"))
    told = {tuple(row.split(" | ")[:2]): row.split(" | ")[4:] for row in rows.splitlines()[2:]}
    assert told["| mpi-plus10", "memory"][0] == "+9.22% ± 0.08%"
    assert told["| processes-plus10", "interpreter"][0] == "+9.43% ± 0.20%"
    holds = {
        case: sum(int(cells[2].split()[0]) for (name, _), cells in told.items() if name == case)
        for case in ("| mpi-plus10", "| processes-plus10")
    }
    assert holds == {"| mpi-plus10": 97, "| processes-plus10": 54}
