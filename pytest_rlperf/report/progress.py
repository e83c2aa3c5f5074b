"""The live line: rewritten in a terminal, now and then a line of its own in a log."""

import shutil
import time
from collections.abc import Callable
from typing import TextIO

from pytest_rlperf.model.progress import Progress
from pytest_rlperf.model.quantity import format_percent

LOG_EVERY_S = 15.0


def render_progress(progress: Progress) -> str:
    label = f"{progress.label}: " if progress.label else ""
    parts = [f"rlperf: {label}{progress.decided} of {progress.tests} decided"]
    parts.append(f"block {progress.blocks}" if progress.blocks else "scouting")
    if progress.widest is not None:
        parts.append(f"widest interval ±{format_percent(progress.widest, signed=False)}")
    parts.append(f"{progress.elapsed_s:.0f} s of {progress.budget_s:.0f} s")
    return " · ".join(parts)


class ProgressLine:
    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self._stream = stream
        self._live = stream.isatty()
        self._clock = clock
        self._shown_at = clock()
        self._width = 0

    def show(self, progress: Progress) -> None:
        self.write(render_progress(progress))

    def write(self, line: str) -> None:
        if self._live:
            line = line[: shutil.get_terminal_size().columns - 1]  # a wrapped line cannot be erased
            self._stream.write("\r" + line.ljust(self._width))
            self._width = len(line)
            self._stream.flush()
        elif self._clock() - self._shown_at >= LOG_EVERY_S:
            self._shown_at = self._clock()
            self._stream.write(line + "\n")
            self._stream.flush()

    def clear(self) -> None:
        if self._live and self._width:
            self._stream.write("\r" + " " * self._width + "\r")
            self._width = 0
            self._stream.flush()
