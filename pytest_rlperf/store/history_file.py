"""The history in a plain file."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_rlperf.errors import UsageError
from pytest_rlperf.model.history import PastTest
from pytest_rlperf.store.history_line import Past, line_of, read_history
from pytest_rlperf.store.json_lines import append_lines, split_lines


@dataclass(frozen=True, slots=True)
class Kept:
    """What an append did."""

    added: int
    where: str
    torn: str | None = None  # where a torn last line was put aside; None: there was none


@dataclass(frozen=True, slots=True)
class HistoryFile:
    path: Path

    def append(self, tests: Sequence[PastTest]) -> Kept:
        """Lines that are there already are not written again."""
        try:
            done = append_lines(self.path, map(line_of, tests), once=True)
        except OSError as error:
            raise UsageError(
                f"the history cannot be written to {self.path} ({error.strerror}); name another "
                "file, in a folder that exists."
            ) from error
        return Kept(done.added, str(self.path), None if done.aside is None else str(done.aside))

    def read(self) -> Past:
        try:
            lines = split_lines(self.path.read_bytes())
        except OSError as error:
            raise UsageError(
                f"the history {self.path} cannot be read ({error.strerror}); write one with "
                "rlperf history append RESULT.json --file PATH."
            ) from error
        return read_history(str(self.path), lines.whole, lines.torn)
