"""How often tools call unchanged code slower, and code that is 10 % slower, as one picture."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_rlperf.model.result import Rate
from pytest_rlperf.prove.rates import rate_of
from tests.evidence.duet import play
from tests.evidence.proof import records as proof

from .svg import ROOT, box, line, picture, words

VERDICTS = ROOT / "docs/proof/verdicts.jsonl"
DUETS = ROOT / "docs/proof/duet.jsonl"
TESTS, COMMANDS = "Tests of a project", "Whole commands"
CASES = {
    "pytest-rlperf": ("aa", "plus10"),
    "pytest-benchmark": ("benchmark-aa", "benchmark-plus10"),
}
NAMES = {"rlperf": "rlperf duet", "hyperfine": "hyperfine"}
WIDTH, LABELS, TRACK, GAP = 760, 164, 196, 96
BAR, STEP, TOP = 16, 30, 84


@dataclass(frozen=True, slots=True)
class Row:
    """What one tool said of code of which the difference is known."""

    group: str
    tool: str
    unchanged: Rate  # called slower: each a false alarm
    slower: Rate  # by 10 %, called slower

    @property
    def ours(self) -> bool:
        return self.tool.startswith(("pytest-rlperf", "rlperf"))


def recorded() -> list[Row]:
    """Return what stands in the records, measured under load."""
    verdicts = [record for record in proof.read(VERDICTS) if record.load and not record.is_crash]
    duets = [record for record in play.read(DUETS) if record.load]

    def tests(case: str) -> Rate:
        return share(r.verdict.outcome == "regressed" for r in verdicts if r.case == case)

    def commands(tool: str, truth: float) -> Rate:
        return share(r.says_slower for r in duets if (r.tool, r.truth) == (tool, truth))

    return [
        *(Row(TESTS, tool, tests(same), tests(ten)) for tool, (same, ten) in CASES.items()),
        *(
            Row(COMMANDS, name, commands(tool, 0.0), commands(tool, 0.1))
            for tool, name in NAMES.items()
        ),
    ]


def share(hits: Iterable[bool]) -> Rate:
    said = list(hits)
    return rate_of(sum(said), len(said))


def sentence(rows: Sequence[Row]) -> str:
    """Return the picture in words: for those who cannot see it, and for the README."""
    said = (
        f"{row.tool} called {_of(row.unchanged)} unchanged slower, "
        f"and {_of(row.slower)} that were 10 % slower"
        for row in rows
    )
    return f"On a busy machine {'; '.join(said)}."


def _of(rate: Rate) -> str:
    return f"{rate.hits} of {rate.n}"


def draw(rows: Sequence[Row]) -> str:
    groups = list(dict.fromkeys(row.group for row in rows))
    lefts = LABELS, LABELS + TRACK + GAP
    titles = (
        ("Unchanged code, called slower", "every one a false alarm"),
        ("10 % slower, called slower", "the rest was missed"),
    )
    parts = [words(16, 28, "Who is right on a busy machine?", size=17, bold=True)]
    for left, (title, under) in zip(lefts, titles, strict=True):
        parts += [words(left, 54, title, bold=True), words(left, 71, under, "faint", 12)]
    y = TOP
    for group in groups:
        parts.append(words(16, y + 14, group, "faint", 12))
        y += 22
        for row in (each for each in rows if each.group == group):
            parts.append(words(16, y + 13, row.tool, bold=row.ours))
            for left, rate in zip(lefts, (row.unchanged, row.slower), strict=True):
                parts += _bar(left, y, rate, "ours" if row.ours else "other")
            y += STEP
        y += 6
    parts.append(words(16, y + 14, _origin(), "faint", 11))
    height = y + 28
    ground = box(0.5, 0.5, WIDTH - 1, height - 1, "ground", 8)
    return picture(WIDTH, height, sentence(rows), [ground, *parts])


def _bar(left: float, y: float, rate: Rate, kind: str) -> list[str]:
    middle = y + BAR / 2
    low, high = left + TRACK * rate.low, left + TRACK * rate.high
    return [
        box(left, y, TRACK, BAR, "track", 3),
        *([box(left, y, TRACK * rate.value, BAR, kind, 3)] if rate.hits else []),
        line(low, middle, high, middle, "bounds"),
        words(left + TRACK + 8, y + 13, _of(rate)),
    ]


def _origin() -> str:
    facts = [
        r.facts for r in proof.read(VERDICTS) if r.case in {c for p in CASES.values() for c in p}
    ]
    duets = play.read(DUETS)
    dates = sorted({*(each.date[:10] for each in facts), *(each.date for each in duets)})
    (machine,) = {*(each.machine for each in facts), *(each.machine for each in duets)}
    cores = facts[0].cores
    return (
        f"Limit 5 %; lines: 95 % bounds. {machine}, {cores} virtual cores under load, "
        f"{dates[0]} to {dates[-1]}. Records: docs/proof"
    )
