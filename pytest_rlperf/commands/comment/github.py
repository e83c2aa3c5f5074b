"""The part of GitHub's API that a comment needs."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pytest_rlperf.errors import RlperfError
from pytest_rlperf.web import Patience, Reply, Request, Unanswered, send

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
    """GitHub did not do what it was asked for."""

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
        found = self._ask("GET", f"pulls/{number}", f"a look at pull request {number}")
        head = found["head"]
        repository = None if head["repo"] is None else head["repo"]["full_name"]
        return PullRequest(head["sha"], repository, found["state"] == "open")

    def comments(self, number: int) -> Iterator[Comment]:
        what = f"a look at the comments of {number}"
        for page in range(1, PAGES + 1):
            path = f"issues/{number}/comments?per_page={PAGE}&page={page}"
            found = self._ask("GET", path, what)
            yield from map(_comment, found)
            if len(found) < PAGE:
                return

    def create(self, number: int, body: str) -> int:
        path = f"issues/{number}/comments"
        return _comment(self._ask("POST", path, f"a comment on {number}", body)).id

    def update(self, comment: int, body: str) -> None:
        self._ask("PATCH", f"issues/comments/{comment}", "a change of a comment", body)

    def delete(self, comment: int) -> None:
        """One that is gone already is fine."""
        try:
            self._ask("DELETE", f"issues/comments/{comment}", "a comment's removal")
        except GitHubRefused as error:
            if error.status != GONE:
                raise

    def _ask(self, method: str, path: str, what: str, body: str | None = None) -> Any:
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
        return _content(reply, what)


def _content(reply: Reply, what: str) -> Any:
    if not 200 <= reply.status < 300:
        raise GitHubRefused(what, reply.status)
    try:
        return json.loads(reply.body) if reply.body else None
    except ValueError:
        raise RlperfError(f"GitHub's answer to {what} is no JSON; run the job again.") from None


def _comment(found: dict[str, Any]) -> Comment:
    # The account of an author may be deleted, and a body may be empty.
    return Comment(found["id"], (found["user"] or {}).get("login", ""), found["body"] or "")
