"""The run as Markdown: what a reviewer reads in a pull request."""

from collections.abc import Iterator, Sequence

from pytest_rlperf.environments.report import render_environments
from pytest_rlperf.metrics.within_run import render_phase_table
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.quantity import format_percent
from pytest_rlperf.model.result import Fingerprint, Proof, RunResult, TestResult
from pytest_rlperf.mpi.scaling import render_scaling
from pytest_rlperf.prove.report import render_proof, render_proof_summary
from pytest_rlperf.report.kpis import render_kpi_table
from pytest_rlperf.report.metrics import SECTIONS, render_metric_table
from pytest_rlperf.report.origins import render_parts
from pytest_rlperf.report.terminal import (
    remarks,
    render_explanations,
    render_failure,
    render_vanished,
    time_row,
)
from pytest_rlperf.report.text import (
    DETECTS,
    INTERRUPTED,
    WORDS,
    Rows,
    StyledLine,
    by_remark,
    code,
    fact_rows,
    fenced,
    filled,
    html_code,
    name_some,
    plain,
    printable,
    render_head,
    render_subject,
    render_summary,
    render_tests,
    render_undecided,
    render_verdict,
    time_title,
    worst_first,
)


def render_markdown(
    run: RunResult, notices: Sequence[str] = (), most_bytes: int | None = None
) -> str:
    """Return the run, the worst first, so that what `most_bytes` cuts off is what matters least."""
    tests = sorted(run.tests, key=worst_first)
    if run.proof is not None:
        return _joined(_proof_pieces(run, run.proof, tests, notices), most_bytes)
    title, *rows = _rows(run, tests)
    vanished = map(render_vanished, run.vanished)
    pieces = [
        _headline(run),
        f"{_table_row(title)}\n{_table_row(['---'] * len(title))}",
        *map(_table_row, rows),
        *(
            [f"\n*Detects*: {DETECTS}"]
            if any(t.headline.detectable is not None for t in tests)
            else []
        ),
        *(
            piece
            for section in SECTIONS
            for piece in _table_of(section.title, _texts(render_metric_table(run, section)))
        ),
        *_table_of("Phases", render_phase_table(run)),
        *_table_of("Scaling", render_scaling(run)),
        *_table_of("KPIs", _texts(render_kpi_table(run))),
        *_table_of("Profiles", render_explanations(run), "text"),
        *(_details(test, run.against) for test in tests if _fails(test)),
        *_section(
            "Notes",
            [
                *_remarks(run, tests),
                *map(plain, [*vanished, *notices, *render_environments(run), *render_parts(run)]),
            ],
        ),
        _facts(run.fingerprint),
    ]
    return _joined(pieces, most_bytes)


def _proof_pieces(
    run: RunResult, proof: Proof, tests: Sequence[TestResult], notices: Sequence[str]
) -> list[str]:
    """Return the parts of a proof; the gate was measured, so of tests only failures are shown."""
    return [
        f"## Performance: {render_proof_summary(proof)}\n",
        f"{plain(render_head(run))}, compared with itself.\n",
        *(_details(test, None) for test in tests if _fails(test)),
        fenced("\n".join(render_proof(proof))),
        *_section("Notes", list(map(plain, notices))),
        _facts(run.fingerprint),
    ]


# -- headline -----------------------------------------------------------------------------------


def _headline(run: RunResult) -> str:
    lines = [f"## {render_subject(run)}: {render_summary(run) or 'no tests'}", ""]
    partner = "" if run.against is None else f" against {plain(run.against)}"
    lines.append(f"{plain(render_head(run))}{partner}: **{render_verdict(run)}**")
    lines += ["", INTERRUPTED] if run.interrupted else []
    undecided = render_undecided(run)
    lines += ["", plain(undecided[0].upper() + undecided[1:])] if undecided else []
    return "\n".join(lines) + "\n"


# -- table --------------------------------------------------------------------------------------


def _rows(run: RunResult, tests: Sequence[TestResult]) -> Rows:
    title = ["outcome", "change", "allowed", "detects", time_title(run.against), "from", "test"]
    return filled([title, *map(_row, tests)])


