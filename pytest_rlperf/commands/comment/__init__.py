"""`rlperf comment FOLDER`: the report as the one comment of a pull request."""

import os
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping
from pathlib import Path

from pytest_rlperf.commands.comment.event import Claim, read_claim
from pytest_rlperf.commands.comment.github import GitHub
from pytest_rlperf.commands.comment.sticky import keep_one
from pytest_rlperf.errors import UsageError
from pytest_rlperf.report.comment import marker, render_comment
from pytest_rlperf.store.read_back.run import read_run
from pytest_rlperf.web import Patience, checked_url

RESULT = "report.json"
RESULT_BYTES = 64 * 2**20
"""More than any run writes: what a fork sends is not read without end."""
AUTHOR = "github-actions[bot]"
API = "https://api.github.com"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._ -]{0,60}")
REPOSITORY = re.compile(r"[A-Za-z0-9_.-]+/[A-Za-z0-9_.-]+")


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("folder", metavar="FOLDER", type=Path, help="what --rlperf-report wrote")
    parser.add_argument(
        "--name",
        metavar="NAME",
        default="",
        help="tells several comments of this kind apart, such as linux",
    )
    parser.add_argument(
        "--author",
        metavar="LOGIN",
        default=AUTHOR,
        help=f"whom GITHUB_TOKEN belongs to (default {AUTHOR})",
    )


def run(arguments: Namespace) -> int:
    if arguments.name and not NAME.fullmatch(arguments.name):
        raise UsageError(
            f"--name is {arguments.name!r}; use letters, digits, dots, dashes and spaces."
        )
    github = github_of(os.environ, Patience())
    result = arguments.folder / RESULT
    if not result.is_file():
        print(f"{result} is not there: the run ended before it, so there is nothing to comment.")
        return 0
    if result.stat().st_size > RESULT_BYTES:
        raise UsageError(f"{result} is larger than any result; nothing is made of it.")
    claim = read_claim(os.environ, arguments.folder)
    text = _text(result, arguments.name, claim.run_url)
    if reason := _why_not(claim, github):
        print(f"{reason}, so nothing is commented.")
        return 0
    print(keep_one(github, claim.number, text, arguments.author, marker(arguments.name)))
    return 0


def _text(result: Path, name: str, run_url: str | None) -> str:
    found, _ = read_run(result)
    try:
        return render_comment(found, name, run_url)
    except (TypeError, ValueError, AttributeError, KeyError) as error:  # a fork may write anything
        raise UsageError(
            f"{result} holds what no run writes ({type(error).__name__}); nothing is made of it."
        ) from None


def github_of(environ: Mapping[str, str], patience: Patience) -> GitHub:
    token, repository = environ.get("GITHUB_TOKEN", ""), environ.get("GITHUB_REPOSITORY", "")
    if not token:
        raise UsageError("GITHUB_TOKEN is not set; hand ${{ github.token }} to this step in it.")
    if not REPOSITORY.fullmatch(repository):
        raise UsageError("GITHUB_REPOSITORY names no repository; run this on GitHub Actions.")
    api = checked_url(environ.get("GITHUB_API_URL") or API, "GITHUB_API_URL")
    return GitHub(api.rstrip("/"), repository, token, patience)


def _why_not(claim: Claim, github: GitHub) -> str | None:
    """The number may come from a fork, which could name a pull request that is not its own."""
    pull = github.pull(claim.number)
    if not pull.is_open:
        return f"pull request {claim.number} is closed"
    if pull.head_repository != claim.head_repository or pull.head_sha != claim.head_sha:
        return f"pull request {claim.number} is not, or no longer, at {claim.head_sha[:10]}"
    return None
