"""`rlperf comment FOLDER`: the report as the one comment of a pull request.

The event that started the job and what the measuring job left in the folder say which pull request
that is. The number may come from a fork, so GitHub is asked whether the rest fits to it.
"""

import json
import os
import re
from argparse import ArgumentParser, Namespace
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, NotRequired, TypedDict, TypeVar

from pytest_rlperf.errors import RlperfError, UsageError
from pytest_rlperf.files import read_plain
from pytest_rlperf.model.result import RunResult
from pytest_rlperf.reading import MOST_WHOLE, Counting, Damage, Fits, Name, parse_json, typed
from pytest_rlperf.report.github import run_address
from pytest_rlperf.report.markdown import render_markdown
from pytest_rlperf.report.result_file import read_run
from pytest_rlperf.web import Patience, Reply, Request, Unanswered, checked_url, send

# -- the part of GitHub's API that a comment needs ----------------------------------------------

VERSION = "2022-11-28"
PAGE = 100
"""Comments a page, the most that there can be."""
PAGES = 100
GONE = 404

ADVICE = {
    401: "check GITHUB_TOKEN",
    403: "give the job `pull-requests: write`",
    404: "give the job `pull-requests: write`",
}


class GitHubRefused(RlperfError):
    """Raised where GitHub did not do what it was asked for."""

    def __init__(self, what: str, status: int) -> None:
        super().__init__(f"GitHub answered {status} to {what}; {ADVICE.get(status, 'try again')}.")
        self.status = status


@dataclass(frozen=True, slots=True)
class PullRequest:
    head_sha: str
    head_repository: str | None  # None: deleted since
    is_open: bool


@dataclass(frozen=True, slots=True)
class Comment:
    id: int
    author: str
    body: str


@dataclass(frozen=True, slots=True)
class GitHub:
    api: str
    repository: str
    token: str = field(repr=False)
    patience: Patience

    def pull(self, number: int) -> PullRequest:
        what = f"a look at pull request {number}"
        pull = _content(self._ask("GET", f"pulls/{number}", what), what, PullRow)
        head = pull["head"]
        return PullRequest(head["sha"], _full_name(head["repo"]), pull["state"] == "open")

    def comments(self, number: int) -> Iterator[Comment]:
        what = f"a look at the comments of {number}"
        for page in range(1, PAGES + 1):
            path = f"issues/{number}/comments?per_page={PAGE}&page={page}"
            comments = _content(self._ask("GET", path, what), what, list[CommentRow])
            yield from map(_comment, comments)
            if len(comments) < PAGE:
                return

    def create(self, number: int, body: str) -> int:
        path, what = f"issues/{number}/comments", f"a comment on {number}"
        return _content(self._ask("POST", path, what, body), what, CommentRow)["id"]

    def update(self, comment: int, body: str) -> None:
        self._ask("PATCH", f"issues/comments/{comment}", "a change of a comment", body)

    def delete(self, comment: int) -> None:
        """Delete a comment; one that is gone already is fine."""
        try:
            self._ask("DELETE", f"issues/comments/{comment}", "a comment's removal")
        except GitHubRefused as error:
            if error.status != GONE:
                raise

    def _ask(self, method: str, path: str, what: str, body: str | None = None) -> Reply:
        headers = {
            "Accept": "application/vnd.github+json",
            "Authorization": f"Bearer {self.token}",
            "User-Agent": "pytest-rlperf",
            "X-GitHub-Api-Version": VERSION,
        }
        if body is not None:
            headers["Content-Type"] = "application/json"
        content = None if body is None else json.dumps({"body": body}).encode()
        url = f"{self.api}/repos/{self.repository}/{path}"
        try:
            reply = send(Request(method, url, headers, content), self.patience)
        except Unanswered as error:
            raise RlperfError(
                f"{self.api} did not answer {what} ({error}); run the job again."
            ) from None
        if not 200 <= reply.status < 300:
            raise GitHubRefused(what, reply.status)
        return reply


class RepositoryRow(TypedDict):
    full_name: Name


class HeadRow(TypedDict):
    sha: Name
    repo: RepositoryRow | None


class PullRow(TypedDict):
    state: str
    head: HeadRow


class UserRow(TypedDict):
    login: Name


class CommentRow(TypedDict):
    id: Counting
    user: UserRow | None  # None: the account was deleted
    body: str | None


Answer = TypeVar("Answer")


def _content(reply: Reply, what: str, kind: type[Answer]) -> Answer:
    try:
        return typed(kind, parse_json(reply.body))
    except ValueError as error:
        raise RlperfError(
            f"GitHub's answer to {what} is not what GitHub sends ({error}); run the job again."
        ) from None


def _comment(row: CommentRow) -> Comment:
    user = row["user"]
    return Comment(row["id"], "" if user is None else user["login"], row["body"] or "")


def _full_name(repository: RepositoryRow | None) -> str | None:
    return None if repository is None else repository["full_name"]


# -- which pull request -------------------------------------------------------------------------

NUMBER_FILE = "pull-request"
"""In the folder of the report: what a job of a pull request leaves for the one that comments."""
NUMBER = re.compile(rb"[1-9][0-9]{0,9}\n?")


@dataclass(frozen=True, slots=True)
class Claim:
    """The pull request that a report is said to be of. All but the number comes from GitHub."""

    number: int
    head_sha: str
    head_repository: str | None  # None: deleted since
    run_url: str | None


class MeasuredRow(TypedDict):
    head_sha: Name
    head_repository: RepositoryRow | None
    html_url: Annotated[str, Fits(re.compile(r"https?://[^\s()<>\"]+").fullmatch)]


