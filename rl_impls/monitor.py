"""Records of a training and what is shown of it meanwhile.

Throughput, CPU and memory every so many steps, rows of a CSV file, a bar on stderr.
"""

from __future__ import annotations

import csv
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Final, NamedTuple, Self, TextIO

from rl_impls.errors import LogError, SettingError
from rl_impls.runtimes.machine import Usage, usage
from rl_impls.runtimes.run import Every, Progress
from rl_impls.runtimes.serial import WHOLE_BUFFERS


class Performance(NamedTuple):
    """Figures since the last report, memory at this moment; all processes of the training
    together."""

    steps: int  # so far
    steps_per_s: float
    cpu_percent: float  # 100 is one core
    rss_bytes: int


class PerformanceMonitor:
    """A hook of `run`. `tell` takes each report: `logger.log`, or `print`."""

    def __init__(
        self,
        every: Every,
        tell: Callable[[Performance], None],
        *,
        clock: Callable[[], float] = time.perf_counter,
        usage: Callable[[], Usage] = usage,
    ) -> None:
        self.every = every
        self._tell = tell
        self._clock = clock
        self._usage = usage
        self._steps, self._trained_s = 0, 0.0
        self._wall_s, self._cpu_s = clock(), usage().cpu_s

    def __call__(self, progress: Progress, runtime: object) -> None:
        now = self._usage()
        steps = progress.done.steps - self._steps
        trained_s = progress.seconds - self._trained_s
        wall_s = self._clock() - self._wall_s
        self._tell(
            Performance(
                steps=progress.done.steps,
                steps_per_s=steps / trained_s if trained_s > 0 else 0.0,
                cpu_percent=100 * (now.cpu_s - self._cpu_s) / wall_s if wall_s > 0 else 0.0,
                rss_bytes=now.rss_bytes,
            )
        )
        self._steps, self._trained_s = progress.done.steps, progress.seconds
        # Read again: neither the telling nor other hooks belong to the next report.
        self._wall_s, self._cpu_s = self._clock(), self._usage().cpu_s


BUFFER_ROWS: Final = 1_000
REPORTS: Final = 100  # of a training, in `performance_log`


class BufferedLogger:
    """Collects rows and writes them when its buffer is full, when it is closed, when a `with`
    block is left, by an error too, and at the latest when the process ends.
    """

    def __init__(
        self, path: str | Path, columns: Sequence[str], *, buffer_rows: int = BUFFER_ROWS
    ) -> None:
        if buffer_rows < 1:
            raise SettingError(f"a buffer holds at least 1 row, not {buffer_rows}.")
        self.columns: Final = tuple(columns)
        self._buffer_rows: Final = buffer_rows
        self._rows: Final[list[tuple[Any, ...]]] = []
        try:
            self._file: Final = Path(path).open("w", newline="", encoding="utf-8")  # noqa: SIM115
        except OSError as error:
            raise LogError(
                f"rows cannot be written to {path} ({error.strerror}): choose another place."
            ) from error
        # Runs at exit, or when the logger is dropped: not even a forgotten one loses a row.
        self._finish: Final = weakref.finalize(self, _finish, self._file, self._rows)
        _write(self._file, [self.columns])

    def log(self, row: Iterable[Any]) -> None:
        """Log a value for each column, in their order."""
        values = tuple(row)
        if len(values) != len(self.columns):
            raise LogError(
                f"a row of {len(values)} values does not fit the columns {', '.join(self.columns)}."
            )
        if not self._finish.alive:
            raise LogError("the log is closed: log before closing it.")
        self._rows.append(values)
        if len(self._rows) >= self._buffer_rows:
            self.flush()

    def flush(self) -> None:
        _write(self._file, self._rows)

    def close(self) -> None:
        self._finish()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def _write(file: TextIO, rows: list[tuple[Any, ...]]) -> None:
    csv.writer(file).writerows(rows)
    file.flush()
    rows.clear()


def _finish(file: TextIO, rows: list[tuple[Any, ...]]) -> None:
    with file:
        _write(file, rows)


@contextmanager
def performance_log(path: Path | None, n_steps: int) -> Iterator[list[PerformanceMonitor]]:
    """Yield the hooks that write the performance of a training to a CSV file, if one is named."""
    if path is None:
        yield []
        return
    # A multiple of what learners hold back: they learn it when a leg ends.
    often = max(1, -(-n_steps // (REPORTS * WHOLE_BUFFERS))) * WHOLE_BUFFERS
    with BufferedLogger(path, Performance._fields) as logger:
        yield [PerformanceMonitor(Every(often), logger.log)]


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
        """Show that so many are done."""
        self._n = n
        now = self._clock()
        if self._live and now - self._drawn >= REDRAW_S:
            self._drawn = now
            self._stream.write(f"\r{self._line()}")
            self._stream.flush()

    def say(self, text: str) -> None:
        """Print lines above the bar."""
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
