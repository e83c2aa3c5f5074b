"""Two sampled profiles as one flame graph: width is head's time, colour what changed.

The form is Brendan Gregg's differential flame graph (2014): a box is a function, it stands on the
one that called it, and red ones take longer than on the base, blue ones less long. The file needs
nothing but itself: no script, no font, no network.
"""

import html
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from pytest_rlperf.files import file_stem, write_atomically
from pytest_rlperf.model.profile import SideProfile
from pytest_rlperf.model.quantity import format_percent, format_time
from pytest_rlperf.profile.attribution import ProfiledPair

WIDTH = 1200
ROW = 18
MARGIN = 10
TITLE = 44
NARROWEST = 0.5
"""Boxes narrower than this, in pixels, are left out."""
LETTER = 6.7
FULL_COLOUR = 0.10
"""A change as large as this share of head's time has the full colour."""

Stacks = Mapping[tuple[str, ...], float]


@dataclass(slots=True)
class _Box:
    """A function where it was called from, with all that it calls, on both sides."""

    name: str
    head_ns: float = 0.0
    base_ns: float = 0.0
    inner: dict[str, "_Box"] = field(default_factory=dict)


def write_flamegraph(folder: Path, nodeid: str, pairs: Sequence[ProfiledPair]) -> Path | None:
    """Write the graph of a test, and return where; None where no sample was taken."""
    head = mean_stacks([pair.head for pair in pairs])
    base = mean_stacks([pair.base for pair in pairs])
    if not head:
        return None
    path = folder / f"{file_stem(nodeid)}.svg"
    folder.mkdir(parents=True, exist_ok=True)
    write_atomically(path, render_flamegraph(nodeid, head, base))
    return path


def mean_stacks(profiles: Sequence[SideProfile]) -> dict[tuple[str, ...], float]:
    means: dict[tuple[str, ...], float] = {}
    for profile in profiles:
        for stack, ns in profile.stacks.items():
            means[stack] = means.get(stack, 0.0) + ns / len(profiles)
    return means


def render_flamegraph(title: str, head: Stacks, base: Stacks) -> str:
    """Return the graph as SVG; times are nanoseconds a call of the benchmark."""
    root = _tree(head, base)
    depth = _depth(root)
    height = TITLE + depth * ROW + MARGIN
    boxes = _boxes(root, root, MARGIN, height - MARGIN - ROW, WIDTH - 2 * MARGIN)
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{height}" '
            f'viewBox="0 0 {WIDTH} {height}" font-family="monospace" font-size="11">',
            f'<rect width="{WIDTH}" height="{height}" fill="#ffffff"/>',
            f'<text x="{MARGIN}" y="16" font-size="13">{html.escape(title)}</text>',
            f'<text x="{MARGIN}" y="32">{_legend(root)}</text>',
            *boxes,
            "</svg>\n",
        ]
    )


def _legend(root: _Box) -> str:
    return (
        f"sampled: {format_time(root.base_ns)} → {format_time(root.head_ns)} a call; width: time "
        "at head; red: more than on the base, blue: less; point at a box for its numbers"
    )


def _tree(head: Stacks, base: Stacks) -> _Box:
    root = _Box("all")
    for stacks, at_head in ((head, True), (base, False)):
        for stack, ns in stacks.items():
            box = root
            _add(box, ns, at_head)
            for name in stack:
                box = box.inner.setdefault(name, _Box(name))
                _add(box, ns, at_head)
    return root


def _add(box: _Box, ns: float, at_head: bool) -> None:
    if at_head:
        box.head_ns += ns
    else:
        box.base_ns += ns


def _depth(box: _Box) -> int:
    return 1 + max((_depth(inner) for inner in box.inner.values() if inner.head_ns), default=0)


def _boxes(box: _Box, root: _Box, x: float, y: float, width: float) -> Iterator[str]:
    if width < NARROWEST:
        return
    change = (box.head_ns - box.base_ns) / root.head_ns
    tip = (
        f"{box.name}: {format_time(box.base_ns)} → {format_time(box.head_ns)} a call, "
        f"{format_percent(change)} of the whole"
    )
    yield (
        f'<g><title>{html.escape(tip)}</title><rect x="{x:.1f}" y="{y}" width="{width:.1f}" '
        f'height="{ROW - 1}" fill="{_colour(change)}" stroke="#ffffff" stroke-width="0.5"/>'
        f"{_label(box.name, x, y, width)}</g>"
    )
    for name in sorted(box.inner):
        inner = box.inner[name]
        part = width * inner.head_ns / box.head_ns
        yield from _boxes(inner, root, x, y - ROW, part)
        x += part


def _label(name: str, x: float, y: float, width: float) -> str:
    short = name.rpartition(":")[2]
    fits = int((width - 4) / LETTER)
    if fits < 3:
        return ""
    text = short if len(short) <= fits else f"{short[: fits - 1]}…"
    return f'<text x="{x + 2:.1f}" y="{y + 12}">{html.escape(text)}</text>'


def _colour(change: float) -> str:
    """Return the colour of a change: white is none; red and blue grow with it."""
    strength = min(1.0, abs(change) / FULL_COLOUR)
    pale = round(240 - 140 * strength)
    return f"#ff{pale:02x}{pale:02x}" if change > 0 else f"#{pale:02x}{pale:02x}ff"