class NumberedRow(TypedDict):
    number: Counting
    head: HeadRow


class EventRow(TypedDict):
    workflow_run: NotRequired[MeasuredRow]
    pull_request: NotRequired[NumberedRow]


def read_claim(environ: Mapping[str, str], folder: Path) -> Claim:
    content = _event(environ)
    try:
        event = typed(EventRow, content)
    except Damage as damage:
        raise UsageError(
            f"the event of this job lacks {damage.where}, as GitHub sends it; run this on GitHub "
            "Actions."
        ) from None
    if "workflow_run" in event:
        measured = event["workflow_run"]
        repository, number = _full_name(measured["head_repository"]), folder / NUMBER_FILE
        run_url = _of_this_server(measured["html_url"], environ)
        return Claim(_number(number), measured["head_sha"], repository, run_url)
    if "pull_request" in event:
        pull = event["pull_request"]
        repository = _full_name(pull["head"]["repo"])
        return Claim(pull["number"], pull["head"]["sha"], repository, run_address(environ))
    raise UsageError(
        "this job was started by neither pull_request nor workflow_run, so there is no pull "
        "request to comment on; start it by one of them."
    )


def _of_this_server(address: str, environ: Mapping[str, str]) -> str | None:
    """Return the address if it is one of the server that runs this job: it becomes a link."""
    server = environ.get("GITHUB_SERVER_URL")
    return address if server and address.startswith(f"{server}/") else None


def pull_request_number(environ: Mapping[str, str]) -> int | None:
    """Read the number in a job that pull_request started; None: something else did."""
    if not environ.get("GITHUB_EVENT_PATH"):
        return None
    pull = _event(environ).get("pull_request")
    number = pull.get("number") if isinstance(pull, dict) else None
    return number if type(number) is int and 0 < number < MOST_WHOLE else None


def _event(environ: Mapping[str, str]) -> dict[str, Any]:
    path = environ.get("GITHUB_EVENT_PATH", "")
    try:
        content = parse_json(Path(path).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        content = None
    if not isinstance(content, dict):
        raise UsageError("GITHUB_EVENT_PATH names no event; run this on GitHub Actions.")
    return content


def _number(path: Path) -> int:
    """Read what a fork wrote: a number, or nothing at all."""
    text = read_plain(path, 16) or b""
    if not NUMBER.fullmatch(text):
        raise UsageError(
            f"{path} holds no number of a pull request; the job that measures writes it there."
        )
    return int(text)


# -- one comment, however often and by however many jobs at once it is written ------------------


def keep_one(github: GitHub, number: int, text: str, author: str, mark: str) -> str:
    """Write the comment, and say what was done.

    Two jobs that find none both create one. Each looks again afterwards: the oldest stays, with the
    text of whoever wrote last, and the others go.
    """
    known = _our_comments(github, number, author, mark)
    written = known[0] if known else github.create(number, text)
    if known:
        github.update(written, text)
    oldest, *others = _our_comments(github, number, author, mark) or [written]
    if oldest != written:
        github.update(oldest, text)
    for other in others:
        github.delete(other)
    return f"the comment on pull request {number} was {'updated' if known else 'written'}."


def _our_comments(github: GitHub, number: int, author: str, mark: str) -> list[int]:
    """List ours, oldest first. The author counts: anybody can write the mark into a comment."""
    return sorted(
        comment.id
        for comment in github.comments(number)
        if comment.author == author and comment.body.startswith(mark)
    )


MOST_BYTES = 60_000
"""GitHub takes 65,536 characters."""


def marker(name: str) -> str:
    """Mark a comment so that it is found again, by an HTML comment, which nobody sees."""
    return f"<!-- rlperf{f': {name}' if name else ''} -->"


def render_comment(run: RunResult, name: str, run_url: str | None) -> str:
    """Write the Markdown report as a comment. What the run holds may come from a fork: the report
    shows every name and text of it as code or escaped, so that nobody is mentioned and nothing is
    linked or loaded.
    """
    title = f"\n{name}\n" if name else ""
    link = f"\n[The whole report, and how it was measured]({run_url})\n" if run_url else ""
    return f"{marker(name)}\n{title}{render_markdown(run, most_bytes=MOST_BYTES)}{link}"


# -- the command --------------------------------------------------------------------------------

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
    measured, _ = read_run(result)
    return render_comment(measured, name, run_url)


def github_of(environ: Mapping[str, str], patience: Patience) -> GitHub:
    token, repository = environ.get("GITHUB_TOKEN", ""), environ.get("GITHUB_REPOSITORY", "")
    if not token:
        raise UsageError("GITHUB_TOKEN is not set; hand ${{ github.token }} to this step in it.")
    if not REPOSITORY.fullmatch(repository):
        raise UsageError("GITHUB_REPOSITORY names no repository; run this on GitHub Actions.")
    api = checked_url(environ.get("GITHUB_API_URL") or API, "GITHUB_API_URL")
    return GitHub(api.rstrip("/"), repository, token, patience)


def _why_not(claim: Claim, github: GitHub) -> str | None:
    """Check the number: a fork could name a pull request that is not its own."""
    pull = github.pull(claim.number)
    if not pull.is_open:
        return f"pull request {claim.number} is closed"
    if pull.head_repository != claim.head_repository or pull.head_sha != claim.head_sha:
        return f"pull request {claim.number} is not, or no longer, at {claim.head_sha[:10]}"
    return None
