"""One HTTP request, sent again where that may help."""

import threading
import time
import urllib.parse
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from email.message import Message
from http.client import HTTPException
from urllib.error import HTTPError

from pytest_rlperf.errors import RlperfError, UsageError

REPLY_BYTES = 16 * 2**20
"""A page of a hundred comments of the largest size has less."""
TOO_MANY = 429
FORBIDDEN = 403
BROKEN = 500


class Unanswered(RlperfError):
    """Raised where the server could not be reached. Never says the address, perhaps a secret."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request that is sent."""

    method: str
    url: str = field(repr=False)  # that of a webhook is a secret
    headers: Mapping[str, str] = field(repr=False)
    body: bytes | None = None


@dataclass(frozen=True, slots=True)
class Reply:
    """The answer of a server."""

    status: int
    headers: Mapping[str, str]  # names in lower case
    body: bytes


@dataclass(frozen=True, slots=True)
class Patience:
    """The number of tries a request gets, and how long is waited in between."""

    tries: int = 5
    timeout_s: float = 10.0  # of a try, to the last byte of its reply
    first_pause_s: float = 1.0
    longest_pause_s: float = 60.0
    sleep: Callable[[float], object] = time.sleep
    now: Callable[[], float] = time.time


def checked_url(url: str, name: str) -> str:
    """Return `url`, or say what `name` should hold and not what it holds, perhaps a secret."""
    try:
        parts = urllib.parse.urlsplit(url)
        fits = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
        (parts.hostname or "").encode("idna")  # as it is looked up; "a..b" is no name
    except ValueError:  # a port that is no number
        fits = False
    if not fits or not url.isascii() or not url.isprintable() or " " in url:
        raise UsageError(f"{name} holds no address; set it to one that begins with https://.")
    return url


def send(request: Request, patience: Patience) -> Reply:
    """Return the server's reply. After one that says it is overloaded, or none, try again."""
    last: Reply | Unanswered = Unanswered("no request was sent")
    for attempt in range(patience.tries):
        last = _once(request, patience.timeout_s)
        if isinstance(last, Reply) and not _asks_for_patience(last):
            return last
        pause = _pause(last, attempt, patience)
        if attempt + 1 == patience.tries or pause > patience.longest_pause_s:
            break
        patience.sleep(pause)
    if isinstance(last, Unanswered):
        raise last
    return last


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """Refuses redirections: whoever they lead to was not meant to get the token."""

    def redirect_request(self, *_: object) -> None:
        return None


def _once(request: Request, timeout_s: float) -> Reply | Unanswered:
    """Return what comes of one attempt, which is given up when its time is over: the timeout of a
    socket begins anew with every byte that a server sends.
    """
    outcome: list[Reply | Unanswered | Exception] = []

    def exchange() -> None:
        try:
            outcome.append(_exchange(request, timeout_s))
        except Exception as error:
            outcome.append(error)

    thread = threading.Thread(target=exchange, daemon=True)
    thread.start()
    thread.join(timeout_s)
    last = outcome[0] if outcome else Unanswered("timed out")
    if isinstance(last, Reply | Unanswered):
        return last
    raise last


def _exchange(request: Request, timeout_s: float) -> Reply | Unanswered:
    sent = urllib.request.Request(
        request.url, data=request.body, headers=dict(request.headers), method=request.method
    )
    opener = urllib.request.build_opener(_NoRedirect)
    try:
        with opener.open(sent, timeout=timeout_s) as reply:
            return Reply(reply.status, _lowered(reply.headers), reply.read(REPLY_BYTES))
    except HTTPError as error:
        with error:
            return Reply(error.code, _lowered(error.headers), b"")
    except (OSError, HTTPException) as error:
        reason = getattr(error, "reason", None) or error
        return Unanswered(str(getattr(reason, "strerror", None) or type(reason).__name__))


def _lowered(headers: Message) -> dict[str, str]:
    return {name.lower(): value for name, value in headers.items()}


def _asks_for_patience(reply: Reply) -> bool:
    """Know an overloaded server, and GitHub's 403 or 429 to somebody who asked too often."""
    limited = "retry-after" in reply.headers or reply.headers.get("x-ratelimit-remaining") == "0"
    return (
        reply.status >= BROKEN
        or reply.status == TOO_MANY
        or (reply.status == FORBIDDEN and limited)
    )


def _pause(last: Reply | Unanswered, attempt: int, patience: Patience) -> float:
    """Wait as long as the server says, else twice as long each time."""
    own: float = patience.first_pause_s * 2**attempt
    if isinstance(last, Unanswered):
        return own
    asked = _number(last.headers.get("retry-after"))
    if asked is None and last.headers.get("x-ratelimit-remaining") == "0":
        reset = _number(last.headers.get("x-ratelimit-reset"))
        asked = None if reset is None else reset - patience.now()
    return own if asked is None else max(asked, own)


def _number(text: str | None) -> float | None:
    return float(text) if text is not None and text.isdecimal() else None
