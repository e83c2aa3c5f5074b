"""A run in a few lines of chat, as Slack and those that understand its webhooks show it."""

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from pytest_rlperf.errors import RlperfError, UsageError
from pytest_rlperf.model.metric import THROUGHPUT, Outcome
from pytest_rlperf.model.quantity import format_percent, parse_seconds
from pytest_rlperf.report.github import run_address
from pytest_rlperf.report.result_file import read_result
from pytest_rlperf.web import Patience, Request, Unanswered, checked_url, send

SHOWN = 10
"""Of the regressions; the report has all of them."""
SHORT = 10
NAME_LETTERS = 300
"""A parameter of a test may hold a novel."""

Result = Mapping[str, Any]
"""As `report.result_file.read_result` returns it, or a part of it."""


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
            if metric["outcome"] == Outcome.REGRESSED and metric["name"] != THROUGHPUT:
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


# `rlperf notify RESULT --webhook-env NAME`: tell a chat of a regression, failing no build.


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
    """Post the message; what goes wrong is told, and the build goes on."""
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
