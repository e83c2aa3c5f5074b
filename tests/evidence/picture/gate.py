"""How the gate is built, as two drawings: a block, a decision. Nothing in them is measured."""

from collections.abc import Iterator

from .svg import STYLE, box, line, picture, words

WIDTH = 760
KINDS = """
.head{fill:#0969da}.base{fill:#8250df}.frame{fill:none;stroke:#8c959f}.rule{stroke:#8c959f}
.limit{stroke:#cf222e;stroke-width:2;stroke-dasharray:5 4}.interval{stroke:#1f2328;stroke-width:3}
.bad{fill:#cf222e}.good{fill:#1a7f37}.open{fill:#9a6700}.on{fill:#ffffff}
@media (prefers-color-scheme:dark){
.head{fill:#4493f8}.base{fill:#ab7df8}.limit{stroke:#f85149}.interval{stroke:#f0f6fc}
.bad{fill:#f85149}.good{fill:#3fb950}.open{fill:#d29922}.on{fill:#0d1117}}
""".strip()
LOOK = f"{STYLE}\n{KINDS}"

SLICES = "hbbhhbbhbhhb"
"""Of head and base, in random order within each pair."""
UNDER = (
    "slices of about 2 ms, in random order within each pair; long calls run",
    "at the same time instead. A noisy neighbour meets both sides of a pair.",
)
AFTER = (
    "Another core plays a block of its own meanwhile. Heap and hash seeds are drawn",
    "anew for the next one: a process keeps what it was dealt for its whole life.",
)
SLICE, LEFT = 46, 150


def block() -> str:
    height = 322
    parts = [
        box(0.5, 0.5, WIDTH - 1, height - 1, "ground", 8),
        words(16, 30, "One block: a fresh process of each side, on one core", size=17, bold=True),
        *_processes(),
        *_turns(),
        words(16, 268, "each pair: log(head / base)", bold=True),
        words(230, 268, "→  the typical pair, and the sums  →  one number for this block"),
        *(words(16, 292 + 17 * number, text) for number, text in enumerate(AFTER)),
    ]
    title = "A block: two processes on one core take turns; each pair gives a ratio"
    return picture(WIDTH, height, title, parts, LOOK)


def _processes() -> Iterator[str]:
    yield box(16, 46, 728, 74, "frame", 6)
    yield words(28, 66, "the controller chooses core, order and length of the slices", "faint", 12)
    for x, kind, name, what in (
        (28, "head", "head", "your working tree, with its tests"),
        (392, "base", "base", "the revision, with head's tests"),
    ):
        yield box(x, 76, 340, 34, kind, 5)
        yield words(x + 12, 98, name, "on", bold=True)
        yield words(x + 62, 98, what, "on")


def _turns() -> Iterator[str]:
    yield words(16, 166, "time on the core", "faint", 12)
    for number, side in enumerate(SLICES):
        x = LEFT + number * SLICE + number // 2 * 3
        yield box(x, 148, SLICE - 2, 28, "head" if side == "h" else "base", 3)
        yield words(x + SLICE / 2 - 1, 167, "head" if side == "h" else "base", "on", 12, "middle")
    for pair in range(len(SLICES) // 2):
        x = LEFT + pair * (2 * SLICE + 3)
        yield line(x, 184, x + 2 * SLICE - 2, 184, "rule")
        yield words(x + SLICE - 1, 200, f"pair {pair + 1}", "faint", 12, "middle")
    for number, text in enumerate(UNDER):
        yield words(LEFT, 224 + 16 * number, text, "faint", 12)


ZERO, SCALE, LIMIT = 200, 20.0, 5.0
"""Of the axis of changes: where 0 % lies, pixels a percent, and what is allowed."""
SAID = 462
STORIES = (
    (
        ("after 3 blocks", 2.0, 10.5, "holds the limit: more blocks", "open"),
        ("after 5 blocks", 6.2, 10.6, "above it: suspected", "open"),
        ("fresh blocks", 7.0, 10.0, "above it again: regressed, fails", "bad"),
    ),
    (("after 3 blocks", -1.6, 2.4, "below it: unchanged, passes", "good"),),
    (
        ("after 3 blocks", 1.5, 8.5, "holds the limit: more blocks", "open"),
        ("budget over", 3.4, 6.9, "still holds it: inconclusive", "open"),
    ),
)
STEP = 27
FOOT = "Intervals come from blocks alone. The more tests a build has, the surer each must be."


def decision() -> str:
    y, rows = 112.0, []
    for story in STORIES:
        for when, low, high, said, kind in story:
            rows += [words(16, y + 4, when), *_interval(y, low, high)]
            rows.append(words(SAID, y + 4, said, kind, bold=True))
            y += STEP
        y += STEP / 2
    height = round(y) + 22
    parts = [
        box(0.5, 0.5, WIDTH - 1, height - 1, "ground", 8),
        words(16, 30, "One decision: the change against the limit", size=17, bold=True),
        *_axis(height - 26),
        *rows,
        words(16, height - 14, FOOT, "faint", 12),
    ]  # fmt: skip
    title = (
        "A decision: regressed only when fresh blocks confirm it; unchanged as soon as it is sure"
    )
    return picture(WIDTH, height, title, parts, LOOK)


def _axis(bottom: float) -> Iterator[str]:
    limit = ZERO + SCALE * LIMIT
    yield words(ZERO, 64, "as fast", "faint", 12, "middle")
    yield words(limit, 64, "5 % slower: the limit", "bad", 12, "middle")
    yield line(ZERO, 72, ZERO, bottom - 8, "rule")
    yield line(limit, 72, limit, bottom - 8, "limit")


def _interval(y: float, low: float, high: float) -> Iterator[str]:
    left, right = ZERO + SCALE * low, ZERO + SCALE * high
    yield line(left, y, right, y, "interval")
    yield from (line(x, y - 5, x, y + 5, "interval") for x in (left, right))
