"""The comment of a pull request: the Markdown report, marked so that it is found again."""

from pytest_rlperf.model.result import RunResult
from pytest_rlperf.report.markdown import render_markdown

MOST_BYTES = 60_000
"""GitHub takes 65,536 characters."""


def marker(name: str) -> str:
    """An HTML comment, which nobody sees."""
    return f"<!-- rlperf{f': {name}' if name else ''} -->"


def render_comment(run: RunResult, name: str, run_url: str | None) -> str:
    """What the run holds may come from a fork. The report shows every name and text of it as code
    or escaped, so that nobody is mentioned and nothing is linked or loaded.
    """
    told = f"\n{name}\n" if name else ""
    link = f"\n[The whole report, and how it was measured]({run_url})\n" if run_url else ""
    return f"{marker(name)}\n{told}{render_markdown(run, most_bytes=MOST_BYTES)}{link}"
