"""What one rank leaves on disk: the truth about it, since launchers' exit codes are not.

Used inside ranks, so it imports next to nothing. Files are written whole and then renamed.
"""

import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

TAIL_BYTES = 8_000


@dataclass(frozen=True)
class RankFiles:
    """The files of one rank in the folder of its job."""

    folder: str
    rank: int

    def path(self, ending: str) -> Path:
        return Path(self.folder, f"rank{self.rank}.{ending}")

    def write_phase(self, phase: str) -> None:
        self._write("phase", phase)

    def write_report(self, report: Mapping[str, Any]) -> None:
        """The first of a test is the cause; a failing teardown may follow."""
        if not self.path("json").exists():
            self._write("json", json.dumps(report))

    def write_exit(self, exit_: Mapping[str, Any]) -> None:
        self._write("exit", json.dumps(exit_))

    def phase(self) -> str | None:
        with suppress(OSError):
            return self.path("phase").read_text(encoding="utf-8")
        return None

    def report(self) -> dict[str, Any] | None:
        return self._read("json")

    def exit(self) -> dict[str, Any] | None:
        return self._read("exit")

    def stacks(self) -> str:
        return self._tail("stacks")

    def output(self) -> str:
        return "\n".join(filter(None, (self._tail("out"), self._tail("err"))))

    def _write(self, ending: str, text: str) -> None:
        target = self.path(ending)
        draft = target.with_name(f"{target.name}.{os.getpid()}")
        draft.write_text(text, encoding="utf-8")
        os.replace(draft, target)

    def _read(self, ending: str) -> dict[str, Any] | None:
        with suppress(OSError, ValueError):
            found: dict[str, Any] = json.loads(self.path(ending).read_text(encoding="utf-8"))
            return found
        return None

    def _tail(self, ending: str) -> str:
        with suppress(OSError), self.path(ending).open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
            return file.read().decode(errors="replace").strip()
        return ""
