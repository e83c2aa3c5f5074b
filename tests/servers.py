"""A web server on loopback that answers as a test tells it to, and keeps what it was asked."""

import json
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Asked:
    """A request that arrived."""

    method: str
    path: str
    headers: Mapping[str, str]  # names in lower case
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body)


@dataclass(frozen=True)
class Answer:
    status: int = 200
    content: Any = None  # sent as JSON; None: no body
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Server:
    url: str
    asked: list[Asked]


@contextmanager
def serving(answer: Callable[[Asked], Answer | None]) -> Iterator[Server]:
    """`answer` is called for one request at a time; None: the connection is cut."""
    asked: list[Asked] = []
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            headers = {name.lower(): value for name, value in self.headers.items()}
            request = Asked(self.command, self.path, headers, body)
            with lock:
                asked.append(request)
                found = answer(request)
            if found is not None:
                self._send(found)

        def _send(self, found: Answer) -> None:
            body = b"" if found.content is None else json.dumps(found.content).encode()
            self.send_response(found.status)
            for name, value in found.headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_PATCH = do_DELETE = _serve  # noqa: N815

        def log_message(self, *args: object) -> None:
            """Tests look at `asked`."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield Server(f"http://127.0.0.1:{server.server_port}", asked)
        finally:
            server.shutdown()
            thread.join()
