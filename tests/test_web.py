"""One HTTP request: what is sent again, after how long, and what is never said of it."""

import socket
import threading
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_rlperf.errors import UsageError
from pytest_rlperf.web import Patience, Request, Unanswered, checked_url, send
from tests.factories import examples
from tests.servers import Answer, Asked, serving

NOW = 1_000_000.0


def tried(answers: Iterable[Answer | None]) -> tuple[int | None, list[float], int]:
    """The status at the end, the pauses, and how often was asked."""
    left, pauses = iter(answers), list[float]()
    patience = Patience(timeout_s=5, sleep=pauses.append, now=lambda: NOW)
    with serving(lambda asked: next(left)) as server:
        try:
            status = send(Request("GET", server.url, {}), patience).status
        except Unanswered:
            status = None
        return status, pauses, len(server.asked)


def test_a_reply_is_handed_over_with_its_headers_in_lower_case():
    with serving(lambda asked: Answer(201, {"id": 7}, {"X-Thing": "a"})) as server:
        reply = send(Request("POST", f"{server.url}/p?q=1", {"X-Mine": "b"}, b"text"), Patience())
    (asked,) = server.asked
    assert (asked.method, asked.path, asked.headers["x-mine"]) == ("POST", "/p?q=1", "b")
    assert asked.body == b"text"
    assert (reply.status, reply.headers["x-thing"], reply.body) == (201, "a", b'{"id": 7}')


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_a_refusal_is_not_asked_for_twice(status: int):
    assert tried([Answer(status)]) == (status, [], 1)


@pytest.mark.parametrize("trouble", [Answer(500), Answer(503), Answer(429), None])
def test_trouble_is_waited_out_twice_as_long_each_time(trouble: Answer | None):
    assert tried([trouble, trouble, trouble, Answer()]) == (200, [1, 2, 4], 4)


def test_trouble_that_stays_is_told_after_five_tries():
    assert tried([Answer(502)] * 5) == (502, [1, 2, 4, 8], 5)
    assert tried([None] * 5) == (None, [1, 2, 4, 8], 5)


@pytest.mark.parametrize("status", [403, 429, 503])
def test_a_server_that_says_how_long_is_obeyed(status: int):
    limited = Answer(status, headers={"Retry-After": "17"})
    assert tried([limited, Answer()]) == (200, [17], 2)


def test_a_rate_limit_is_waited_for_until_it_is_lifted():
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(NOW) + 42)}
    assert tried([Answer(403, headers=headers), Answer()]) == (200, [42], 2)


def test_a_rate_limit_that_lasts_longer_than_a_minute_is_not_waited_for():
    headers = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": str(int(NOW) + 3600)}
    assert tried([Answer(403, headers=headers)]) == (403, [], 1)


def test_a_redirection_is_not_followed_since_it_would_get_the_token():
    with serving(lambda asked: Answer()) as elsewhere:
        led = Answer(302, headers={"Location": elsewhere.url})
        assert tried([led]) == (302, [], 1)
    assert elsewhere.asked == []


def test_a_server_that_is_not_there_is_told_without_its_address():
    with serving(lambda asked: Answer()) as server:
        address = server.url
    with pytest.raises(Unanswered, match="Connection refused") as caught:
        send(Request("GET", f"{address}/secret", {}), Patience(tries=1))
    assert "secret" not in str(caught.value)


def test_a_server_that_never_answers_is_given_up():
    hold = threading.Event()

    def silent(asked: Asked) -> None:
        hold.wait(30)

    with serving(silent) as server:
        patience = Patience(tries=1, timeout_s=0.05)
        with pytest.raises(Unanswered, match=r"(?i)time"):
            send(Request("GET", server.url, {}), patience)
        hold.set()


def test_a_server_that_sends_a_byte_now_and_then_is_given_up_too():
    over = threading.Event()

    def drip(listener: socket.socket) -> None:
        sock, _ = listener.accept()
        with sock:
            for byte in b"HTTP/1.1 200 OK\r\nX-Long: " + b"x" * 600:
                if over.wait(0.05):
                    return
                sock.sendall(bytes([byte]))
            sock.sendall(b"\r\nContent-Length: 0\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, args=(listener,))
        thread.start()
        request = Request("GET", f"http://127.0.0.1:{listener.getsockname()[1]}", {})
        try:
            with pytest.raises(Unanswered, match="timed out"):
                send(request, Patience(tries=1, timeout_s=0.2))
        finally:
            over.set()
            thread.join()


@pytest.mark.parametrize(
    "url", ["", "hooks.example/secret", "ftp://host/secret", "https://", "https://a b/secret",
            "https://a..b/secret", f"https://{'a' * 64}.b/secret", "https://host:port/secret",
            "https://höst/secret", "https://host/secret\n"],
)  # fmt: skip
def test_what_is_no_address_is_refused_without_showing_it(url: str):
    with pytest.raises(UsageError) as caught:
        checked_url(url, "SLACK_WEBHOOK")
    said = "SLACK_WEBHOOK holds no address; set it to one that begins with https://."
    assert str(caught.value) == said


@examples
@given(st.text(), st.text())
def test_neither_address_nor_headers_are_in_what_a_log_may_show(path: str, token: str):
    shown = repr(Request("GET", f"https://host/{path}", {"Authorization": token}))
    assert shown == "Request(method='GET', body=None)"
