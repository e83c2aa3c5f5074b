"""The table: every share with its n and its bounds, and where the figures come from."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pytest_rlperf.model.result import Rate

from .cases import CASES, Case, Requirement
from .records import Record
from .schedule import counted
from .summary import Figures, failures, groups, percent, summarise

NONE = "–"
SHOWN_OUTCOMES = ("regressed", "improved", "inconclusive", "unchanged")
COLUMNS = (
    "case",
    "tool",
    "work",
    "n",
    "regressed",
    "95 % bounds",
    "improved",
    "inconclusive",
    "other",
    "interval holds the truth",
    "change, mean ± sd",
    "s a verdict, median (max)",
    "required",
    "met",
)
IN_SHORT = (
    "case",
    "tool",
    "work",
    "n",
    "regressed",
    "95 % bounds",
    "inconclusive",
    "interval holds the truth",
    "s a verdict, median (max)",
)


def render(
    records: Sequence[Record], file_name: str, cases: Sequence[Case] = CASES, short: bool = False
) -> str:
    """Markdown: a table for the verdicts under load, one for those without, then provenance.
    The short one has a line a case."""
    if not records:
        return "No verdicts yet.\n"
    parts = []
    for load in (True, False):
        chosen = [record for record in records if record.load == load]
        if chosen:
            title = "Under load:" if load else "Without load:"
            parts += [title, _render_table(chosen, load, cases, short)]
    return "\n\n".join([*parts, render_provenance(records, file_name)]) + "\n"


def _render_table(records: Sequence[Record], load: bool, cases: Sequence[Case], short: bool) -> str:
    rows: list[Sequence[str]] = [COLUMNS, ["---"] * len(COLUMNS)]
    for case in cases:
        own = [record for record in records if record.case == case.name]
        found = case_rows(case, own, load) if own else []
        rows += found[:1] if short else found
    shown = [COLUMNS.index(name) for name in (IN_SHORT if short else COLUMNS)]
    return "\n".join(_line([row[column] for column in shown]) for row in rows)


def case_rows(case: Case, records: Sequence[Record], load: bool) -> list[list[str]]:
    """The judged row with its requirement, and the rows that only state figures."""
    rows = []
    for number, (label, group) in enumerate(groups(case, records).items()):
        figures = summarise(group)
        required, met = NONE, NONE
        if number == 0 and case.requirement is not None:
            required = render_requirement(case.requirement)
            met = render_met(case, figures, counted(case, records, load))
        name, tool = (case.title, case.tool) if number == 0 else ("", "")
        rows.append([name, tool, label, *figure_cells(figures), required, met])
    return rows


def figure_cells(figures: Figures) -> list[str]:
    if figures.n == 0:
        return ["0", NONE, NONE, NONE, NONE, render_other(figures), NONE, NONE, NONE]
    regressed = figures.share("regressed")
    return [
        str(figures.n),
        render_share(regressed),
        " to ".join(percent(bound) for bound in regressed.bounds),
        render_share(figures.share("improved")),
        render_share(figures.share("inconclusive")),
        render_other(figures),
        render_share(figures.covered) if figures.covered else NONE,
        render_change(figures),
        f"{figures.median_seconds:.1f} ({figures.max_seconds:.1f})",
    ]


def render_share(share: Rate) -> str:
    return f"{share.hits}/{share.n} ({percent(share.value)})"


def render_other(figures: Figures) -> str:
    """What is no judgement of speed: never left out, however rare."""
    rest = {name: n for name, n in figures.outcomes.items() if name not in SHOWN_OUTCOMES}
    if figures.crashes:
        rest["suites crashed"] = figures.crashes
    return ", ".join(f"{n} {name}" for name, n in sorted(rest.items())) or NONE


def render_change(figures: Figures) -> str:
    if figures.mean_change is None:
        return NONE
    spread = "" if figures.sd_change is None else f" ± {100 * figures.sd_change:.2f}"
    return f"{100 * figures.mean_change:+.2f}{spread} %"


def render_requirement(requirement: Requirement) -> str:
    limits = (
        (requirement.regressed_min > 0, f"regressed ≥ {percent(requirement.regressed_min)}"),
        (requirement.regressed_max < 1, f"regressed ≤ {percent(requirement.regressed_max)}"),
        (
            requirement.inconclusive_max < 1,
            f"inconclusive ≤ {percent(requirement.inconclusive_max)}",
        ),
        (requirement.coverage_min > 0, f"truth held ≥ {percent(requirement.coverage_min)}"),
        (requirement.seconds_max is not None, f"≤ {requirement.seconds_max or 0:g} s"),
    )
    return ", ".join(text for is_set, text in limits if is_set)


def render_met(case: Case, figures: Figures, done: int) -> str:
    broken = failures(case.requirement, figures) if case.requirement else []
    progress = "" if done >= case.wanted else f" so far ({done} of {case.wanted})"
    return ("no: " + ", ".join(broken) if broken else "yes") + progress


def render_provenance(records: Sequence[Record], file_name: str) -> str:
    facts = [record.facts for record in records]
    dates = sorted(fact.date[:10] for fact in facts)
    machines = Counter(f"{fact.machine}, {fact.cores} cores" for fact in facts)
    versions = Counter(
        f"Python {fact.python}, numpy {fact.numpy}, pytest-benchmark {fact.pytest_benchmark}"
        for fact in facts
    )
    commits = Counter(fact.commit for fact in facts)
    return "\n".join(
        (
            f"- measured {dates[0]} to {dates[-1]} (UTC)",
            f"- machine: {_tally(machines)}",
            f"- versions: {_tally(versions)}",
            f"- plugin at {_tally(commits)}",
            f"- command: `python -m tests.evidence.proof run --out {file_name}`, "
            f"then `python -m tests.evidence.proof table {file_name}`",
        )
    )


def _tally(names: Counter[str]) -> str:
    """The one name; or each with its n, since figures of several are not of one kind."""
    if len(names) == 1:
        return next(iter(names))
    return "; ".join(f"{name} (n = {n})" for name, n in names.most_common())


def _line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cells) + " |"
