"""The line above a run: whom it compares with, for how long, and where it is pinned."""

from collections.abc import Sequence


def render_header(partner: str, budget_s: float, cores: Sequence[int]) -> str:
    pinned = f"pinned to cores {_spans(cores)}" if cores else "NOT PINNED: wider intervals"
    return f"{partner}, budget {budget_s:.0f} s, {pinned}"


def _spans(cores: Sequence[int]) -> str:
    """0, 1, 2, 5 → "0-2,5"."""
    spans: list[list[int]] = []
    for core in cores:
        if spans and core == spans[-1][-1] + 1:
            spans[-1].append(core)
        else:
            spans.append([core])
    return ",".join(f"{s[0]}-{s[-1]}" if len(s) > 1 else str(s[0]) for s in spans)