def _row(test: TestResult) -> list[str]:
    word, change, interval, allowed, detects, values, *_ = time_row(test)
    return [
        f"**{word}**" if _fails(test) else word,
        f"{change} {interval}".strip(),
        allowed,
        detects,
        values,
        plain(test.part or ""),
        code(test.nodeid),
    ]


def _fails(test: TestResult) -> bool:
    return test.outcome in (Outcome.REGRESSED, Outcome.FAILED)


def _table_row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


# -- below the table ----------------------------------------------------------------------------


def _details(test: TestResult, against: str | None) -> str:
    v = test.headline
    severity = f" ({v.severity.value})" if v.severity else ""
    change = f" {format_percent(v.interval.change)}" if v.interval else ""
    summary = f"<b>{WORDS[test.outcome]}{severity}</b>{change} {html_code(test.nodeid)}"
    text = render_failure(test, against)
    return _folded(summary, fenced(text, "text") + _repeat(test))


def _repeat(test: TestResult) -> str:
    """Return how to see a failure of the test itself again, which does not say so itself."""
    if test.failure is None or not test.repeat_command:
        return ""
    return f"\n\nRepeat:\n\n{fenced(test.repeat_command, 'sh')}"


def _folded(summary: str, content: str) -> str:
    """Return content that a click unfolds; its empty lines make GitHub read Markdown again."""
    return f"\n<details>\n<summary>{summary}</summary>\n\n{content}\n\n</details>"


def _table_of(title: str, lines: Sequence[str], language: str = "") -> list[str]:
    return [f"\n### {title}\n", fenced("\n".join(lines), language)] if lines else []


def _texts(lines: Sequence[StyledLine]) -> list[str]:
    return [line.text for line in lines]


def _section(title: str, lines: Sequence[str]) -> list[str]:
    return [f"\n### {title}\n", *(f"- {line}" for line in lines)] if lines else []


def _remarks(run: RunResult, tests: Sequence[TestResult]) -> Iterator[str]:
    for remark, nodeids in by_remark(_remarked(run, tests)).items():
        names = name_some([code(nodeid) for nodeid in nodeids])
        if len(nodeids) == 1:
            yield f"{names}: {plain(remark)}"
        else:
            yield f"{render_tests(len(nodeids))}: {plain(remark)} ({names})"


def _remarked(run: RunResult, tests: Sequence[TestResult]) -> Iterator[tuple[str, str]]:
    for test in tests:
        if run.against is None and test.headline.outcome is Outcome.NO_BASELINE:
            continue  # the same for all tests, and said above
        if test.headline.outcome is Outcome.NOT_MEASURED:
            continue  # the same for all of them
        if test.skipped is not None:
            yield test.nodeid, f"skipped: {test.skipped}"
        yield from ((test.nodeid, remark) for remark in remarks(test))


def _facts(fingerprint: Fingerprint) -> str:
    facts = [f"- {plain(name)}: {plain(text)}" for name, text in fact_rows(fingerprint)]
    return _folded("Machine and libraries", "\n".join(facts)) if facts else ""


# -- fitting ------------------------------------------------------------------------------------


def _joined(pieces: Sequence[str], most_bytes: int | None) -> str:
    """Return the pieces as one text; those that do not fit are left out, and counted."""
    whole = printable("\n".join(pieces) + "\n")
    if most_bytes is None or _size(whole) <= most_bytes:
        return whole
    room = most_bytes - _size(_shortened(len(pieces), len(pieces)))
    kept = []
    for piece in map(printable, pieces):
        if _size(piece) < room:  # a newline follows
            kept.append(piece)
            room -= _size(piece) + 1
    return "\n".join([*kept, _shortened(len(pieces) - len(kept), len(pieces))])


def _shortened(left_out: int, pieces: int) -> str:
    return (
        f"\n**Shortened:** {left_out} of {pieces} rows and sections did not fit; "
        "`--rlperf-report=DIR` writes all of them.\n"
    )


def _size(text: str) -> int:
    return len(text.encode("utf-8"))
