"""`rlperf notify RESULT --webhook-env NAME`: tell a chat of a regression, failing no build."""

import json
import os
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path

from pytest_rlperf.errors import RlperfError, UsageError
from pytest_rlperf.model.quantity import parse_seconds
from pytest_rlperf.report.chat import regressions, render_chat
from pytest_rlperf.report.github import run_address
from pytest_rlperf.store.result_file import read_result
from pytest_rlperf.web import Patience, Request, Unanswered, checked_url, send

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
    """What goes wrong is told, and the build goes on."""
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
