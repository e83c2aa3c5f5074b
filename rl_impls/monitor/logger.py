"""Rows of a CSV file, written many at a time."""

from __future__ import annotations

import csv
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self, TextIO

from rl_impls.errors import LogError, SettingError

BUFFER_ROWS: Final = 1_000


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
        """A value for each column, in their order."""
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
