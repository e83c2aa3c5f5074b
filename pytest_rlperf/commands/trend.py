"""`rlperf trend`: what the history says of each test."""

import json
import re
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Sequence

from pytest_rlperf.commands.history import add_place, place_of
from pytest_rlperf.errors import UsageError
from pytest_rlperf.history.records import PastTest
from pytest_rlperf.history.report import render_trends, render_trends_markdown, trends_as_dict
from pytest_rlperf.history.trend import flakiest, trends

FLAKIEST = 5


def add_arguments(parser: ArgumentParser) -> None:
    add_place(parser, "--fetch", "fetch the branch from this remote first, such as origin")
    parser.add_argument(
        "--test",
        metavar="PATTERN",
        help="only tests whose node id holds this; * and ? stand for anything",
    )
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--json", action="store_true", help="as data")
    forms.add_argument("--markdown", action="store_true", help="as Markdown")


def run(arguments: Namespace) -> int:
    past = place_of(arguments).read()
    for trouble in past.troubles:
        print(f"rlperf: {trouble}", file=sys.stderr)
    tests = _matching(past.tests, arguments.test)
    shown, flaky = trends(tests), flakiest(tests, FLAKIEST)
    if arguments.json:
        print(json.dumps(trends_as_dict(shown, flaky, past.troubles), indent=1, allow_nan=False))
    else:
        render = render_trends_markdown if arguments.markdown else render_trends
        print("\n".join(render(shown, flaky)))
    return 0


def _matching(tests: Sequence[PastTest], pattern: str | None) -> list[PastTest]:
    # Brackets are plain: node ids are full of them.
    holds = re.compile(re.escape(pattern or "").replace(r"\*", ".*").replace(r"\?", "."))
    chosen = [test for test in tests if holds.search(test.nodeid)]
    if not chosen:
        raise UsageError(
            "the history holds no test yet; append results to it first."
            if not tests
            else f"no test in the history matches --test {pattern!r}; there is "
            f"{tests[-1].nodeid}, for one."
        )
    return chosen
