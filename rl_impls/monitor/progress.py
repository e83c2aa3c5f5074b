"""A bar on stderr."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Final, TextIO

WIDTH: Final = 30
REDRAW_S: Final = 0.1


class ProgressBar:
    """Redraws one line of a terminal; into a file it writes the last state only."""

    def __init__(
        self, title: str, total: int, stream: TextIO, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._title, self._total, self._stream = title, total, stream
        self._clock = clock
        self._begin = clock()
        self._drawn = float("-inf")
        self._n = 0
        self._live = stream.isatty()

    def __call__(self, n: int) -> None:
        """So many are done."""
        self._n = n
        now = self._clock()
        if self._live and now - self._drawn >= REDRAW_S:
            self._drawn = now
            self._stream.write(f"\r{self._line()}")
            self._stream.flush()

    def say(self, text: str) -> None:
        """Lines above the bar."""
        self._stream.write(f"\r\x1b[K{text}\n" if self._live else f"{text}\n")
        self._stream.flush()

    def close(self) -> None:
        self._stream.write(f"\r{self._line()}\n" if self._live else f"{self._line()}\n")
        self._stream.flush()

    def _line(self) -> str:
        seconds = self._clock() - self._begin
        return render_bar(self._title, self._n, self._total, seconds)


def render_bar(title: str, n: int, total: int, seconds: float) -> str:
    part = n / total if total else 1.0
    filled = "█" * int(part * WIDTH)
    return f"{title} {part:4.0%} |{filled:<{WIDTH}}| {n:,} of {total:,} steps, {seconds:.1f} s"
