"""An installed Chromium, driven over the pipe of its DevTools protocol: no driver, no library.

Messages are JSON, each ended by a zero byte: commands on the browser's file descriptor 3, answers
and events on its 4.
"""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE_S = 120.0
"""For an answer, on a machine that does other work."""
ARGUMENTS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",  # root has none; it opens our own page only
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--no-default-browser-check",
    "--hide-scrollbars",
)
# The ends of the pipe may have any number here, above 9 too, which only bash knows; there 3 and 4.
SHELL = 'i=$1 o=$2; shift 2; eval "exec \\"\\$@\\" 3<&$i 4>&$o"'

KEYS = {"Backspace": 8, "Tab": 9, "Escape": 27}
"""Of those that write no letter."""

RECT = ".getClientRects()[0]"
PAINTED = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"

Message = dict[str, Any]


def installed() -> str:
    found = next(filter(None, map(shutil.which, NAMES)), None)
    assert found is not None, f"none of {', '.join(NAMES)} is installed; run `make chromium`."
    return found


@dataclass(slots=True)
class Connection:
    """Both ends of the pipe."""

    commands: int
    answers: int
    events: deque[Message] = field(default_factory=deque)
    _count: int = 0
    _rest: bytes = b""

    def call(self, method: str, session: str | None = None, /, **params: Any) -> Message:
        """Send a command and wait for its answer."""
        self._count += 1
        message: Message = {"id": self._count, "method": method, "params": params}
        if session is not None:
            message["sessionId"] = session
        data = json.dumps(message).encode() + b"\0"
        while data:
            data = data[os.write(self.commands, data) :]
        while True:
            found = self._receive()
            if found.get("id") == self._count:
                assert "error" not in found, (method, found["error"])
                answer: Message = found["result"]
                return answer
            self.events.append(found)

    def wait_for(self, method: str, **params: Any) -> Message:
        """The next event of that name, with these words, seen already or not."""
        for event in list(self.events):
            if _is(event, method, params):
                self.events.remove(event)
                return event
        while True:
            event = self._receive()
            if _is(event, method, params):
                return event
            self.events.append(event)

    def _receive(self) -> Message:
        until = time.monotonic() + PATIENCE_S
        while b"\0" not in self._rest:
            ready, _, _ = select.select([self.answers], [], [], max(0.0, until - time.monotonic()))
            assert ready, "Chromium does not answer."
            read = os.read(self.answers, 1 << 20)
            assert read, "Chromium has ended."
            self._rest += read
        text, _, self._rest = self._rest.partition(b"\0")
        message: Message = json.loads(text)
        return message


def _is(event: Message, method: str, params: Message) -> bool:
    return event.get("method") == method and params.items() <= event["params"].items()


@contextmanager
def running(profile: Path) -> Iterator[Connection]:
    """A browser with a profile of its own, gone afterwards with all its processes."""
    commands_there, commands_here = os.pipe()
    answers_here, answers_there = os.pipe()
    words = (installed(), *ARGUMENTS, f"--user-data-dir={profile}", "about:blank")
    ends = (str(commands_there), str(answers_there))
    with (profile.parent / "chromium.log").open("wb") as log:
        popen = subprocess.Popen(
            ["bash", "-c", SHELL, "bash", *ends, *words],
            pass_fds=(commands_there, answers_there),
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    os.close(commands_there)
    os.close(answers_there)
    try:
        yield Connection(commands_here, answers_here)
    finally:
        os.close(commands_here)  # upon which it leaves by itself
        try:
            popen.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(popen.pid, signal.SIGKILL)
            popen.wait()
        os.close(answers_here)


@dataclass(slots=True)
class Page:
    """One tab."""

    connection: Connection
    session: str

    @classmethod
    def new(cls, connection: Connection) -> "Page":
        target = connection.call("Target.createTarget", url="about:blank")["targetId"]
        attached = connection.call("Target.attachToTarget", targetId=target, flatten=True)
        page = cls(connection, attached["sessionId"])
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.call(f"{domain}.enable")
        page.call("Page.setLifecycleEventsEnabled", enabled=True)
        page.call("Emulation.setFocusEmulationEnabled", enabled=True)
        return page

    def call(self, method: str, **params: Any) -> Message:
        return self.connection.call(method, self.session, **params)

    def open(self, address: str) -> None:
        """Load it anew, also where only the fragment differs."""
        self._load("about:blank")
        self.connection.events.clear()
        self._load(address)

    def _load(self, address: str) -> None:
        """Until this document is there: one that was there before may be told of only now."""
        loader = self.call("Page.navigate", url=address)["loaderId"]
        self.connection.wait_for("Page.lifecycleEvent", loaderId=loader, name="load")

    def value(self, expression: str) -> Any:
        """Return what it comes to, as data; a promise is waited for."""
        found = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, (expression, found["exceptionDetails"])
        return found["result"].get("value")

    def count(self, selector: str) -> int:
        """Elements that are shown."""
        shown = f"[...document.querySelectorAll({json.dumps(selector)})]"
        number: int = self.value(f"{shown}.filter((e) => e.checkVisibility()).length")
        return number

    def text(self, selector: str) -> str:
        found: str = self.value(f"document.querySelector({json.dumps(selector)}).textContent")
        return found

    def click(self, selector: str) -> None:
        """Click with the mouse, in the middle of it."""
        x, y = self._brought_into_sight(f"document.querySelector({json.dumps(selector)})")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def _brought_into_sight(self, found: str) -> tuple[float, float]:
        """Its middle, once it stays where it is: what comes into sight may move what is below."""
        middle = f"(({{x, y, width, height}}) => [x + width / 2, y + height / 2])({found}{RECT})"
        last = None
        while (here := self.value(middle)) != last:
            last = here
            self.value(f"{found}.scrollIntoView({{block: 'center'}}); {PAINTED}")
        x, y = here
        return x, y

    def press(self, key: str) -> None:
        """A key; one that writes a letter does so."""
        how: Message = {"key": key, "windowsVirtualKeyCode": KEYS.get(key, 0)}
        text = {"text": key} if len(key) == 1 else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", **how, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", **how)

    def write(self, text: str) -> None:
        for letter in text:
            self.press(letter)

    def look(self, width: int, height: int = 900, *, dark: bool = False) -> None:
        """Show the page as on a screen of that size."""
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 500,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])

    def screenshot(self, path: Path, whole: bool = False) -> None:
        found = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(found["data"]))

    @property
    def complaints(self) -> list[Message]:
        """Errors and warnings of the console since the page was opened."""
        names = ("Runtime.exceptionThrown", "Log.entryAdded", "Runtime.consoleAPICalled")
        self.value("1")  # all that was on its way is here after that
        return [e["params"] for e in self.connection.events if e["method"] in names]

    @property
    def requested(self) -> list[str]:
        self.value("1")
        events = [e for e in self.connection.events if e["method"] == "Network.requestWillBeSent"]
        return [event["params"]["request"]["url"] for event in events]
