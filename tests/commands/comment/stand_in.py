"""A stand-in for the part of GitHub's API that comments need. It checks whatever it is asked."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Any
from urllib.parse import parse_qs, urlsplit

from tests.servers import Answer, Asked

BOT = "github-actions[bot]"
TOKEN = "secret-token"
REPOSITORY = "me/lib"
FORK = "somebody/lib"
NUMBER = 12
HEAD = "c0ffee" + "0" * 34
MOST_LETTERS = 65_536
RUN_URL = "https://github.example/me/lib/actions/runs/77"
WORKFLOW_RUN = {
    "workflow_run": {
        "event": "pull_request",
        "head_sha": HEAD,
        "head_repository": {"full_name": FORK},
        "html_url": RUN_URL,
    }
}
PULL_REQUEST = {
    "pull_request": {"number": NUMBER, "head": {"sha": HEAD, "repo": {"full_name": FORK}}}
}

HEADERS = {
    "accept": "application/vnd.github+json",
    "authorization": f"Bearer {TOKEN}",
    "user-agent": "pytest-rlperf",
    "x-github-api-version": "2022-11-28",
}


@dataclass
class GitHubStandIn:
    """Pull request 12 of me/lib, from a fork."""

    head_sha: str = HEAD
    head_repository: str | None = FORK
    state: str = "open"
    comments: dict[int, dict[str, Any]] = field(default_factory=dict)
    troubles: deque[Answer | None] = field(default_factory=deque)
    wrong: list[str] = field(default_factory=list)  # what no client should ask
    on_create: Callable[[], object] = field(default=lambda: None)
    ids: Iterator[int] = field(default_factory=lambda: count(1000))

    def add(self, body: str, author: str | None = BOT) -> int:
        user = None if author is None else {"login": author}
        number = next(self.ids)
        self.comments[number] = {"id": number, "user": user, "body": body}
        return number

    @property
    def bodies(self) -> list[str]:
        return [comment["body"] for comment in self.comments.values()]

    def __call__(self, asked: Asked) -> Answer | None:
        self._check_headers(asked)
        if self.troubles:
            return self.troubles.popleft()
        path = urlsplit(asked.path)
        inside = path.path.removeprefix(f"/repos/{REPOSITORY}/")
        query = {name: values[0] for name, values in parse_qs(path.query).items()}
        match asked.method, inside.split("/"):
            case "GET", ["pulls", number] if number == str(NUMBER):
                return Answer(200, self._pull())
            case "GET", ["issues", number, "comments"] if number == str(NUMBER):
                return Answer(200, self._page(query))
            case "POST", ["issues", number, "comments"] if number == str(NUMBER):
                self.on_create()
                return Answer(201, self.comments[self.add(self._body(asked))])
            case "PATCH", ["issues", "comments", number] if self._known(number):
                self.comments[int(number)]["body"] = self._body(asked)
                return Answer(200, self.comments[int(number)])
            case "DELETE", ["issues", "comments", number] if self._known(number):
                del self.comments[int(number)]
                return Answer(204)
        return Answer(404, {"message": "Not Found"})

    def _known(self, number: str) -> bool:
        return number.isdecimal() and int(number) in self.comments

    def _pull(self) -> dict[str, Any]:
        name = self.head_repository
        repository = None if name is None else {"full_name": name}
        return {"state": self.state, "head": {"sha": self.head_sha, "repo": repository}}

    def _page(self, query: dict[str, str]) -> list[dict[str, Any]]:
        size, page = int(query["per_page"]), int(query["page"])
        if not 1 <= size <= 100 or page < 1:
            self.wrong.append(f"page {page} of {size}")
        return list(self.comments.values())[(page - 1) * size : page * size]

    def _body(self, asked: Asked) -> str:
        content = asked.json
        if set(content) != {"body"} or len(content["body"]) > MOST_LETTERS:
            self.wrong.append("a body that GitHub refuses")
        return str(content["body"])

    def _check_headers(self, asked: Asked) -> None:
        told = {name: asked.headers.get(name) for name in HEADERS}
        if told != HEADERS:
            self.wrong.append(f"headers {told}")
        if asked.body and asked.headers.get("content-type") != "application/json":
            self.wrong.append("a body that is not said to be JSON")
        if TOKEN in asked.path:
            self.wrong.append("the token in the address")
