"""A run in a few lines of chat, as Slack and those that understand its webhooks show it."""

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from pytest_rlperf.model.quantity import format_percent
from pytest_rlperf.model.verdict import Outcome

SHOWN = 10
"""Of the regressions; the report has all of them."""
SHORT = 10
NAME_LETTERS = 300
"""A parameter of a test may hold a novel."""

Result = Mapping[str, Any]
"""As `store.result_file.read_result` returns it, or a part of it."""


class Regression(NamedTuple):
    nodeid: str
    metric: str
    change: float | None


def regressions(result: Result) -> list[Regression]:
    """Worst first; time and throughput of a test are one verdict, told once."""
    return sorted(_regressed(result), key=lambda found: -(found.change or 0.0))


def _regressed(result: Result) -> Iterator[Regression]:
    for test in result["tests"]:
        for metric in test["metrics"]:
            if metric["outcome"] == Outcome.REGRESSED and metric["name"] != "throughput":
                yield Regression(test["nodeid"], metric["name"], metric["change"])


def render_chat(result: Result, link: str | None) -> str:
    """Slack's own markup; `link` leads to the run."""
    found = regressions(result)
    lines = [f"*Performance: {_headline(result, found)}*", _compared(result)]
    lines += [_line(each) for each in found[:SHOWN]]
    if len(found) > SHOWN:
        lines.append(f"… and {len(found) - SHOWN} more")
    if link is not None:
        lines.append(f"<{_escaped(link)}|The run>")
    return "\n".join(line for line in lines if line)


def _headline(result: Result, found: list[Regression]) -> str:
    tests = len({each.nodeid for each in found})
    return f"{tests} of {len(result['tests'])} tests regressed" if tests else "nothing regressed"


def _compared(result: Result) -> str:
    parts = []
    if commit := result.get("commit"):
        parts.append(_code(str(commit)[:SHORT]))
    if against := result.get("against"):
        parts.append(f"against {_code(str(against))}")
    return " ".join(parts)


def _line(found: Regression) -> str:
    change = "" if found.change is None else f" {format_percent(found.change)}"
    return f"• {_code(found.metric)}{change}: {_code(found.nodeid)}"


def _code(text: str) -> str:
    """In the face of code: no mention, link or emphasis is made of it."""
    text = " ".join(text.split()).replace("`", "'")
    return f"`{_escaped(text if len(text) <= NAME_LETTERS else f'{text[:NAME_LETTERS]}…')}`"


def _escaped(text: str) -> str:
    """The three characters that Slack asks to be written otherwise."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
