"""`rlperf notify RESULT --webhook-env NAME`: tell a chat of a regression, failing no build.

A run becomes a few lines of chat, as Slack and those that understand its webhooks show it.
"""

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from pytest_rlperf.errors import RlperfError, UsageError
from pytest_rlperf.model.metric import Outcome
from pytest_rlperf.model.quantity import format_percent, parse_seconds
from pytest_rlperf.report.github import run_address
from pytest_rlperf.report.result_file import ResultContent, read_result
from pytest_rlperf.report.text import one_line, printable
from pytest_rlperf.web import Patience, Request, Unanswered, checked_url, send

SHOWN = 10
"""Regressions that are listed; the report has all of them."""
SHORT = 10
NAME_LETTERS = 300
"""A parameter of a test may hold a novel."""


class Regression(NamedTuple):
    nodeid: str
    metric: str
    change: float | None


def regressions(result: ResultContent) -> list[Regression]:
    """List them, worst first; time and throughput of a test are one verdict, told once."""
    regressed = [
        Regression(test["nodeid"], metric["name"], metric["change"])
        for test in result["tests"]
        for metric in test["metrics"]
        if metric["outcome"] == Outcome.REGRESSED and metric["name"] != "throughput"
    ]
    return sorted(regressed, key=lambda regression: -(regression.change or 0.0))


def render_chat(result: ResultContent, link: str | None) -> str:
    """Write the run in Slack's own markup; `link` leads to it."""
    regressed = regressions(result)
    lines = [f"*Performance: {_headline(result, regressed)}*", _compared(result)]
    lines += [_line(regression) for regression in regressed[:SHOWN]]
    if len(regressed) > SHOWN:
        lines.append(f"… and {len(regressed) - SHOWN} more")
    if link is not None:
        lines.append(f"<{_escaped(link)}|The run>")
    return "\n".join(line for line in lines if line)


def _headline(result: ResultContent, regressed: list[Regression]) -> str:
    tests = len({regression.nodeid for regression in regressed})
    return f"{tests} of {len(result['tests'])} tests regressed" if tests else "nothing regressed"


def _compared(result: ResultContent) -> str:
    parts = []
    if commit := result.get("commit"):
        parts.append(_code(str(commit)[:SHORT]))
    if against := result.get("against"):
        parts.append(f"against {_code(str(against))}")
    return " ".join(parts)


def _line(regression: Regression) -> str:
    change = "" if regression.change is None else f" {format_percent(regression.change)}"
    return f"• {_code(regression.metric)}{change}: {_code(regression.nodeid)}"


def _code(text: str) -> str:
    """Set the text as code, so that no mention, link or emphasis is made of it."""
    text = one_line(printable(text)).replace("`", "'")
    return f"`{_escaped(text if len(text) <= NAME_LETTERS else f'{text[:NAME_LETTERS]}…')}`"


def _escaped(text: str) -> str:
    """Escape the three characters that Slack asks to be written otherwise."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


# -- the command --------------------------------------------------------------------------------

TIMEOUT_S = 10.0


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("result", metavar="RESULT", type=Path, help="what --rlperf-json wrote")
    parser.add_argument(
        "--webhook-env",
        metavar="NAME",
        required=True,
        help="the environment variable that holds the webhook's address, which no log shows then",
    )
    parser.add_argument(
        "--always", action="store_true", help="post it where nothing regressed, too"
    )
    parser.add_argument(
        "--timeout",
        metavar="SECONDS",
        default=f"{TIMEOUT_S:g}",
        help=f"for one attempt to post (default {TIMEOUT_S:g})",
    )


def run(arguments: Namespace) -> int:
    """Print what goes wrong, and let the build go on."""
    try:
        print(_notify(arguments, os.environ))
    except RlperfError as error:
        print(f"rlperf: nobody was notified: {error}", file=sys.stderr)
    return 0


def _notify(arguments: Namespace, environ: Mapping[str, str]) -> str:
    patience = Patience(timeout_s=parse_seconds(arguments.timeout, "--timeout"))
    result = read_result(arguments.result)
    if not regressions(result) and not arguments.always:
        return "nothing regressed, so nobody is notified."
    message = {"text": render_chat(result, run_address(environ))}
    post(json.dumps(message), arguments.webhook_env, environ, patience)
    return "notified."


def post(text: str, name: str, environ: Mapping[str, str], patience: Patience) -> None:
    """Post JSON to the address that the variable `name` holds."""
    address = environ.get(name, "").strip()
    if not address:
        raise UsageError(f"{name} is not set; give the job the address of your webhook in it.")
    headers = {"Content-Type": "application/json", "User-Agent": "pytest-rlperf"}
    request = Request("POST", checked_url(address, name), headers, text.encode())
    try:
        reply = send(request, patience)
    except Unanswered as error:
        raise UsageError(
            f"the webhook in {name} did not answer ({error}); try again later."
        ) from None
    if not 200 <= reply.status < 300:
        raise UsageError(f"the webhook in {name} answered {reply.status}; check its address.")
